"""How the site is built, and what must and must not be in it; no browser needed."""

import ast
import io
import os
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import jupytext
import nbformat
import pytest
import tinycss2
from bs4 import BeautifulSoup
from pages import PAGES, ROOT

sys.path.insert(0, str(ROOT / "theme"))
import bundle

HEAD = """---
jupytext: {text_representation: {extension: .md, format_name: myst}}
kernelspec: {name: python3, display_name: Python 3}
---

# A page

"""


@pytest.fixture
def book(tmp_path):
    """A book of one page with our settings, and a function that builds it as `make site` does."""
    if not (ROOT / "node_modules" / "katex").exists():
        pytest.fail("KaTeX is not in node_modules: run `make site` first.", pytrace=False)
    shutil.copy(ROOT / "_config.yml", tmp_path)
    (tmp_path / "theme").symlink_to(ROOT / "theme")
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: page\n")

    def build(body, **environment):
        (tmp_path / "page.md").write_text(HEAD + body, encoding="utf-8")
        command = [Path(sys.executable).parent / "jupyter-book", "build", ".", "--all", "-W", "--keep-going"]
        log = tmp_path / "log.txt"
        with log.open("w") as file:
            done = subprocess.run(
                command, cwd=tmp_path, stdout=file, stderr=file, env=os.environ | environment, check=False
            )
        page = tmp_path / "_build" / "html" / "page.html"
        text = page.read_text(encoding="utf-8") if page.exists() else ""
        return done.returncode, log.read_text(encoding="utf-8"), text

    return build


def code(source):
    return f"```{{code-cell}} ipython3\n{source}\n```\n"


def test_a_cell_that_raises_fails_the_build_every_time(book):
    for _ in range(2):
        status, output, _ = book(code("1 / 0"))
        assert status != 0
        assert "ZeroDivisionError" in output
    status, output, page = book(code("1 / 4") + "\nThis is $x^2$.\n")
    assert status == 0, output
    assert "0.25" in page
    assert 'class="katex"' in page


@pytest.mark.parametrize(
    "body", ["See {ref}`no-such-label`.\n", "[gone](gone.md)\n", r"$\frac{1}{$" + "\n"], ids=["label", "link", "maths"]
)
def test_a_page_with_a_mistake_fails_the_build(book, body):
    assert book(body)[0] != 0


def test_a_change_of_normlib_changes_the_pages(book, tmp_path):
    package = shutil.copytree(ROOT / "normlib", tmp_path / "library" / "normlib")
    body = code("import normlib.norms\nprint(normlib.norms.MARK)")
    for mark in ("first state", "second state"):
        with (package / "norms.py").open("a") as file:
            file.write(f"\nMARK = {mark!r}\n")
        status, output, page = book(body, PYTHONPATH=str(tmp_path / "library"))
        assert status == 0, output
        assert mark in page


@pytest.fixture(scope="module")
def soups(html):
    return {
        path: BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser") for path in sorted(html.rglob("*.html"))
    }


def test_internal_links_and_anchors_resolve(html, soups):
    anchors = {path: {tag["id"] for tag in soup.find_all(id=True)} for path, soup in soups.items()}
    broken = []
    for path, soup in soups.items():
        for tag in soup.find_all(["a", "link", "script", "img"]):
            link = urlsplit(tag.get("href") or tag.get("src") or "")
            if link.scheme or link.netloc or not (link.path or link.fragment):
                continue
            target = (path.parent / unquote(link.path)).resolve() if link.path else path
            fragment = unquote(link.fragment)
            if not target.exists() or (fragment and target in anchors and fragment not in anchors[target]):
                broken.append(f"{path.relative_to(html)}: {link.geturl()}")
    assert broken == []


def test_an_id_stands_once_on_a_page(html, soups):
    for name in PAGES:
        ids = [tag["id"] for tag in soups[html / f"{name}.html"].find_all(id=True)]
        assert sorted(ids) == sorted(set(ids))


