"""What several folders of tests use: a browser, and a student's notebook."""

import os
import shutil
from pathlib import Path

import jupytext
import nbformat
import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api")
    names = ("chromium", "chromium-browser", "google-chrome")
    chromium = next(filter(None, map(shutil.which, names)), None)
    if chromium is None:
        reason = "Chromium is not installed (apt install chromium), so nothing was tried in a browser."
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)
    quiet = "--no-sandbox --disable-gpu --disable-background-networking --disable-component-update --disable-sync"
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=[*quiet.split(), "--no-first-run"])
        yield browser
        browser.close()


def _marked(notebook):
    return {cell.metadata.nbgrader.grade_id: cell for cell in notebook.cells if "nbgrader" in cell.metadata}


@pytest.fixture
def write_notebook(tmp_path):
    """Write what a student has: the released notebook, solved or not, with some cells' text replaced by grade id."""

    def write_notebook(stem, answers=None, *, solved=False, change=lambda notebook, cells: None):
        notebook = nbformat.read(ROOT / "exercises" / stem / f"{stem}.ipynb", as_version=4)
        cells = _marked(notebook)
        if solved:
            for name, cell in _marked(jupytext.read(ROOT / "solutions" / stem / f"{stem}.md", fmt="md:myst")).items():
                if cell.metadata.nbgrader.solution:
                    cells[name].source = "\n".join(line for line in cell.source.split("\n") if "### " not in line)
        for name, source in (answers or {}).items():
            cells[name].source = source
        change(notebook, cells)
        path = tmp_path / f"{stem}.ipynb"
        nbformat.write(notebook, path)
        return path

    return write_notebook
