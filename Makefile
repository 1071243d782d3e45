# make          set up, build the assignments and the site, grade the sample class, say where to look
# make test     set up, then run every test
# make help     list the rest
PYTHON ?= python3
PORT ?= 8000
BIN := .venv/bin
NORMLIB := $(wildcard normlib/*.py normlib/*.js normlib/*.css)
GRADING := $(wildcard grading/*.py) nbgrader_config.py
AUTHORED := $(wildcard solutions/*/*.md)
PAGES := $(wildcard chapters/*.md) _config.yml _toc.yml $(shell find theme -type f -not -name '*.pyc')

# nbgrader and Jupyter start other programs by name; those of the environment come first.
export PATH := $(CURDIR)/$(BIN):$(PATH)
.DELETE_ON_ERROR:
.PHONY: all setup release site serve lab sample grade test bench bench-grading site-report lock clean anew help

all: setup ## set up, build the assignments and the site, grade the sample class
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target build/site.done build/sample.done  # two cores are common
	@grade status --course build/sample-class
	@echo
	@echo "The site:     _build/html/index.html   (make serve)"
	@echo "JupyterLab:   make lab                 (the assignments are in exercises/)"
	@echo "Your class:   make grade ASSIGNMENT=level-2-application"

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

# Setting up

setup: .venv/done .venv/system.done ## make the environment .venv, install system packages where possible

.venv/done: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -m venv .venv || { echo "Python's venv module is missing. On Debian: apt install python3-venv"; exit 1; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check "$$(grep '^uv==' requirements.lock)"
	@# --compile-bytecode: the sandbox could not write it, and would compile every package each time it starts
	@$(BIN)/uv pip sync --quiet --compile-bytecode --python $(BIN)/python requirements.lock
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --editable .
	@touch $@

# bubblewrap contains what students hand in, Chromium is for the tests in a browser.
.venv/system.done: .venv/done
	@missing=$$(for name in bwrap chromium; do command -v $$name >/dev/null || echo $$name; done); \
	packages=$$(echo $$missing | sed 's/bwrap/bubblewrap/; s/chromium/chromium fonts-dejavu-core/'); \
	if [ -z "$$missing" ]; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$packages >/dev/null; \
	else \
	  echo "Missing:" $$missing". Without bwrap nothing is graded, without chromium the browser tests are skipped."; \
	  echo "On Debian: apt install $$packages"; [ "$$CI" != true ]; \
	fi
	@touch $@

node_modules/done: .venv/done theme/course_site.py
	@$(BIN)/python theme/course_site.py
	@touch $@

# The assignments

release: build/release.done ## make exercises/ from solutions/

build/release.done: .venv/done $(AUTHORED) $(GRADING)
	@mkdir -p build
	@grade release
	@touch $@

# The website. --all, since a page that failed is not read again otherwise and the next run would be green.
# `make site SITE_URL=https://…` when its address is known: for previews, canonical links and the sitemap. No file depends on
# an address, so with one the site is always built: `anew` is a target that never exists.

site: build/site.done ## build the website into _build/html

build/site.done: node_modules/done $(PAGES) $(NORMLIB) $(if $(SITE_URL),anew)
	@mkdir -p build
	@jupyter-book build . --all -W --keep-going -q > build/site.log 2>&1 || { cat build/site.log; exit 1; }
	@touch $@

serve: site ## serve the website on localhost
	$(BIN)/python -m http.server $(PORT) --bind 127.0.0.1 --directory _build/html

# Doing and grading

# As root, as in a container, Jupyter wants to be told that it is meant, and there is no browser to open.
lab: setup ## open JupyterLab in this folder
	jupyter lab $(if $(filter 0,$(shell id -u)),--allow-root --no-browser)

sample: build/sample.done ## make, grade and report the sample class in build/sample-class

build/sample.done: build/release.done .venv/system.done $(NORMLIB)
	@grade sample > build/sample.log || { cat build/sample.log; exit 1; }
	@touch $@

grade: setup release ## grade a class: make grade ASSIGNMENT=level-2-application
	@test -n "$(ASSIGNMENT)" || { echo "Say which one: make grade ASSIGNMENT=level-2-application"; exit 1; }
	@grade run $(ASSIGNMENT) || { [ $$? = 1 ] && echo "Graded. The lines above name what somebody should look at."; }

# Keeping it right

test: setup build/release.done build/site.done ## run every test
	ruff check .
	ruff format --check .
	codespell
	pytest --numprocesses=2 --dist=loadfile

bench: .venv-bench/done ## measure the norms beside PyTorch, in an environment of its own
	env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE PYTHONPATH=. .venv-bench/bin/python benchmarks/norms.py

site-report: site ## say what each page of the website costs a reader, and whether it keeps within the limits
	python benchmarks/site_report.py

bench-grading: setup .venv-otter/done ## measure grading beside nbgrader's own
	python benchmarks/grading.py

.venv-otter/done:
	$(PYTHON) -m venv .venv-otter
	-.venv-otter/bin/pip install --quiet --disable-pip-version-check otter-grader==7.0.0 anywidget ipykernel ipywidgets matplotlib nbconvert sympy
	@touch $@

.venv-bench/done:
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/pip install --quiet --disable-pip-version-check torch==2.13.0 numpy
	@touch $@

lock: .venv/done ## pin the dependencies of pyproject.toml in requirements.lock
	uv pip compile --quiet --universal --python-version 3.11 --all-extras --no-header --no-annotate --no-emit-index-url pyproject.toml --output-file requirements.lock --upgrade

clean: ## remove everything that make made, the environment excepted
	rm -rf build _build node_modules solutions/*/*.ipynb
