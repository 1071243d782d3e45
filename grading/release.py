"""Make the students' notebooks from the authored Markdown: ``solutions/*/*.md`` to ``exercises/*/*.ipynb``."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import jupytext
import nbformat
from nbgrader.converters import GenerateAssignment
from nbgrader.coursedir import CourseDirectory
from nbgrader.utils import compute_checksum

from grading.course import Course, nbgrader_log
from grading.mend import is_answer


def author(source: Path) -> Path:
    """Convert one authored Markdown file to the instructor's notebook beside it.

    Parameters
    ----------
    source : Path
        ``solutions/STEM/STEM.md``, a MyST notebook with nbgrader's metadata.

    Returns
    -------
    Path
        The notebook. Its cell ids are the grade ids, or the positions, so converting again changes nothing.
    """
    notebook = jupytext.read(source, fmt="md:myst")
    for position, cell in enumerate(notebook.cells):
        mark = cell.metadata.get("nbgrader", {})
        grade_id = mark.get("grade_id", f"cell-{position}")
        if mark.get("grade") and cell.cell_type == "code":
            cell.metadata.tags = ["raises-exception"]  # JupyterLab's “Run All” goes on after a test that fails
        cell["id"] = re.sub(r"[^a-zA-Z0-9_-]", "-", grade_id)[:64]
    graded = [
        cell.metadata.nbgrader.grade_id for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("grade")
    ]
    notebook.metadata = {
        "kernelspec": notebook.metadata["kernelspec"],
        "language_info": {"name": "python"},
        "graded": graded,  # so that Validate can tell a student that one is missing
    }
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    target = source.with_suffix(".ipynb")
    nbformat.write(notebook, target)
    return target


def release(course: Course, assignments: list[str] | None = None) -> Iterator[str]:
    """Make the released notebooks with nbgrader, and name each one as it is done.

    Parameters
    ----------
    course : Course
        Where the released notebooks and the grade book are.
    assignments : list of str, optional
        Only these.

    Raises
    ------
    RuntimeError
        If nbgrader refuses an assignment; the message is nbgrader's, and what to do.
    """
    for source in course.sources():
        name = source.stem
        if assignments is None or name in assignments:
            author(source)
            notebook = course.exercises / name / f"{name}.ipynb"
            answers = notebook.read_bytes() if answered(notebook) else None
            _generate(course, name)
            yield name
            if answers:
                yield f"{name}: the answers that stood there are now in {put_aside(course, name, answers)}"


def answered(path: Path) -> bool:
    """Tell whether somebody has worked on a released notebook: nbgrader noted a checksum in each answer cell."""
    if not path.exists():
        return False
    try:
        cells = nbformat.read(path, as_version=4).cells
    except Exception:  # whatever it is now, it is not what was released
        return True
    return any(is_answer(cell) and cell.metadata.nbgrader.get("checksum") != compute_checksum(cell) for cell in cells)


def put_aside(course: Course, name: str, content: bytes) -> Path:
    """Keep what stood in a released notebook; nbgrader empties the notebook's own folder."""
    folder, number = course.root / "answers", 1
    folder.mkdir(exist_ok=True)
    while (path := folder / f"{name}-{number}.ipynb").exists():
        number += 1
    path.write_bytes(content)
    return path


def _generate(course: Course, name: str) -> None:
    config = course.config()
    folders = CourseDirectory(config=config, assignment_id=name, student_id=".")
    with nbgrader_log() as lines, kept(course.exercises / name):
        try:
            GenerateAssignment(coursedir=folders, config=config, force=True).start()
        except Exception as error:  # nbgrader logs the cause and raises something general
            causes = [line.strip().splitlines()[-1] for line in lines if "Traceback" in line]
            cause = (causes[-1] if causes else str(error)).rstrip(".")
            hint = ""
            if "Cannot add or remove cells" in cause:
                hint = " Keep the names of the cells, or take the submissions out of the grade book first."
            raise RuntimeError(f"nbgrader could not release {name}: {cause}.{hint}") from error


@contextmanager
def kept(folder: Path) -> Iterator[None]:
    """Put a folder back as it was if what is done to it fails; nbgrader would leave nothing."""
    with tempfile.TemporaryDirectory(prefix="release-") as safe:
        if folder.exists():
            shutil.copytree(folder, Path(safe, "copy"))
        try:
            yield
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            if Path(safe, "copy").exists():
                shutil.copytree(Path(safe, "copy"), folder)
            raise
