"""Validate a notebook before it is handed in: behind JupyterLab's button and ``grade check``."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap
from typing import Any

import nbformat
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from nbgrader import utils, validator
from nbgrader.preprocessors import ClearOutput, Execute
from traitlets.config import Config

PASSED = "The visible tests pass. Grading runs more tests, on other numbers, that this notebook does not hold."
FRESH = "Copy your answers into a fresh copy of the notebook."


class Validator(validator.Validator):
    """nbgrader's Validator, with one sentence wherever it would show a traceback, and the verdicts of grading."""

    # without nbgrader's own check of the marks, which stops at a copied cell; _slips names it instead
    preprocessors = [ClearOutput, Execute]  # noqa: RUF012  a trait of nbgrader's class

    def validate(self, filename: str) -> dict[str, list[dict[str, str]]]:
        """Run the notebook and say what a student should look at.

        Parameters
        ----------
        filename : str
            The notebook.

        Returns
        -------
        dict
            As nbgrader's dialog takes it: under "failed", and likewise "changed" and "type_changed", a dict for each
            cell, with its "source" and for failed ones the "error". Empty if there is nothing to say.
        """
        path = Path(filename).resolve()
        try:
            notebook = nbformat.read(path, as_version=4)
        except Exception:  # nbformat raises whatever a malformed file makes its code run into
            return {"failed": [_finding(path.name, "This file cannot be read as a notebook. Save it in JupyterLab.")]}
        slips = list(_slips(notebook))
        try:
            results = super().validate(str(path))
        except (DeadKernelError, CellTimeoutError):
            cell = _first_line(self._running().source)
            return {"failed": [_finding(cell, "Python ended or hung in this cell. Correct it, then validate again.")]}
        except Exception:  # likewise nbgrader, with damaged marks
            self.log.exception("Cannot validate %s", path)
            return {"failed": [*slips, _finding(path.name, f"The marks of this notebook's cells are damaged. {FRESH}")]}
        failed = [_finding(_first_line(found["source"]), found["raw_error"]) for found in results.get("failed", [])]
        return {**results, "failed": slips + failed} if slips or failed else results

    def _preprocess(self, nb: NotebookNode) -> NotebookNode:
        nb.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}  # as in grading
        for cell in nb.cells:
            cell.metadata.pop("tags", None)  # "skip-execution" would let a test pass that never ran
        self._notebook = nb
        nb = super()._preprocess(nb)
        for cell in nb.cells:
            if cell.cell_type == "code":  # a warning is no error
                cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
        return nb

    def _running(self) -> NotebookNode:
        """The cell that was sent to the kernel last."""
        return [cell for cell in self._notebook.cells if "execution" in cell.metadata][-1]

    def _get_failed_cells(self, nb: NotebookNode) -> list[NotebookNode]:
        """The tests that failed, and the answers that stopped with an error: they often are the reason."""
        failed = super()._get_failed_cells(nb)
        if not failed:
            return []
        return [cell for cell in nb.cells if cell in failed or (utils.is_solution(cell) and any(_errors(cell)))]

    def _extract_error(self, cell: NotebookNode) -> str:
        if cell.cell_type == "markdown":
            return f"{cell.metadata.nbgrader.grade_id}: no answer yet. Write it in this cell."
        return "\n".join(_errors(cell)) or super()._extract_error(cell)


def findings(notebook: Path) -> list[str]:
    """Validate a notebook, and say what a student should look at in plain lines.

    Parameters
    ----------
    notebook : Path
        The student's notebook.

    Returns
    -------
    list of str
        What is wrong, cell by cell; empty if the visible tests pass.
    """
    quiet = Config(Execute={"extra_arguments": ["--log-level=ERROR"]})
    results = Validator(config=quiet).validate(str(notebook))
    lines = [
        f"{_first_line(found['source'])}\n    This cell has changed, but it should not. {FRESH}"
        for found in results.get("type_changed", []) + results.get("changed", [])
    ]
    return lines + [
        f"{found['source']}\n    " + found["raw_error"].replace("\n", "\n    ") for found in results.get("failed", [])
    ]


def _slips(notebook: NotebookNode) -> Iterator[dict[str, str]]:
    """What is wrong with the cells before any of them runs."""
    marked = [cell for cell in notebook.cells if "grade_id" in cell.metadata.get("nbgrader", {})]
    found = Counter(cell.metadata.nbgrader.grade_id for cell in marked)
    for name in [name for name, times in found.items() if times > 1]:
        yield _finding(name, "This cell is there more than once. Merge the parts of a split cell; delete a copied one.")
    missing = [name for name in notebook.metadata.get("graded", []) if name not in found]
    if not marked:
        yield _finding("No tests", "This notebook has no test cells. Open one from the folder exercises.")
    elif missing:
        yield _finding(", ".join(missing), f"Missing, and it gives points. {FRESH}")


def _finding(source: str, error: str) -> dict[str, str]:
    # broken where the dialog ends
    lines = [line for long in error.splitlines() for line in wrap(long, 90, subsequent_indent="  ")]
    return {"source": source, "error": html.escape("\n".join(lines)), "raw_error": error}


def _errors(cell: NotebookNode) -> Iterator[str]:
    """The last line of each error; a failed check has nothing but its own lines."""
    for output in cell.get("outputs", []):
        if output.output_type == "error" and output.ename == "KeyboardInterrupt":
            yield "This cell ran too long and was stopped."
        elif output.output_type == "error" and output.ename != "CellTimeoutError":  # comes with the interrupt
            yield output.evalue if output.ename == "CheckFailed" else f"{output.ename}: {output.evalue}"


def _first_line(source: str) -> str:
    """What a test cell says that it tests, or how another cell begins."""
    return source.strip().partition("\n")[0].removeprefix("# ")


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": "grading.validating"}]


def _load_jupyter_server_extension(app: Any) -> None:
    """Put this Validator behind the Validate button: nbgrader's handler looks it up by this name."""
    from nbgrader.server_extensions.validate_assignment import handlers  # noqa: PLC0415  slow, for the server only

    handlers.Validator = Validator
    app.web_app.settings.setdefault("page_config_data", {})["validationPassed"] = PASSED
