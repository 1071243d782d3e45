"""One assignment in nbgrader's grade book: read at once, and written for many hand-ins in one transaction.

The tables and what they mean are nbgrader's. Its own functions look up one value at a time and connect anew for every
step, which takes longer than to judge a submission.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING

from nbformat import NotebookNode
from nbgrader.api import Assignment, Comment, Grade, Gradebook, Student, SubmittedAssignment, SubmittedNotebook
from nbgrader.preprocessors import AssignLatePenalties
from nbgrader.utils import compute_checksum
from sqlalchemy import Column, MetaData, String, Table, bindparam, func, insert, or_, select, update
from sqlalchemy.dialects import sqlite
from traitlets.config import Config

from grading.course import CannotGrade

if TYPE_CHECKING:
    from grading.worker import Outcome  # its imports take long, and formgrader has no use for them

# What the points on a cell are for, as digests: now, and when a person last settled them. nbgrader has no place for it
MARKED = Table(
    "layernorm_marked",
    MetaData(),
    Column("notebook_id", String(32), primary_key=True),
    Column("cell_id", String(32), primary_key=True),
    Column("now", String(64)),
    Column("settled", String(64)),
)


class Sheet:
    """Everybody's points for one assignment. What is written counts with the grade book's next commit.

    Parameters
    ----------
    book : Gradebook
        The open grade book.
    assignment : str
        Which assignment; its notebook has the same name.
    config : Config
        nbgrader's configuration, for penalties.
    """

    def __init__(self, book: Gradebook, assignment: str, config: Config) -> None:
        self.book, self.name = book, assignment
        found, notebook = book.find_assignment(assignment), book.find_notebook(assignment, assignment)
        self.assignment_id, self.notebook_id, self.due = found.id, notebook.id, found.duedate
        self.points = {cell.name: cell.max_score for cell in (*notebook.grade_cells, *notebook.task_cells)}
        self.graded = {cell.name: cell.id for cell in (*notebook.grade_cells, *notebook.task_cells)}
        self.answers = {cell.name: cell.id for cell in (*notebook.solution_cells, *notebook.task_cells)}
        self.sources = {cell.name: (cell.source, cell.locked, cell.checksum) for cell in notebook.source_cells}
        self.penalties = AssignLatePenalties(config=config)
        self.penalties.init_plugin()
        MARKED.create(book.db.connection(), checkfirst=True)

    def master(self, released: NotebookNode) -> NotebookNode:
        """Put into a released notebook what it hides, as nbgrader's OverwriteCells does in every submission.

        Raises
        ------
        CannotGrade
            If the notebook and the grade book are of different releases.
        """
        master = copy.deepcopy(released)
        marked = {cell.metadata.nbgrader.grade_id: cell for cell in master.cells if "nbgrader" in cell.metadata}
        if set(marked) == set(self.sources):
            for name, cell in marked.items():
                source, cell.metadata.nbgrader.locked, cell.metadata.nbgrader.checksum = self.sources[name]
                cell.source = source if cell.metadata.nbgrader.locked else cell.source
                cell.metadata.nbgrader |= {"points": self.points[name]} if name in self.points else {}
            if all(cell.metadata.nbgrader.checksum == compute_checksum(cell) for cell in marked.values()):
                return master
        raise CannotGrade(f"exercises/{self.name} is not what the grade book holds. Run `make release`.")

    def clear(self, students: list[str]) -> None:
        """Enter students with all automatic points at 0: no old points may stay under a new hand-in."""
        if not students:
            return
        self._enter(Student, [{"id": student} for student in students])
        rows = [{"assignment_id": self.assignment_id, "student_id": student} for student in students]
        self._enter(SubmittedAssignment, rows)
        of_theirs = (
            SubmittedAssignment.student_id.in_(students),
            SubmittedAssignment.assignment_id == self.assignment_id,
        )
        submissions = self.book.db.scalars(select(SubmittedAssignment.id).where(*of_theirs))
        self._enter(SubmittedNotebook, [{"notebook_id": self.notebook_id, "assignment_id": one} for one in submissions])
        self.settle(students)
        places = self._places(students).values()
        for model, cells in ((Grade, self.graded.values()), (Comment, self.answers.values())):
            self._enter(model, [{"notebook_id": place, "cell_id": cell} for place in places for cell in cells])
        self._write((place, dict.fromkeys(self.graded, 0.0), dict.fromkeys(self.answers)) for place in places)

    def write(self, outcomes: list[tuple[str, datetime | None, Outcome]]) -> None:
        """Write what came of hand-ins, each with its student and time; the students must have been entered before."""
        if not outcomes:
            return
        places = self._places([student for student, _, _ in outcomes])
        self._write((places[student], one.scores, one.comments) for student, _, one in outcomes)
        self.keep({student: one.digests for student, _, one in outcomes})
        for student, time, _ in outcomes:
            found = SubmittedAssignment.student_id == student, SubmittedAssignment.assignment_id == self.assignment_id
            if time:
                self.book.db.execute(update(SubmittedAssignment).where(*found).values(timestamp=time))
        self._penalize(places)

    def settle(self, students: list[str]) -> None:
        """Note down what a person's points were given for, before anything else comes in its place."""
        grade, mark = Grade.__table__, MARKED.c
        settled = (
            select(grade.c.id)
            .where(grade.c.notebook_id == mark.notebook_id, grade.c.cell_id == mark.cell_id)
            .where(grade.c.manual_score.is_not(None), grade.c.needs_manual_grade.is_(False))
        )
        theirs = mark.notebook_id.in_(self._places(students).values())
        self.book.db.execute(update(MARKED).where(theirs, settled.exists()).values(settled=mark.now))

    def keep(self, found: dict[str, dict[str, str]]) -> None:
        """Keep what a person gave as final where it was given for the same: nobody need look at it again.

        Parameters
        ----------
        found : dict
            Students to the :func:`~grading.mend.digests` of the notebooks whose points have been written.
        """
        places = self._places(list(found))
        rows = [
            {"notebook_id": places[student], "cell_id": self.graded[name], "now": digest}
            for student, digests in found.items()
            for name, digest in digests.items()
        ]
        if not rows:
            return
        grade, mark, enter = Grade.__table__, MARKED.c, sqlite.insert(MARKED)
        enter = enter.on_conflict_do_update(
            index_elements=[mark.notebook_id, mark.cell_id], set_={"now": enter.excluded.now}
        )
        self.book.db.connection().execute(enter, rows)
        same = select(mark.now).where(mark.notebook_id == grade.c.notebook_id, mark.cell_id == grade.c.cell_id)
        # the grade book's index starts with the cells
        theirs = grade.c.cell_id.in_(self.graded.values()), grade.c.notebook_id.in_(places.values())
        still = grade.c.manual_score.is_not(None), same.where(mark.settled == mark.now).exists()
        final = update(grade).where(*theirs, *still)
        self.book.db.execute(final.values(needs_manual_grade=False))

    def _places(self, students: list[str]) -> dict[str, str]:
        """Give the key under which each student's points stand."""
        found = (
            select(SubmittedAssignment.student_id, SubmittedNotebook.id)
            .join(SubmittedNotebook, SubmittedNotebook.assignment_id == SubmittedAssignment.id)
            .where(
                SubmittedAssignment.student_id.in_(students), SubmittedAssignment.assignment_id == self.assignment_id
            )
            .where(SubmittedNotebook.notebook_id == self.notebook_id)
        )
        return dict(self.book.db.execute(found).all())

    def _enter(self, model: type, rows: list[dict[str, str]]) -> None:
        """Add rows that are not there yet."""
        if rows:
            self.book.db.execute(insert(model).prefix_with("OR IGNORE"), rows)

    def _write(self, found: Iterable[tuple[str, dict[str, float | None], dict[str, str | None]]]) -> None:
        """Write points and comments as nbgrader's SaveAutoGrades does: what a person gave stays, for another look."""
        scores, comments = [], []
        for place, points, said in found:
            scores += [{"place": place, "cell": self.graded[name], "value": value} for name, value in points.items()]
            comments += [{"place": place, "cell": self.answers[name], "value": value} for name, value in said.items()]
        grade, comment, value = Grade.__table__, Comment.__table__, bindparam("value")
        by_hand = or_(grade.c.manual_score.is_not(None), value.is_(None))
        for table, values, rows in (
            (grade, {"auto_score": value, "needs_manual_grade": by_hand}, scores),
            (comment, {"auto_comment": value}, comments),
        ):
            here = table.c.notebook_id == bindparam("place"), table.c.cell_id == bindparam("cell")
            if rows:
                self.book.db.connection().execute(update(table).where(*here).values(**values), rows)

    def _penalize(self, places: dict[str, str]) -> None:
        """Set the penalties for being late, as nbgrader's AssignLatePenalties does."""
        theirs = SubmittedNotebook.id.in_(places.values())
        self.book.db.execute(update(SubmittedNotebook).where(theirs).values(late_submission_penalty=None))
        for student in places if self.due is not None else ():
            submission = self.book.find_submission(self.name, student)
            if (late := submission.total_seconds_late) > 0:
                notebook = self.book.find_submission_notebook(self.name, self.name, student)
                penalty = self.penalties.plugin_inst.late_submission_penalty(student, notebook.score, late)
                if penalty is not None:
                    notebook.late_submission_penalty = min(max(0.0, penalty), notebook.score)


def scores(book: Gradebook, assignment: str) -> dict[str, tuple[float, float, bool]]:
    """Give everybody's score less the penalty, the maximum, and whether a person still has to grade something."""
    total = book.find_assignment(assignment).max_score
    rows = book.db.execute(
        select(
            SubmittedAssignment.student_id,
            func.sum(Grade.score),
            func.max(Grade.needs_manual_grade),
            func.max(func.coalesce(SubmittedNotebook.late_submission_penalty, 0.0)),
        )
        .join(SubmittedNotebook, SubmittedNotebook.assignment_id == SubmittedAssignment.id)
        .join(Grade, Grade.notebook_id == SubmittedNotebook.id)
        .join(Assignment, Assignment.id == SubmittedAssignment.assignment_id)
        .where(Assignment.name == assignment)
        .group_by(SubmittedAssignment.student_id)
    )
    return dict.fromkeys(book.db.scalars(select(Student.id)), (0.0, total, False)) | {
        student: (max(0.0, score - penalty), total, bool(by_hand)) for student, score, by_hand, penalty in rows
    }
