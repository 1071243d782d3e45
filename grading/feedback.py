"""Write each student's feedback page: one file that asks no other host for anything and shows no hidden test."""

from __future__ import annotations

import html
import re
import shutil
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import nbformat
import nh3
from bs4 import BeautifulSoup
from jinja2 import pass_context
from nbconvert.exporters import HTMLExporter
from nbformat import NotebookNode
from nbgrader.converters import GenerateFeedback
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import NbGraderPreprocessor

from grading.course import Course, nbgrader_log
from grading.mend import is_answer, is_test
from grading.run import Report, load

# The browser runs no script on these pages and loads nothing from anywhere, whatever is in them
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
TAGS = nh3.ALLOWED_TAGS - {"area", "map"}
ATTRIBUTES = {**nh3.ALLOWED_ATTRIBUTES, "*": {"class", "role"}}
SHOWN = ("text/plain", "text/html", "text/markdown", "image/png", "image/jpeg", "image/svg+xml")
# What a student's function says when a test calls it could repeat the test's input
SAID_BY_STUDENT = re.compile(r"(stopped with \w+ for [^:\n]*):[^\n]*")


def pages(course: Course, pairs: list[tuple[str, str]], workers: int = 2) -> Iterator[Path | None]:
    """Write the feedback pages for pairs of assignment and student in several processes."""
    if workers == 1 or len(pairs) < 2:
        yield from (feedback(course, *pair) for pair in pairs)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield from pool.map(partial(feedback, course), *zip(*pairs, strict=True))


def feedback(course: Course, assignment: str, student: str) -> Path | None:
    """Write the feedback page of one submission.

    Parameters
    ----------
    course : Course
        The class.
    assignment, student : str
        Which submission; it was graded before.

    Returns
    -------
    Path or None
        The page, or None if nothing was handed in.

    """
    report = load(course, assignment, student)
    page = course.root / "feedback" / student / assignment / f"{assignment}.html"
    shutil.rmtree(page.parent, ignore_errors=True)
    if report.outcome == "missing":
        return None
    page.parent.mkdir(parents=True)
    page.write_text(_plain_page(report), encoding="utf-8")  # for what could not be run, and in case nbgrader fails
    if course.autograded(student, assignment).exists():
        config = course.config()
        folders = CourseDirectory(config=config, assignment_id=assignment, student_id=student)
        with nbgrader_log(), suppress(NbGraderException):
            FeedbackOne(coursedir=folders, config=config).start()
    return page


def _plain_page(report: Report) -> str:
    title = html.escape(report.assignment)
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{title}</title></head>\n'
        f"<body><h1>{title}</h1><p>{html.escape(report.line)}</p></body>\n</html>\n"
    )


class FeedbackOne(GenerateFeedback):
    """nbgrader's feedback for one submission."""

    def init_notebooks(self) -> None:
        """Name the one notebook: nbgrader's own search takes a bracket in a name for a pattern."""
        name = self.coursedir.assignment_id
        folder = self._format_source(name, self.coursedir.student_id)
        self.notebooks, self.assignments = [], {folder: [str(Path(folder, f"{name}.ipynb"))]}

    def init_destination(self, assignment_id: str, student_id: str) -> bool:
        """Write in any case."""
        return True

    def init_assignment(self, assignment_id: str, student_id: str) -> None:
        """Copy no other file: the page stands alone."""


class Conceal(NbGraderPreprocessor):
    """Show locked cells as they were released, and of a test only the line that says what went wrong."""

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        """Conceal the hidden tests and clean what students can put into outputs."""
        folders, mark = self.config.CourseDirectory, resources["nbgrader"]
        path = Path(folders.root, folders.release_directory, mark["assignment"], f"{mark['notebook']}.ipynb")
        released = {cell["id"]: cell for cell in nbformat.read(path, as_version=4).cells}
        for cell in nb.cells:
            if "nbgrader" in cell.metadata and not is_answer(cell):
                cell.source = released[cell["id"]].source
            if is_test(cell):
                cell.outputs = [_one_line(output) for output in cell.outputs if output.output_type == "error"]
            elif cell.cell_type == "code":
                cell.outputs = [clean for output in cell.outputs if (clean := _cleaned(output))]
        nb.metadata.pop("widgets", None)
        return nb, resources