def test_nothing_is_loaded_from_elsewhere(html, soups):
    loaded = [
        tag.get("src") or tag.get("href")
        for soup in soups.values()
        for tag in soup.find_all(["script", "link", "img", "iframe", "source"])
        if not (tag.name == "link" and "canonical" in tag.get("rel", []))
    ]
    assert [address for address in loaded if address and urlsplit(address).netloc] == []
    for style in html.rglob("*.css"):
        assert re.findall(r"(?:url\(|@import )['\"]?https?:[^)]*", style.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("name", PAGES)
def test_each_chapter_can_be_downloaded_as_a_notebook(html, soups, name):
    page = html / f"{name}.html"
    link = soups[page].select_one("a.btn-download-notebook-button")["href"]
    notebook = nbformat.read((page.parent / link).resolve(), as_version=4)
    nbformat.validate(notebook)
    chapter = jupytext.read(ROOT / f"{name}.md")
    cells = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    assert cells == [cell.source for cell in chapter.cells if cell.cell_type == "code"]
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert cell.outputs == []
            ast.parse(cell.source)


def test_nothing_that_graders_keep_is_on_the_site(html):
    sources = sorted((ROOT / "solutions").glob("*/*.md"))
    assert len(sources) == 5
    hidden = {
        line.strip()
        for source in sources
        for block in re.findall(r"### BEGIN HIDDEN TESTS\n(.*?)### END HIDDEN TESTS", source.read_text(), re.DOTALL)
        for line in block.splitlines()
        if len(line.strip()) > 30
    }
    assert len(hidden) >= 15
    for path in html.rglob("*"):
        assert "solutions" not in path.relative_to(html).parts
        if path.suffix in {".html", ".ipynb", ".md", ".js", ".txt"}:
            text = path.read_text(encoding="utf-8")
            assert [line for line in hidden if line in text] == [], path
            assert not re.search(r'"nbgrader": *\{|BEGIN HIDDEN TESTS|BEGIN SOLUTION', text), path


def test_every_page_has_a_title_a_description_and_an_icon_of_its_own(html, soups):
    titles, descriptions = set(), set()
    for name in PAGES:
        page = html / f"{name}.html"
        head = soups[page].head
        titles.add(head.title.text)
        descriptions.add(head.find("meta", attrs={"name": "description"})["content"])
        assert head.find("meta", property="og:title")["content"] == head.title.text
        assert (page.parent / head.find("link", rel="icon")["href"]).exists()
        assert len(head.find_all("meta", attrs={"name": "viewport"})) >= 1
    assert len(titles) == len(descriptions) == len(PAGES)
    assert all(15 < len(title) < 75 and "Layer normalization" in title for title in titles)
    assert all(40 < len(text) <= 162 and "\\" not in text for text in descriptions)


def test_pages_previews_and_the_sitemap_tell_the_address_where_it_is_known(book, tmp_path):
    status, output, page = book("Some words about it.\n", SITE_URL="")
    assert status == 0, output
    assert not (tmp_path / "_build" / "html" / "sitemap.xml").exists()
    assert "canonical" not in page
    assert "og:url" not in page
    status, output, page = book("Some words about it.\n", SITE_URL="https://example.org/course")
    assert status == 0, output
    out = tmp_path / "_build" / "html"
    address = "https://example.org/course/page.html"
    head = BeautifulSoup(page, "html.parser").head
    assert head.find("link", rel="canonical")["href"] == head.find("meta", property="og:url")["content"] == address
    assert head.find("meta", property="og:description")["content"] == "Some words about it."
    assert f"<loc>{address}</loc>" in (out / "sitemap.xml").read_text()
    picture = head.find("meta", property="og:image")["content"].removeprefix("https://example.org/course/")
    assert struct.unpack(">II", (out / picture).read_bytes()[16:24]) == (1200, 630)  # width and height in a PNG
    assert "url=page.html" in (out / "index.html").read_text()


def test_style_rules_are_left_out_only_where_they_cannot_apply():
    css = """.used a, .unused b { x: 1 } #gone.used { y: 2 } p:not(.unused) { z: 3 }
    @media print { .unused { x: 4 } } @media (width > 3px) { .used:is(.unused, b) { x: 5 } } :root { --v: 6 }"""
    kept = "".join(bundle.prune(tinycss2.parse_stylesheet(css, skip_whitespace=True), {"used"}))
    wide = "@media (width > 3px) {.used:is(.unused, b){x: 5}}"
    assert kept == f".used a{{x: 1}}p:not(.unused){{z: 3}}{wide}:root{{--v: 6}}"


def test_fonts_hold_the_characters_asked_for_and_no_others():
    path = bundle.KATEX / "fonts" / "KaTeX_Main-Regular.woff2"
    data = bundle.subset(path, frozenset("ab√"))
    assert data[:4] == b"wOF2"
    assert set(bundle.TTFont(io.BytesIO(data)).getBestCmap()) == {ord("a"), ord("b"), ord("√")}
    assert len(data) < path.stat().st_size / 8
