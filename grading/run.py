"""Grade submissions with nbgrader, one at a time, so that none can stop or change another's grade."""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import nbformat
from nbgrader.converters import Autograde
from nbgrader.coursedir import CourseDirectory
from nbgrader.utils import parse_utc

from grading.course import HERE, Course
from grading.mend import Unreadable, find_notebook, is_test, mend, read_notebook
from normlib.misconceptions import MISCONCEPTIONS, message


@dataclass(frozen=True)
class Report:
    """What happened to one submission. Its score stands in the grade book, and nowhere else.

    Parameters
    ----------
    student, assignment : str
        Whose, and which.
    outcome : str
        "graded"; "mended": graded after something was put right; "stopped": graded, but a cell ran too long or ended
        the program; "unreadable": score 0; "failed": the grader's own fault, score 0 until it is run again;
        "missing": not handed in.
    line : str
        What happened and what to do, for the student.
    misconceptions : tuple of str
        The mistakes that the tests named.
    digest : str
        Of what was graded; the same content is not graded twice.
    """

    student: str
    assignment: str
    outcome: str
    line: str
    misconceptions: tuple[str, ...] = ()
    digest: str = ""

    @property
    def attention(self) -> bool:
        """Whether somebody should look at it."""
        return self.outcome in ("stopped", "unreadable", "failed")


def run(
    course: Course, assignments: list[str], students: list[str] | None = None, *, force: bool = False, workers: int = 2
) -> Iterator[Report]:
    """Grade assignments of a class, and report on each submission as it is done.

    Parameters
    ----------
    course : Course
        The class.
    assignments : list of str
        Which ones; they must be released.
    students : list of str, optional
        Only these.
    force : bool
        Grade again what has not changed since it was last graded.
    workers : int
        How many processes work at the same time.

    Yields
    ------
    Report
        In the order of the assignments, then of the students' names.
    """
    pairs = [(name, student) for name in assignments for student in students or course.students()]
    with course.gradebook() as book:  # before the workers start, so that no two of them add the same student
        for student in {student for _, student in pairs}:
            book.update_or_create_student(student)
    yield from spread(partial(grade, course, force=force), pairs, workers)


def spread(work: Callable[[str, str], Any], pairs: list[tuple[str, str]], workers: int = 2) -> Iterator[Any]:
    """Do some work for pairs of assignment and student in several processes; yields the results in order."""
    if workers == 1 or len(pairs) < 2:
        yield from (work(*pair) for pair in pairs)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield from pool.map(work, *zip(*pairs, strict=True))


def grade(course: Course, assignment: str, student: str, *, force: bool = False) -> Report:
    """Grade one submission, unless this very content was graded before.

    Parameters
    ----------
    course : Course
        The class.
    assignment, student : str
        Which submission.
    force : bool
        Grade it in any case.

    Returns
    -------
    Report
        Whatever the submission does, this returns: never an exception.
    """
    folder, old = course.submission(student, assignment), load(course, assignment, student)
    if not folder.is_dir():
        return Report(student, assignment, "missing", "Not handed in; score 0.")
    ours = (course.exercises / assignment, HERE / "solutions" / assignment)
    digest = fingerprint(folder, *(path.resolve() for path in ours))
    if old.digest == digest and old.outcome != "failed" and not force:
        return old
    report = partial(Report, student, assignment, digest=digest)
    try:
        clear(course, assignment, student)
        with staged(course, assignment, student) as (staging, notes):
            error = autograde(course, assignment, student, staging)
        if error:
            raise RuntimeError(error)
        notebook = nbformat.read(course.autograded(student, assignment), as_version=4)
        stops = notebook.metadata["grading"]["notes"]
        outcome = "stopped" if stops else "mended" if notes else "graded"
        result = report(outcome, " ".join([*stops, *notes]) or "Graded.", tuple(misconceptions(notebook)))
    except Unreadable as error:
        result = report("unreadable", str(error))
    except Exception as error:  # whatever it is, the rest of the class is graded
        result = report("failed", f"The grader failed ({type(error).__name__}: {str(error)[:200]}). Grade it again.")
    save(course, result)
    return result


def clear(course: Course, assignment: str, student: str) -> None:
    """Set the automatic scores to 0 and take the old run away: no old score may stay under a new hand-in."""
    _report_file(course, assignment, student).unlink(missing_ok=True)
    shutil.rmtree(course.autograded(student, assignment).parent, ignore_errors=True)
    with course.gradebook() as book:
        book.update_or_create_student(student)
        submission = book.update_or_create_submission(assignment, student)
        for grade in (grade for notebook in submission.notebooks for grade in notebook.grades):
            grade.auto_score = 0
            grade.needs_manual_grade = grade.manual_score is not None
        book.db.commit()


