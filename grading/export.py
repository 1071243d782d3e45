"""Write a class's grades as one table."""

from __future__ import annotations

import csv
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


def export(course: Course) -> Path:
    """Write ``grades.csv``: a row for each student and assignment in the grade book.

    Parameters
    ----------
    course : Course
        The class.

    Returns
    -------
    Path
        The file, UTF-8, with a header; misconceptions are separated by spaces.
    """
    target = course.root / "grades.csv"
    with target.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for assignment in course.assignments():
            for student, (points, total, by_hand) in sorted(scores(course, assignment).items()):
                report = load(course, assignment, student)
                named = " ".join(report.misconceptions)
                row = (student, assignment, points, total, by_hand, report.outcome, named, report.line)
                writer.writerow([_inert(value) for value in row])
    return target


def _inert(value: object) -> object:
    """Keep a spreadsheet from taking a student's text for a formula."""
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")) else value
