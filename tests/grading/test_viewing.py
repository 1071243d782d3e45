"""What formgrader shows of a notebook full of scripts."""

import pytest
from bs4 import BeautifulSoup
from nbconvert.exporters import HTMLExporter
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from nbgrader.server_extensions.formgrader import handlers
from traitlets.config import PyFileConfigLoader

from grading.course import HERE, STEMS
from grading.release import author
from grading.viewing import Rubrics

L1 = STEMS[0]
EVIL = "<script>pwned()</script><img src=x onerror=pwned()>"
KINDS = ("text/html", "image/svg+xml", "text/markdown", "text/latex", "application/javascript")


@pytest.fixture(scope="module")
def exporter():
    """Formgrader's, as it makes it from the course's configuration."""
    config = PyFileConfigLoader("nbgrader_config.py", path=str(HERE)).load_config()
    config.HTMLExporter.template_name = "formgrade"
    config.HTMLExporter.extra_template_basedirs = [handlers.template_path]
    return HTMLExporter(config=config)


def shown(exporter, *cells, **more):
    names = ("assignment_id", "notebook_id", "submission_id", "base_url", "student", "last_name", "first_name")
    resources = dict.fromkeys((*names, "notebook_path"), "x") | {"index": 0, "total": 1} | more
    html, _ = exporter.from_notebook_node(new_notebook(cells=list(cells)), resources=resources)
    return BeautifulSoup(html, "html.parser")


def runs(page):
    """The tags of a page in which the student's program would run."""
    scripts = [tag for tag in page("script") if "pwned" in tag.get_text()]
    return scripts + [
        tag for tag in page(True) if any(k.startswith("on") and "pwned" in str(v) for k, v in tag.attrs.items())
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_no_output_runs(exporter, kind):
    evil = EVIL if kind != "application/javascript" else "pwned()"
    for more in ({}, {"text/plain": "in words"}):
        output = new_output("display_data", {kind: evil, **more})
        assert runs(shown(exporter, new_code_cell("1", outputs=[output]))) == []


def test_no_other_text_runs(exporter):
    stream, error = new_output("stream", text=EVIL), new_output("error", ename=EVIL, evalue=EVIL, traceback=[EVIL])
    page = shown(exporter, new_markdown_cell(EVIL), new_code_cell("'''</pre>" + EVIL, outputs=[stream, error]))
    assert runs(page) == []


def test_what_is_harmless_is_shown(exporter):
    outputs = [
        new_output("display_data", {"text/html": "<b>bold</b>"}),
        new_output("display_data", {"image/png": "AAAA"}),
    ]
    page = shown(exporter, new_markdown_cell("so $a<b$ and **strong**"), new_code_cell("1", outputs=outputs))
    assert page.find("b", string="bold")
    assert page.find("strong", string="strong")
    assert page.find("img", src="data:image/png;base64,AAAA")
    assert "$a<b$" in page.get_text()


@pytest.fixture
def in_words():
    """An answer in words, as a student has it, and a text in its solution's rubric."""
    author(HERE / "solutions" / L1 / f"{L1}.md")
    cell = new_markdown_cell("because of the row", id="ex-1-1-reason")
    cell.metadata.nbgrader = {
        "grade": True,
        "solution": True,
        "grade_id": "ex-1-1-reason",
        "points": 2,
        "locked": False,
    }
    return cell, "No point for “both change, since the batch changed”"


def test_the_rubric_stands_under_the_answer(exporter, in_words):
    cell, rubric = in_words
    text = shown(exporter, cell, new_markdown_cell("the next"), assignment_id=L1).get_text()
    assert text.index("because of the row") < text.index("The solution") < text.index(rubric) < text.index("the next")
    assert "BEGIN SOLUTION" not in text


def test_a_page_for_the_student_has_no_rubric(exporter, in_words):
    notebook = new_notebook(cells=[in_words[0]])
    student, _ = Rubrics().preprocess(notebook, {"nbgrader": {"assignment": L1}, "assignment_id": L1})
    assert student == notebook
    grader, _ = Rubrics().preprocess(notebook, {"submission_id": "x", "assignment_id": L1})
    assert in_words[1] in str(grader)


def test_an_assignment_without_a_solution_is_shown_all_the_same(exporter, in_words):
    assert "because of the row" in shown(exporter, in_words[0], assignment_id="another").get_text()