@contextmanager
def staged(course: Course, assignment: str, student: str) -> Iterator[tuple[Path, list[str]]]:
    """Put a mended copy of the notebook where nbgrader may read it, with the timestamp and nothing else.

    Yields
    ------
    Path, list of str
        A folder to be nbgrader's ``submitted_directory``, and what was put right.

    Raises
    ------
    Unreadable
        If there is nothing to grade.
    """
    folder = course.submission(student, assignment)
    path, notes = find_notebook(folder, assignment)
    notebook, more = mend(read_notebook(path), course.released(assignment))
    with tempfile.TemporaryDirectory(prefix="grading-") as staging:
        target = Path(staging, student, assignment)
        target.mkdir(parents=True)
        nbformat.write(notebook, target / f"{assignment}.ipynb")
        yield Path(staging), [*notes, *more, *_copy_timestamp(folder / "timestamp.txt", target)]


def _copy_timestamp(path: Path, target: Path) -> list[str]:
    """Copy the time of the hand-in if it can be read; nbgrader stops at one that cannot."""
    if not path.exists() or path.is_symlink():
        return []
    try:
        text = path.read_text().strip()
        parse_utc(text)
    except (ValueError, OverflowError):
        return ["timestamp.txt cannot be read and was not used."]
    if text:
        (target / path.name).write_text(text)
    return []


class OneSubmission:
    """Makes an nbgrader converter take one folder by name; its own search takes a bracket in a name for a pattern."""

    def init_notebooks(self) -> None:
        """Name the one notebook."""
        name = self.coursedir.assignment_id
        folder = self._format_source(name, self.coursedir.student_id)
        self.notebooks, self.assignments = [], {folder: [str(Path(folder, f"{name}.ipynb"))]}


class AutogradeOne(OneSubmission, Autograde):
    """nbgrader's autograde for one submission."""


def autograde(course: Course, assignment: str, student: str, staging: Path) -> str | None:
    """Let nbgrader grade one staged submission; returns what went wrong, or None."""
    config = course.config()
    config.CourseDirectory.submitted_directory = str(staging)
    folders = CourseDirectory(config=config, assignment_id=assignment, student_id=student)
    converter = AutogradeOne(coursedir=folders, config=config, force=True)
    with nbgrader_log() as lines:
        try:
            converter.start()
        except Exception as error:  # nbgrader logs the cause and raises something general
            causes = [line.strip().splitlines()[-1] for line in lines if "Traceback" in line]
            return causes[-1] if causes else str(error)
    return None


@contextmanager
def nbgrader_log() -> Iterator[list[str]]:
    """Keep nbgrader's log off the terminal; yields its lines as they come."""
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())
    logger = logging.getLogger("traitlets")
    before, logger.propagate = logger.propagate, False
    logger.addHandler(handler)
    try:
        yield lines
    finally:
        logger.removeHandler(handler)
        logger.propagate = before


def misconceptions(notebook: nbformat.NotebookNode) -> list[str]:
    """The names of the mistakes that a graded notebook's tests named, in the catalogue's order."""
    said = "\n".join(
        str(output.get("evalue", ""))
        for cell in notebook.cells
        if is_test(cell)
        for output in cell.outputs
        if output.output_type == "error"
    )
    return [name for name in MISCONCEPTIONS if message(name) in said]


def fingerprint(*folders: Path) -> str:
    """A digest of the files in some folders: of a hand-in, and of what it is graded against. Links are not read."""
    digest = hashlib.sha256()
    for folder in (folder for folder in folders if not folder.is_symlink() and not folder.parent.is_symlink()):
        for path in sorted(folder.rglob("*")):
            if path.is_symlink():
                digest.update(f"{path.relative_to(folder)}\0link\0".encode("utf-8", "surrogateescape"))
            elif path.is_file():
                digest.update(f"{path.relative_to(folder)}\0".encode("utf-8", "surrogateescape"))
                with path.open("rb") as content:
                    digest.update(hashlib.file_digest(content, "sha256").digest())
    return digest.hexdigest()


# Reports are small files of their own, one a submission, so that a killed run resumes where it was


def _report_file(course: Course, assignment: str, student: str) -> Path:
    return course.root / "reports" / assignment / f"{student}.json"


def save(course: Course, report: Report) -> None:
    """Keep a report."""
    path = _report_file(course, report.assignment, report.student)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.write_text(json.dumps(asdict(report), ensure_ascii=False, indent=1))
    part.replace(path)


def load(course: Course, assignment: str, student: str) -> Report:
    """The report on a submission; "missing" if there is none."""
    try:
        fields = json.loads(_report_file(course, assignment, student).read_text())
    except FileNotFoundError:
        handed_in = course.submission(student, assignment).is_dir()
        line = "Not graded yet." if handed_in else "Not handed in; score 0."
        return Report(student, assignment, "missing", line)
    return Report(**{**fields, "misconceptions": tuple(fields["misconceptions"])})


def scores(course: Course, assignment: str) -> dict[str, tuple[float, float, bool]]:
    """Everybody's score, the maximum, and whether a person still has to grade something, from the grade book."""
    with course.gradebook() as book:
        total = book.find_assignment(assignment).max_score
        none = {student.id: (0.0, total, False) for student in book.students}
        return none | {
            one.student.id: (max(0.0, one.score - (one.late_submission_penalty or 0.0)), total, one.needs_manual_grade)
            for one in book.assignment_submissions(assignment)
        }
