"""JupyterLab as students and instructors have it: their settings from nowhere, the course's from the environment."""

import re
import shutil

import pytest
from jupyter_lab import ROOT, serve


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A copy of what an instructor has, and nothing else."""
    course = tmp_path_factory.mktemp("home") / "course"
    for folder in ("exercises", "solutions"):
        shutil.copytree(ROOT / folder, course / folder)
    for name in ("nbgrader_config.py", "pyproject.toml"):
        shutil.copy(ROOT / name, course / name)
    return course


@pytest.fixture(scope="module")
def lab(course, tmp_path_factory):
    with serve(course, tmp_path_factory.mktemp("settings")) as address:
        yield address


@pytest.fixture
def open_lab(browser):
    """Open a path in JupyterLab; whatever it complains about, or asks of other hosts, fails the test."""
    size = {"width": 1300, "height": 2400}  # JupyterLab draws only cells in sight
    context = browser.new_context(viewport=size, reduced_motion="reduce", has_touch=True)
    page, complaints = context.new_page(), []
    page.on("console", lambda message: message.type == "error" and complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("response", lambda reply: reply.status >= 400 and complaints.append(f"{reply.status}: {reply.url}"))
    page.on(
        "request", lambda request: re.match(r"\w+://(?!127\.0\.0\.1:)", request.url) and complaints.append(request.url)
    )

    def open_lab(address, path):
        page.goto(f"{address}/lab/tree/{path}?token=secret&reset")  # what another test had open stays closed
        if path.endswith(".ipynb"):
            page.get_by_text("| Idle").wait_for()  # a cell that is run earlier is not run
        return page

    yield open_lab
    context.close()
    assert complaints == []
