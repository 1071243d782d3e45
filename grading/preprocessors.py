"""What this course adds to nbgrader's own steps; ``nbgrader_config.py`` puts it in place for every nbgrader command."""

from __future__ import annotations

import atexit
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from nbformat.v4 import new_output
from nbgrader.api import Gradebook
from nbgrader.preprocessors import Execute, NbGraderPreprocessor, SaveAutoGrades
from nbgrader.utils import has_failed, is_locked
from traitlets import Bool, Int

from grading.gradebook import Sheet
from grading.judge import Service
from grading.mend import digests, is_test, mend
from grading.sandbox import Limits, hidden
from grading.wire import WireError


class Mend(NbGraderPreprocessor):
    """Bring a submission back into the released form before nbgrader looks at it."""

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        """Mend the notebook and log what was put right."""
        folders, name = self.config.CourseDirectory, resources["nbgrader"]["assignment"]
        path = Path(folders.root, folders.release_directory, name, f"{resources['nbgrader']['notebook']}.ipynb")
        mended, notes = mend(nb, nbformat.read(path, as_version=4))
        for note in notes:
            self.log.warning(note)
        return mended, resources


class Run(NbGraderPreprocessor):
    """Run a submission: the student's cells in the sandbox, the tests in the judge.

    What kept a cell from running to its end stands in the notebook's metadata, under ``grading``, one sentence each.
    """

    timeout = Int(30, help="Seconds that a cell, or a test, may run").tag(config=True)
    call_timeout = Int(10, help="Seconds that a test waits for one call of a student's function").tag(config=True)
    altogether = Int(300, help="Seconds that a whole submission may run").tag(config=True)
    memory = Int(1024, help="MB that a submission may take, all its processes together").tag(config=True)
    trust_submissions = Bool(
        False, help="Run submissions as yourself, without a sandbox: they can do all that you can"
    ).tag(config=True)

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        """Run all cells and settle every test.

        Raises
        ------
        SandboxMissing
            If this machine cannot contain submissions.
        RuntimeError
            If one of the course's own cells fails before any of the student's had a part in it.
        """
        if self.trust_submissions:
            return RunTrusted(parent=self.parent, timeout=self.timeout).preprocess(nb, resources)
        hidden(Path(self.config.CourseDirectory.root))
        try:
            nb.metadata["grading"] = {"notes": judge_notebook(nb, service(self.limits))}
        except WireError:
            service.cache_clear()
            raise
        return nb, resources

    @property
    def limits(self) -> Limits:
        """What the judge holds a submission to."""
        return Limits(cell=self.timeout, call=self.call_timeout, total=self.altogether, memory=self.memory * 2**20)


class SaveGrades(SaveAutoGrades):
    """Write the points, as nbgrader does; what a person gave stays final for as long as the answer is the same."""

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        """Write one notebook's points."""
        mark = resources["nbgrader"]
        with self._sheet(mark) as sheet:
            sheet.settle([mark["student"]])
        nb, resources = super().preprocess(nb, resources)
        with self._sheet(mark) as sheet:
            sheet.keep({mark["student"]: digests(nb)})
        return nb, resources

    @contextmanager
    def _sheet(self, mark: dict[str, Any]) -> Iterator[Sheet]:
        with Gradebook(mark["db_url"]) as book:
            yield Sheet(book, mark["assignment"], self.config)
            book.db.commit()


@cache
def service(limits: Limits) -> Service:
    """The judge of this process, started when it is first needed."""
    judge = Service(limits)
    atexit.register(judge.close)
    return judge


def judge_notebook(notebook: NotebookNode, judge: Service) -> list[str]:
    """Judge a mended notebook that holds the master's tests.

    Parameters
    ----------
    notebook : NotebookNode
        The outputs of its code cells are replaced.
    judge : Service
        The judge.

    Returns
    -------
    list of str
        A sentence for each cell that did not run to its end.
    """
    notes = []
    jobs = [{"role": role_of(cell), "source": cell.source, "points": points_of(cell)} for cell in notebook.cells]
    for place, (cell, verdict) in enumerate(zip(notebook.cells, judge.judge(jobs), strict=True)):
        if cell.cell_type == "code":
            cell.outputs = nbformat.from_dict(verdict.outputs)
            cell.execution_count = None
        if verdict.stopped:
            rest = "this test counts 0" if is_test(cell) else "tests that need it count 0"
            notes.append(f"{place_of(notebook, place)} did not finish: {verdict.stopped}; {rest}.")
    return notes


def role_of(cell: NotebookNode) -> str:
    """What the judge does with a cell."""
    if cell.cell_type != "code":
        return "text"
    return "test" if is_test(cell) else "locked" if is_locked(cell) else "student"


