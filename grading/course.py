"""Where a course keeps its files: the folders of ``nbgrader_config.py``, at this or another root."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from traitlets.config import Config, PyFileConfigLoader

HERE = Path(__file__).resolve().parent.parent
STEMS = (
    "level-1-recognition",
    "level-2-application",
    "level-3-analysis",
    "level-4-synthesis",
    "level-5-mastery",
)


@dataclass(frozen=True)
class Course:
    """One class: its submissions, grade book and feedback.

    Parameters
    ----------
    root : Path
        The folder with ``submitted/``, ``autograded/``, ``feedback/`` and ``gradebook.db``. The assignments
        always come from this project's ``solutions/``.
    exercises : Path
        Where the released notebooks are.
    """

    root: Path = HERE
    exercises: Path = HERE / "exercises"

    def config(self) -> Config:
        """nbgrader's configuration for this class."""
        config = PyFileConfigLoader("nbgrader_config.py", path=str(HERE)).load_config()
        config.CourseDirectory.root = str(self.root)
        config.CourseDirectory.source_directory = str(HERE / "solutions")
        config.CourseDirectory.release_directory = str(self.exercises)
        config.CourseDirectory.db_url = f"sqlite:///{self.root / 'gradebook.db'}"
        return config

    def sources(self) -> list[Path]:
        """The authored Markdown of each assignment that exists, in the order of the levels."""
        paths = [HERE / "solutions" / stem / f"{stem}.md" for stem in STEMS]
        return [path for path in paths if path.exists()]
