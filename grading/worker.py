"""What a worker does with a hand-in: mends it, puts the master's cells in, has it judged, and counts the points.

Bytes and plain data come in and go out. A worker touches neither the class's files nor the grade book, so it can stand
on any machine that has this project's environment and can contain submissions.
"""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import nbformat
from distributed import Worker, WorkerPlugin, get_worker
from nbformat import NotebookNode
from nbgrader.preprocessors import LimitOutput
from nbgrader.utils import compute_checksum, determine_grade, is_grade, is_locked, is_solution, is_task, setenv
from traitlets.config import Config

from grading.judge import Service
from grading.mend import Unreadable, digests, is_test, mend, parse_notebook
from grading.preprocessors import Run, RunTrusted, judge_notebook
from grading.wire import WireError
from normlib.misconceptions import MISCONCEPTIONS, message


@dataclass(frozen=True)
class HandIn:
    """A hand-in to grade.

    Parameters
    ----------
    assignment : str
        Which one it belongs to.
    name : str
        The file's name, for messages.
    content : bytes
        The file.
    problem : str
        Why there is nothing to grade, as the line for the student; empty if there is.
    """

    assignment: str
    name: str = ""
    content: bytes = b""
    problem: str = ""


@dataclass
class Outcome:
    """What came of a hand-in.

    Parameters
    ----------
    notebook : str
        The notebook as it ran, with outputs, as JSON; empty if none ran.
    scores : dict
        Grade ids to points, None where a person has to give them.
    comments : dict
        Grade ids to what is to be said about an answer, or None.
    digests : dict
        Grade ids to digests of what a person's points would be for.
    stops, notes : list of str
        A sentence for each cell that did not run to its end, and for each thing that was put right.
    misconceptions : list of str
        The mistakes that the tests named.
    problem : str
        Why it cannot be graded, by the student's fault.
    fault : str
        Why it cannot be graded, by the grader's fault.
    """

    notebook: str = ""
    scores: dict[str, float | None] = field(default_factory=dict)
    comments: dict[str, str | None] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)
    stops: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    misconceptions: list[str] = field(default_factory=list)
    problem: str = ""
    fault: str = ""


class Grader(WorkerPlugin):
    """What a worker holds for as long as it lives: the master's notebooks, and one judge.

    Parameters
    ----------
    masters : dict
        Each assignment to its released notebook, and the same with the hidden tests, both as JSON.
    config : Config
        nbgrader's configuration, of which the sections Run, RunTrusted and LimitOutput count here.
    """

    name = "grading"

    def __init__(self, masters: dict[str, tuple[str, str]], config: Config) -> None:
        self.masters, self.config = masters, config
        self.service: Service | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"masters": self.masters, "config": self.config}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)

    async def setup(self, worker: Worker) -> None:
        """Start the judge, so that the first hand-in does not wait for it.

        Raises
        ------
        SandboxMissing
            If this machine cannot contain submissions; it takes no part in the grading then.
        """
        self.lock = Lock()  # a worker should have one thread; if it has more, they take turns
        self.run = Run(config=self.config)
        self.limit = LimitOutput(config=self.config)
        self.notebooks = {name: [nbformat.reads(text, 4) for text in pair] for name, pair in self.masters.items()}
        if not self.run.trust_submissions:
            self.service = await asyncio.to_thread(Service, self.run.limits)

    def teardown(self, worker: Worker) -> None:
        """End the judge."""
        if self.service is not None:
            self.service.close()

    def grade(self, hand_in: HandIn) -> Outcome:
        """Grade a hand-in.

        Raises
        ------
        WireError
            If the judge was lost; another one is there for the next hand-in.
        """
        if hand_in.problem:
            return Outcome(problem=hand_in.problem)
        released, master = self.notebooks[hand_in.assignment]
        try:
            notebook, notes = mend(parse_notebook(hand_in.content, hand_in.name), released)
        except Unreadable as error:
            return Outcome(problem=str(error))
        overwrite(notebook, master)
        try:
            with self.lock:
                stops = self.execute(notebook)
        except RuntimeError as error:  # the course's own cell failed, or judging came to no end
            return Outcome(fault=str(error))
        self.limit.preprocess(notebook, {})
        notebook.metadata["grading"] = {"notes": stops}
        marked = [(cell.metadata.nbgrader.grade_id, cell) for cell in notebook.cells if "nbgrader" in cell.metadata]
        return Outcome(
            notebook=nbformat.v4.writes(notebook),
            scores={name: determine_grade(cell)[0] for name, cell in marked if is_grade(cell)},
            comments={name: comment(cell) for name, cell in marked if is_solution(cell) or is_task(cell)},
            digests=digests(notebook),
            stops=stops,
            notes=notes,
            misconceptions=misconceptions(notebook),
        )

    def execute(self, notebook: NotebookNode) -> list[str]:
        """Run all cells and settle every test; give a sentence for each cell that did not run to its end."""
        if self.run.trust_submissions:
            with tempfile.TemporaryDirectory() as folder, setenv(NBGRADER_EXECUTION="autograde"):
                trusted = RunTrusted(config=self.config, timeout=self.run.timeout)
                trusted.preprocess(notebook, {"metadata": {"path": folder}})
            return notebook.metadata["grading"]["notes"]
        if self.service is None:
            self.service = Service(self.run.limits)
        try:
            return judge_notebook(notebook, self.service)
        except WireError:
            self.service = None
            raise


def grade(hand_in: HandIn, plugin: str) -> Outcome:
    """Grade a hand-in with the :class:`Grader` that this worker holds: the task that is sent to workers."""
    return get_worker().plugins[plugin].grade(hand_in)


def overwrite(notebook: NotebookNode, master: NotebookNode) -> None:
    """Put the master's locked cells, and the marks on all of its cells, into a mended notebook."""
    ours = {cell.metadata.nbgrader.grade_id: cell for cell in master.cells if "nbgrader" in cell.metadata}
    for cell in notebook.cells:
        if "nbgrader" in cell.metadata:
            mine = ours[cell.metadata.nbgrader.grade_id]
            cell.metadata.nbgrader = NotebookNode(mine.metadata.nbgrader)
            if is_locked(mine):
                cell.source = mine.source


def comment(cell: NotebookNode) -> str | None:
    """What nbgrader says of an answer: whether there is none."""
    unchanged = not is_task(cell) and cell.metadata.nbgrader.get("checksum") == compute_checksum(cell)
    return "No response." if unchanged else None


def misconceptions(notebook: NotebookNode) -> list[str]:
    """The names of the mistakes that a graded notebook's tests named, in the catalogue's order."""
    said = "\n".join(
        str(output.get("evalue", ""))
        for cell in notebook.cells
        if is_test(cell)
        for output in cell.outputs
        if output.output_type == "error"
    )
    return [name for name in MISCONCEPTIONS if message(name) in said]
