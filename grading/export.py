"""Write a class's grades as tables: what came of each hand-in, and the points of each student."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path

from grading.course import Course
from grading.run import load, scores

COLUMNS = (
    "student",
    "assignment",
    "score",
    "max_score",
    "needs_manual_grade",
    "outcome",
    "misconceptions",
    "line",
)


NAMES = ("student", "last_name", "first_name", "email")
FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def export(course: Course) -> tuple[Path, Path]:
    """Write ``grades.csv``, a row for each student and assignment, and ``totals.csv``, a row for each student.

    Parameters
    ----------
    course : Course
        The class.

    Returns
    -------
    tuple of two Path
        The files, UTF-8, with a header. In the first, misconceptions are separated by spaces. The second has a column
        for each assignment that anybody handed in, empty where a student did not, and the sum of these and of their
        maxima.
    """
    points = {name: scores(course, name) for name in course.assignments()}
    reports = {(name, one): load(course, name, one) for name, students in points.items() for one in sorted(students)}
    rows = [
        (student, name, *points[name][student], report.outcome, " ".join(report.misconceptions), report.line)
        for (name, student), report in reports.items()
    ]
    handed_in = {
        (name, student): points[name][student]
        for (name, student), report in reports.items()
        if report.outcome != "missing" or points[name][student][0]
    }
    return (
        _write(course.root / "grades.csv", [COLUMNS, *rows]),
        _write(course.root / "totals.csv", _totals(course, handed_in)),
    )


def _totals(course: Course, handed_in: dict[tuple[str, str], tuple[float, float, bool]]) -> Iterator[tuple]:
    """The rows of the second table, from assignments and students to points, maximum and whether some are to come."""
    most = {name: total for (name, _), (_, total, _) in handed_in.items()}
    yield (*NAMES, *most, "total", "max", "needs_manual_grade")
    with course.gradebook() as book:
        people = {one.id: (one.last_name or "", one.first_name or "", one.email or "") for one in book.students}
    for student in sorted(people):
        theirs = [handed_in.get((name, student), (0.0, 0.0, False)) for name in most]
        columns = [
            points if (name, student) in handed_in else "" for name, (points, _, _) in zip(most, theirs, strict=True)
        ]
        total, waiting = sum(points for points, _, _ in theirs), any(waiting for _, _, waiting in theirs)
        yield (student, *people[student], *columns, total, sum(most.values()), waiting)


def _write(target: Path, rows: Iterable[tuple]) -> Path:
    with target.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([_inert(value) for value in row] for row in rows)
    return target


def _inert(value: object) -> object:
    """Keep a spreadsheet from taking a student's text for a formula."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULAS) else value
