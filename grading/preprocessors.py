"""What this course adds to nbgrader's own steps; ``nbgrader_config.py`` puts it in place for every nbgrader command."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

import nbformat
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from nbformat.v4 import new_output
from nbgrader.preprocessors import Execute, NbGraderPreprocessor
from nbgrader.utils import has_failed, is_locked
from traitlets import Int

from grading.mend import is_test, mend


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


class Run(Execute):
    """Run a submission; a test counts only if it ran to its end.

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
