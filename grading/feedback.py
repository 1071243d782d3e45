"""Write each student's feedback page: one file that asks no other host for anything and shows no hidden test."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import nbformat
from bs4 import BeautifulSoup
from jinja2 import Environment, pass_context
from jinja2.bccache import Bucket, BytecodeCache
from nbconvert.exporters import HTMLExporter
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell, new_notebook
from nbgrader.converters import GenerateFeedback
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import NbGraderPreprocessor

from grading.course import Course, nbgrader_log
from grading.mend import is_answer, is_test
from grading.run import Report, load
from grading.viewing import sanitize

# The browser runs no script on these pages and loads nothing from anywhere, whatever is in them
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
STYLE = (
    ".output pre { white-space: pre-wrap; word-break: normal; overflow-wrap: anywhere } .anchor-link { display: none }"
)
SHOWN = ("text/plain", "text/html", "text/markdown", "image/png", "image/jpeg", "image/svg+xml")
# Whose words these are is sure: the judge's and nbgrader_config's own, in which nothing stands that a student chose
OURS = ("NotRun", "NoScore", "Stopped", "Objection")
NOT_DEFINED = re.compile(
    r"`\w+` is not defined\. Was its cell deleted, or did it stop with an error\?|name '\w+' is not defined"
)
# What a student's function gives back or says when a test calls it can repeat the test's input: in a check's lines the
# text of its exception goes, a kind of exception or of number that it made up, the sizes of an array and of an error
OF_THE_STUDENT = (
    (re.compile(r"(stopped with \w+ for [^:\n]*):[^\n]*"), r"\1."),
    (re.compile(r"stopped with StudentError for"), "stopped with an exception of your own for"),
    (re.compile(r"the shape is \([^)\n]*\), and ([^:\n]*) is asked for"), r"the shape is not right; \1 is asked for"),
    (re.compile(r" of \S+, not of real numbers"), ", not of real numbers"),
    (re.compile(r"(, the first at index [^.\n]*?)?, (the worst )?by about [\d.e+-]+( %)?\."), "."),
)
TITLE = re.compile(
    r"# (.*?)(?: \([\d.]+ points?\))?\.?$", re.MULTILINE
)  # what a test's first line says that it looks at
UNSAID = "What it says is not shown, since it could tell a test's numbers: call your function yourself to see it."


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
    config = course.config()
    converter = FeedbackOne(
        coursedir=CourseDirectory(config=config, assignment_id=assignment, student_id=student), config=config
    )
    with nbgrader_log():
        if course.autograded(student, assignment).exists():
            try:
                converter.start()
                return page
            except NbGraderException:
                print(f"{assignment}, {student}: nbgrader cannot show the work; the page says so.", file=sys.stderr)
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(_plain_page(course, report, Page(config=converter.config)), encoding="utf-8")
    return page


def _plain_page(course: Course, report: Report, exporter: Page) -> str:
    """The page for a hand-in of which there is nothing to show."""
    name = report.assignment
    text = {
        "unreadable": f"""\
**Nothing in this hand-in could be graded.** What was wrong stands above. If handing in is still open:

1. Open your notebook in JupyterLab and press *Validate*. If it does not open, start with the file from `exercises/`.
2. Save it as `{name}.ipynb`.
3. Hand in that file again, alone, and as a file: no archive, no link, no page of the website.""",
        "failed": "**Your work could not be graded yet**, by no fault of yours. You need not hand it in again.",
    }.get(report.outcome, "**Your work was graded, but it cannot be shown here.** Ask your instructor.")
    with course.gradebook() as book:
        submission = book.find_submission(name, report.student)
        points = {"score": submission.score, "max_score": submission.max_score, "late_penalty": 0}
    mark = {"notebook": name, "assignment": name, "student": report.student, **points}
    notebook = new_notebook(cells=[new_markdown_cell(text, id="what-to-do")])
    return exporter.from_notebook_node(notebook, {"nbgrader": mark})[0]


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
                cell.outputs = [told(output) for output in cell.outputs if output.output_type == "error"]
            elif cell.cell_type == "code":
                cell.outputs = [clean for output in cell.outputs if (clean := _cleaned(output))]
        nb.metadata.pop("widgets", None)
        return nb, resources


def told(error: NotebookNode) -> NotebookNode:
    """What a test found, without the traceback, which would show its lines, and without a word of the student's."""
    name, says = error.ename, str(error.evalue)
    if name == "CheckFailed":
        for theirs, ours in OF_THE_STUDENT:
            says = theirs.sub(ours, says)
    elif name in ("Timeout", "KeyboardInterrupt"):
        says = "This test was stopped."
    elif name == "AssertionError":
        says = "What this test looks at is not right."
    elif name == "StudentError":
        says = f"Stopped with an exception of your own. {UNSAID}"
    elif name not in OURS and not (name == "NameError" and NOT_DEFINED.fullmatch(says)):
        says = f"Stopped with {name}. {UNSAID}"
    return NotebookNode(output_type="error", ename=name, evalue=says, traceback=says.splitlines())


