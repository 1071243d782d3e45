"""What formgrader shows of a student's notebook: it stands beside Jupyter in your browser, so nothing in it may run."""

from __future__ import annotations

from functools import cache
from typing import Any

import nbformat
import nh3
from jinja2 import pass_context
from nbconvert.exporters import HTMLExporter
from nbconvert.preprocessors import Preprocessor
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

from grading.course import HERE

SHOWN = ("text/plain", "image/png", "image/jpeg")
TAGS = nh3.ALLOWED_TAGS - {"area", "map"}
ATTRIBUTES = {**nh3.ALLOWED_ATTRIBUTES, "*": {"class", "role"}}


def sanitize(text: str) -> str:
    """Keep of some HTML what formats, and pictures that it brings along; scripts, styles and addresses to load go."""
    return nh3.clean(
        text, tags=TAGS, attributes=ATTRIBUTES, url_schemes=nh3.ALLOWED_URL_SCHEMES | {"data"}, attribute_filter=_kept
    )


def _kept(tag: str, name: str, value: str) -> str | None:
    if name in ("src", "cite", "background"):
        return value if tag == "img" and value.startswith("data:image/") else None
    return None if value.lower().lstrip().startswith("data:") else value


class CleanOutputs(Preprocessor):
    """Keep of outputs what cannot run; of a picture as SVG, which can, only its text remains."""

    def preprocess_cell(self, cell: NotebookNode, resources: Any, index: int) -> tuple[NotebookNode, Any]:
        """Clean the outputs of one cell."""
        for output in cell.get("outputs", []):
            if "data" in output:
                data = {kind: output.data[kind] for kind in SHOWN if kind in output.data}
                data |= {kind: sanitize("".join(output.data[kind])) for kind in ("text/html",) if kind in output.data}
                output.data, output.metadata = NotebookNode(data), NotebookNode()
        return cell, resources


class Rubrics(Preprocessor):
    """Put under each answer in words what the solution says of it, for the person who grades, and for nobody else."""

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        """Add the solution's text to a page of formgrader; a student's page is made without a `submission_id`."""
        if "submission_id" not in resources:
            return nb, resources
        name = resources["assignment_id"]
        path = HERE / "solutions" / name / f"{name}.ipynb"  # `grade release` has made it
        solved = {cell["id"]: cell.source for cell in nbformat.read(path, 4).cells} if path.exists() else {}
        cells = []
        for cell in nb.cells:
            cells.append(cell)
            mark = cell.metadata.get("nbgrader", {})
            if cell.cell_type == "markdown" and mark.get("grade") and mark.grade_id in solved:
                lines = ["**The solution**", "", *solved[mark.grade_id].splitlines()]
                quoted = [f"> {line}" for line in lines if not line.startswith("### ")]
                cells.append(new_markdown_cell("\n".join(quoted), id=f"rubric-{len(cells)}"))
        return NotebookNode(nb, cells=cells), resources


@cache
def _exporter() -> HTMLExporter:
    return HTMLExporter()


@pass_context
def markdown2html(context: Any, source: str) -> str:
    """Render Markdown without the scripts that a student wrote into it."""
    return sanitize(_exporter().markdown2html(context, source))