def points_of(cell: NotebookNode) -> float:
    """The points of a test."""
    return float(cell.metadata.get("nbgrader", {}).get("points", 0.0))


class RunTrusted(Execute):
    """Run a submission in a kernel, as nbgrader does, with the grader's own rights; a test counts if it ran to its end.

    What happened stands in the notebook's metadata, under ``grading``, one sentence each.
    """

    altogether = Int(300, help="Seconds that a whole submission may run").tag(config=True)

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        """Run all cells, as far as the kernel lives, and settle every test."""
        self.completed, self.notes, self.theirs = set(), [], False
        self.until = time.monotonic() + self.altogether
        self.error_on_timeout = {"ename": "Timeout", "evalue": "", "traceback": []}
        # what stands before the student's first cell is ours, and may import for long on a busy machine
        self.timeout_func = lambda cell: self.timeout if self.theirs else self.altogether
        try:
            super().preprocess(nb, resources)
        except (DeadKernelError, CellTimeoutError) as error:
            self.notes.append(self._end(error))
        for place, cell in enumerate(nb.cells):
            if is_test(cell):
                settle(cell, place in self.completed)
        nb.metadata["grading"] = {"notes": self.notes}
        return nb, resources

    def preprocess_cell(self, cell: NotebookNode, resources: Any, index: int) -> tuple[NotebookNode, Any]:
        """Run one cell, while there is time.

        Raises
        ------
        RuntimeError
            If one of the course's own cells fails before any of the student's ran.
        """
        self.place = place_of(self.nb, index)
        self.theirs |= cell.cell_type == "code" and not is_locked(cell)
        if time.monotonic() > self.until:
            raise CellTimeoutError(f"The notebook ran longer than {self.altogether} s")
        cell, resources = super().preprocess_cell(cell, resources, index)
        if not self.theirs and has_failed(cell):
            raise RuntimeError(f"{self.place} fails without the student: {cell.outputs[-1].get('evalue', '')}")
        return cell, resources

    def on_cell_executed(self, **kwargs: Any) -> None:
        """Note down what ran to its end and what was interrupted."""
        super().on_cell_executed(**kwargs)
        reply = kwargs["execute_reply"]["content"]
        if reply["status"] == "ok":
            self.completed.add(kwargs["cell_index"])
        elif reply.get("ename") == "Timeout":
            rest = "this test counts 0" if is_test(kwargs["cell"]) else "tests that need it count 0"
            self.notes.append(f"{self.place} ran longer than {self.timeout} s and was stopped; {rest}.")

    def _end(self, error: Exception) -> str:
        if isinstance(error, DeadKernelError):
            return f"The program ended in {self.place[0].lower() + self.place[1:]}; this and all later tests count 0."
        if time.monotonic() > self.until:
            return f"The notebook ran longer than {self.altogether} s; the tests from {self.place} on count 0."
        return f"{self.place} could not be stopped after {self.timeout} s; this and all later tests count 0."


def place_of(notebook: NotebookNode, index: int) -> str:
    """Name a cell for people: by its grade id, or by counting the code cells."""
    mark = notebook.cells[index].metadata.get("nbgrader", {})
    number = sum(cell.cell_type == "code" for cell in notebook.cells[: index + 1])
    return f"Cell {number}" + (f" ({mark['grade_id']})" if "grade_id" in mark else "")


def settle(cell: NotebookNode, completed: bool) -> None:
    """Make a test's outputs say what nbgrader should read in them.

    nbgrader takes no output for full marks, a number that it cannot read too, and any word on stderr for a failure.

    Parameters
    ----------
    cell : NotebookNode
        A test cell after the run; its outputs are changed.
    completed : bool
        Whether it ran to its end.
    """
    if not completed:
        errors = [output for output in cell.outputs if output.output_type == "error"]
        cell.outputs = errors or [_error("NotRun", "This test did not run to its end.")]
        return
    for output in cell.outputs:
        if output.output_type == "stream":
            output.name = "stdout"
    results = [output for output in cell.outputs if output.output_type == "execute_result"]
    if any(not _is_score(output, float(cell.metadata.nbgrader.points)) for output in results):
        cell.outputs = [_error("NoScore", "The result of this test is not a number of points.")]


def _is_score(output: NotebookNode, points: float) -> bool:
    try:
        score = float(output.data.get("text/plain", ""))
    except ValueError:
        return False
    return math.isfinite(score) and 0 <= score <= points


def _error(name: str, text: str) -> NotebookNode:
    return new_output("error", ename=name, evalue=text, traceback=[text])