def _cleaned(output: NotebookNode) -> NotebookNode | None:
    """An output without anything that could run or load."""
    if output.output_type not in ("display_data", "execute_result"):
        return output
    data = {kind: output.data[kind] for kind in SHOWN if kind in output.data}
    if "text/html" in data:
        data["text/html"] = sanitize(data["text/html"])
    return NotebookNode(output, data=NotebookNode(data), metadata=NotebookNode()) if data else None


class Compiled(BytecodeCache):
    """Keeps the compiled templates for all pages of a process; every page has an exporter of its own."""

    def __init__(self) -> None:
        self.templates: dict[str, bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        """Give a template, if it was compiled before."""
        if bucket.key in self.templates:
            bucket.bytecode_from_string(self.templates[bucket.key])

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep a template."""
        self.templates[bucket.key] = bucket.bytecode_to_string()


COMPILED = Compiled()


class Page(HTMLExporter):
    """nbgrader's feedback page, with sanitized text, no script and the line that says what happened."""

    exclude_anchor_links = True

    def _create_environment(self) -> Environment:
        environment = super()._create_environment()
        environment.bytecode_cache = COMPILED
        return environment

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
        soup.head.append(soup.new_tag("meta", attrs={"name": "viewport", "content": "width=device-width"}))
        soup.head.append(style := soup.new_tag("style"))
        style.string = STYLE
        mark = resources["nbgrader"]
        course = Course(Path(self.config.CourseDirectory.root))
        waiting = points_waiting(course, mark["assignment"], mark["student"])
        _name_cells(soup, nb, waiting)
        report, line = load(course, mark["assignment"], mark["student"]), soup.new_tag("p")
        line.string = "" if report.outcome == "failed" else report.line
        if waiting:
            points = sum(waiting.values())
            line.string += f" Answers in words are not graded yet; they are worth {points:g} points."
        soup.select_one(".panel-heading h4").insert_after(line)
        return str(soup), resources


def _name_cells(soup: BeautifulSoup, nb: NotebookNode, waiting: dict[str, float]) -> None:
    """Say of each cell, in the list at the top and above it, which exercise it is of, and of one whether it waits."""
    marked = {cell.metadata.nbgrader.grade_id: cell for cell in nb.cells if "nbgrader" in cell.metadata}
    for link in soup.select("#toc a"):
        name = link["href"].removeprefix("#")
        cell = marked[name.removeprefix("comment-")]
        looks_at = TITLE.match(cell.source) if is_test(cell) else None
        link.string = f"{_exercise(cell)} {looks_at[1] if looks_at else link.get_text()}".strip()
        if name in waiting:
            link.next_sibling.replace_with(f" (not graded yet; {waiting[name]:g} points)")
    for heading in soup.select(".nbgrader_cell .panel-heading"):
        cell = marked[name := heading.find_previous_sibling("a")["name"].removeprefix("comment-")]
        heading.select_one(".nbgrader-label").string = f"{_exercise(cell)} {'Test' if is_test(cell) else 'Your answer'}"
        if name in waiting:
            heading.select_one(".pull-right").contents[0].replace_with("Not graded yet ")


def _exercise(cell: NotebookNode) -> str:
    """The number of a cell's exercise, which its name begins with."""
    found = re.match(r"ex-(\d+)-(\d+)-", cell.metadata.nbgrader.grade_id)
    return ".".join(found.groups()) if found else ""


def points_waiting(course: Course, assignment: str, student: str) -> dict[str, float]:
    """The answers that a person still has to grade, by grade id, with their points."""
    with course.gradebook() as book:
        submission = book.find_submission(assignment, student)
        grades = [grade for notebook in submission.notebooks for grade in notebook.grades]
        return {grade.name: grade.max_score for grade in grades if grade.needs_manual_grade}
