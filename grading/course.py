"""Where a course keeps its files: the folders of ``nbgrader_config.py``, at this or another root."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

import nbformat
from nbgrader.api import Gradebook
from traitlets.config import Config, PyFileConfigLoader

HERE = Path(__file__).resolve().parent.parent
STEMS = (
    "level-1-recognition",
    "level-2-application",
    "level-3-analysis",
    "level-4-synthesis",
    "level-5-mastery",
)
ARCHIVES = (".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".rar")


class CannotGrade(RuntimeError):
    """Nothing more can be graded; the message says in one line why, and what to do."""


@dataclass(frozen=True)
class Course:
    """One class: its submissions, grade book and feedback.

    Parameters
    ----------
    root : Path
        The folder with ``submitted/``, ``autograded/``, ``feedback/``, ``reports/``, ``exercises/`` and
        ``gradebook.db``. The assignments themselves always come from this project's ``solutions/``.
    timeout : int, optional
        Seconds that a cell may run, instead of the number in ``nbgrader_config.py``.
    """

    root: Path = HERE
    timeout: int | None = None

    @property
    def exercises(self) -> Path:
        """The released notebooks."""
        return self.root / "exercises"

    def config(self) -> Config:
        """nbgrader's configuration for this class."""
        config = PyFileConfigLoader("nbgrader_config.py", path=str(HERE)).load_config()
        config.CourseDirectory.root = str(self.root)
        config.CourseDirectory.source_directory = str(HERE / "solutions")
        config.CourseDirectory.release_directory = str(self.exercises)
        config.CourseDirectory.db_url = self.database
        if self.timeout is not None:
            config.Run.timeout = self.timeout
        return config

    @property
    def database(self) -> str:
        """The address of the grade book."""
        return f"sqlite:///{self.root / 'gradebook.db'}"

    @contextmanager
    def gradebook(self) -> Iterator[Gradebook]:
        """Open the grade book, and close it again."""
        with Gradebook(self.database, "layernorm") as book:
            yield book

    def sources(self) -> list[Path]:
        """The authored Markdown of each assignment that exists, in the order of the levels."""
        paths = [HERE / "solutions" / stem / f"{stem}.md" for stem in STEMS]
        return [path for path in paths if path.exists()]

    def released(self, assignment: str) -> nbformat.NotebookNode:
        """The notebook that the students got."""
        return nbformat.read(self.exercises / assignment / f"{assignment}.ipynb", as_version=4)

    def submission(self, student: str, assignment: str) -> Path:
        """The folder that a student handed in."""
        return self.root / "submitted" / student / assignment

    def autograded(self, student: str, assignment: str) -> Path:
        """The notebook that nbgrader ran."""
        return self.root / "autograded" / student / assignment / f"{assignment}.ipynb"

    def students(self) -> list[str]:
        """Everybody in the class: who is in the grade book, or ever handed something in."""
        handed_in = {
            path.name for path in (self.root / "submitted").glob("[!.]*") if path.is_dir() and path.name not in STEMS
        }
        with self.gradebook() as book:
            return sorted(handed_in | {student.id for student in book.students})

    def misplaced(self) -> Iterator[tuple[str, str]]:
        """Name what stands in ``submitted/`` where grading does not look for it.

        Yields
        ------
        tuple of two str
            The assignment it seems to belong to, or nothing, and a line that says what to do.
        """
        top = self.root / "submitted"
        for path in sorted(top.glob("[!.]*")):
            if path.is_dir() and path.name in STEMS:
                yield path.name, f"submitted/{path.name} should be a student: submitted/STUDENT/{path.name}."
            elif path.is_dir():
                yield from (found for inner in sorted(path.glob("[!.]*")) if (found := self._misplaced(inner)))
            elif _handed_in(path):
                guess = closest(path.stem) or "ASSIGNMENT"
                yield closest(path.stem), f"submitted/{path.name} {_remedy(path, f'submitted/STUDENT/{guess}')}."

    def _misplaced(self, path: Path) -> tuple[str, str] | None:
        """What is to be said of something in a student's folder."""
        place, guess = path.relative_to(self.root), closest(path.stem)
        wanted = place.parent / (guess or "ASSIGNMENT")
        if not path.is_dir():
            return (guess, f"{place} {_remedy(path, str(wanted))}.") if _handed_in(path) or path.name in STEMS else None
        if path.name in STEMS:
            return None
        for stem in STEMS:
            if (path / stem).is_dir():
                return stem, f"{place / stem} is a folder too deep; move it to {place.parent / stem}."
        if not any(map(_handed_in, path.rglob("*"))):
            return None
        question = f"did you mean {guess}?" if guess else f"there are {', '.join(STEMS)}."
        return guess, f"{place} is no assignment; {question}"

    def assignments(self) -> list[str]:
        """The assignments in the grade book, in the order of the levels."""
        with self.gradebook() as book:
            known = {assignment.name for assignment in book.assignments}
        return [stem for stem in STEMS if stem in known and (self.exercises / stem / f"{stem}.ipynb").exists()]


def closest(name: str) -> str:
    """The assignment that somebody may have meant; nothing if there is none."""
    digits = re.findall(r"\d+", name)
    numbered = [stem for stem in STEMS if digits == re.findall(r"\d+", stem)]
    return next(iter(get_close_matches(name.lower(), STEMS, 1) or numbered), "")


def _handed_in(path: Path) -> bool:
    """Tell whether a file may be somebody's work."""
    return path.suffix.lower() in (".ipynb", *ARCHIVES) and not any(part.startswith(".") for part in path.parts[-2:])


def _remedy(path: Path, folder: str) -> str:
    if path.suffix.lower() in ARCHIVES:
        return f"is an archive; unpack it into {folder}/"
    return f"is a file where a folder should be; move it into {folder}/"


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