def _one_line(error: NotebookNode) -> NotebookNode:
    """What a test found, without the traceback, which would show its lines."""
    name, says = error.ename, SAID_BY_STUDENT.sub(r"\1.", str(error.evalue))
    if name == "NameError":  # of the answer that is not there
        says = f"NameError: {says.splitlines()[0]}" if says else name
    elif name not in ("CheckFailed", "NotRun", "NoScore", "Stopped"):
        says = "This test was stopped." if name in ("Timeout", "KeyboardInterrupt") else f"Stopped with {name}."
    return NotebookNode(output_type="error", ename=name, evalue=says, traceback=says.splitlines())


def _cleaned(output: NotebookNode) -> NotebookNode | None:
    """An output without anything that could run or load."""
    if output.output_type not in ("display_data", "execute_result"):
        return output
    data = {kind: output.data[kind] for kind in SHOWN if kind in output.data}
    if "text/html" in data:
        data["text/html"] = sanitize(data["text/html"])
    return NotebookNode(output, data=NotebookNode(data), metadata=NotebookNode()) if data else None


def sanitize(text: str) -> str:
    """Keep of some HTML what formats, and pictures that it brings along; scripts, styles and addresses to load go."""
    return nh3.clean(
        text, tags=TAGS, attributes=ATTRIBUTES, url_schemes=nh3.ALLOWED_URL_SCHEMES | {"data"}, attribute_filter=_kept
    )


def _kept(tag: str, name: str, value: str) -> str | None:
    if name in ("src", "cite", "background"):
        return value if tag == "img" and value.startswith("data:image/") else None
    return None if value.lower().lstrip().startswith("data:") else value


class Page(HTMLExporter):
    """nbgrader's feedback page, with sanitized text, no script and the line that says what happened."""

    exclude_anchor_links = True

    @pass_context
    def markdown2html(self, context: Any, source: str) -> str:
        """Render Markdown; the HTML that a student wrote into it is sanitized."""
        return sanitize(super().markdown2html(context, source))

    def from_notebook_node(self, nb: NotebookNode, resources: Any = None, **kwargs: Any) -> tuple[str, Any]:
        """Make the page."""
        text, resources = super().from_notebook_node(nb, resources, **kwargs)
        soup = BeautifulSoup(text, "html.parser")
        for script in soup("script"):  # the template's: MathJax from another host
            script.decompose()
        for style in soup("style"):  # Bootstrap's icon font would be looked for beside the page
            style.string = re.sub(r"@font-face\s*{[^}]*}", "", style.get_text())
        soup.html["lang"] = "en"
        soup.head.insert(0, soup.new_tag("meta", attrs={"http-equiv": "Content-Security-Policy", "content": POLICY}))
        mark = resources["nbgrader"]
        course = Course(Path(self.config.CourseDirectory.root))
        line = soup.new_tag("p")
        line.string = load(course, mark["assignment"], mark["student"]).line
        if waiting := points_waiting(course, mark["assignment"], mark["student"]):
            line.string += f" Answers in words are not graded yet; they are worth {waiting:g} points."
        soup.select_one(".panel-heading h4").insert_after(line)
        return str(soup), resources


def points_waiting(course: Course, assignment: str, student: str) -> float:
    """The points of answers that a person still has to grade."""
    with course.gradebook() as book:
        submission = book.find_submission(assignment, student)
        grades = [grade for notebook in submission.notebooks for grade in notebook.grades]
        return sum(grade.max_score for grade in grades if grade.needs_manual_grade)
