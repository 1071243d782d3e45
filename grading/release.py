"""Make the students' notebooks from the authored Markdown: ``solutions/*/*.md`` to ``exercises/*/*.ipynb``."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import jupytext
import nbformat
from nbgrader.apps import NbGraderAPI
from traitlets.config import Config

from grading.course import Course


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
        grade_id = cell.metadata.get("nbgrader", {}).get("grade_id", f"cell-{position}")
        cell["id"] = re.sub(r"[^a-zA-Z0-9_-]", "-", grade_id)[:64]
    notebook.metadata = {"kernelspec": notebook.metadata["kernelspec"], "language_info": {"name": "python"}}
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    target = source.with_suffix(".ipynb")
    nbformat.write(notebook, target)
    return target


def release(course: Course) -> Iterator[str]:
    """Make every assignment's released notebook with nbgrader, and name each one as it is done.

    Raises
    ------
    RuntimeError
        If nbgrader refuses an assignment; the message is nbgrader's.
    """
    for source in course.sources():
        author(source)
        folder = course.exercises / source.stem
        shutil.rmtree(folder, ignore_errors=True)
        outcome = NbGraderAPI(config=Config(course.config())).generate_assignment(source.stem, force=True, create=True)
        if not outcome["success"]:
            raise RuntimeError(f"nbgrader could not release {source.stem}:\n{outcome.get('log') or outcome.get('error')}")
        yield source.stem
