"""Bring a hand-in back into the released form, on a copy, so that a slip costs no more than it must.

The rules, in the order in which they apply:

- a link is never followed; a notebook under another name is taken if it is the only one;
- a cell is known by its grade id, else by its cell id, else (test and check cells) by its text;
- of cells with the same name the first that was changed counts, and the copies run as plain cells in their places;
- locked cells come from the release, answers from the student, the marks on every cell from the release;
- what is missing is put back, in the release's order; cells of another assignment are plain cells;
- an answer cell that lost its name is the first unknown cell of its kind that stands in its place.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from grading.course import ARCHIVES

LARGEST = 20_000_000  # bytes; an assignment with plots is a hundred times smaller


class Unreadable(Exception):
    """A hand-in that cannot be graded; the message is the line for the student."""

    def __init__(self, problem: str, remedy: str = "Hand it in again") -> None:
        super().__init__(f"{problem}. {remedy}; score 0.")


def find_notebook(folder: Path, name: str) -> tuple[Path, list[str]]:
    """Look for the notebook that was handed in.

    Parameters
    ----------
    folder : Path
        The student's folder for this assignment.
    name : str
        The assignment; its notebook should be called ``name.ipynb``.

    Returns
    -------
    Path, list of str
        The notebook, and what should be said about the choice.

    Raises
    ------
    Unreadable
        If there is none, or no single one, or it is a link.
    """
    wanted = f"{name}.ipynb"
    if folder.is_symlink() or folder.parent.is_symlink():
        raise Unreadable("The folder is a link, and links are not followed", "Hand in the notebook itself")
    files = sorted(_files(folder))
    others = [path for path in files if path not in (folder / wanted, folder / "timestamp.txt")]
    notebooks = [path for path in others if path.suffix.lower() == ".ipynb"]
    if (folder / wanted) in files:
        path, notes = folder / wanted, []
    elif len(notebooks) == 1:
        path = notebooks[0]
        others.remove(path)
        deep = "" if path.parent == folder else f", and put it right into the folder {name}"
        notes = [f"“{path.relative_to(folder)}” was taken for {wanted}; keep the name next time{deep}."]
    elif notebooks:
        names = ", ".join(f"“{path.name}”" for path in notebooks)
        raise Unreadable(f"There is no {wanted}, but several other notebooks ({names})", f"Hand in one as {wanted}")
    elif archives := [path.name for path in others if path.suffix.lower() in ARCHIVES]:
        raise Unreadable(f"“{archives[0]}” is an archive", "Unpack it and hand in the notebook itself")
    else:
        raise Unreadable(f"There is no {wanted} in the folder", "Hand it in again")
    if path.is_symlink() or not path.is_file():
        raise Unreadable(f"{path.name} is a link or no file, and links are not followed", "Hand in the notebook itself")
    if others:
        notes.append(f"Other files are not used: {', '.join(f'“{other.name}”' for other in others)}.")
    return path, notes


def _files(folder: Path) -> Iterator[Path]:
    """Every file below a folder but hidden ones; a linked folder is not entered."""
    for parent, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith((".", "__"))]
        yield from (Path(parent) / name for name in files if not name.startswith("."))


def read_notebook(path: Path) -> NotebookNode:
    """Read a notebook: the file's bytes, then what is in them."""
    return parse_notebook(read_file(path), path.name)


def read_file(path: Path) -> bytes:
    """Read a file that may be a notebook.

    Raises
    ------
    Unreadable
        If it is too large for one.
    """
    if path.stat().st_size > LARGEST:
        raise Unreadable(
            f"{path.name} is larger than {LARGEST // 1_000_000} MB", "Clear its outputs and hand it in again"
        )
    return path.read_bytes()


def parse_notebook(data: bytes, name: str) -> NotebookNode:
    """Take a file for a notebook, whatever its program wrote around it.

    Parameters
    ----------
    data : bytes
        The file.
    name : str
        What the file is called, for messages.

    Raises
    ------
    Unreadable
        If it is no notebook; the line says what it is instead.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Unreadable(f"{name} is not UTF-8 text", "Save it again in JupyterLab and hand it in") from None
    if not text.strip():
        raise Unreadable(f"{name} is an empty file")
    if text.lstrip().startswith("<"):
        raise Unreadable(f"{name} is a web page, not a notebook", "Download the notebook itself and hand it in")
    try:
        content = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        cut = isinstance(error, json.JSONDecodeError) and _runs_out(text, error)
        problem = "the file is cut off" if cut else "its JSON is broken"
        raise Unreadable(f"{name} is not a notebook: {problem}") from None
    if not isinstance(content, dict) or not isinstance(content.get("nbformat"), int):
        raise Unreadable(f"{name} is not a notebook: it is other JSON")
    try:
        notebook = nbformat.convert(nbformat.from_dict(content), 4)
        notebook.cells = [_regular(cell) for cell in notebook.cells if isinstance(cell, dict)]
        return notebook
    except Exception:  # nbformat raises whatever a malformed file makes its code run into
        raise Unreadable(f"{name} is not a notebook: its cells cannot be read") from None


def _regular(cell: NotebookNode) -> NotebookNode:
    """A cell of which the kind and the text are text, and the marks a table."""
    source, marks = cell.get("source", ""), cell.get("metadata")
    cell.source = "".join(map(str, source)) if isinstance(source, list) else str(source)
    cell.cell_type = str(cell.get("cell_type"))
    cell.metadata = marks if isinstance(marks, dict) else NotebookNode()
    return cell


def _runs_out(text: str, error: json.JSONDecodeError) -> bool:
    """Tell whether the JSON was right as far as it goes."""
    return error.pos >= len(text.rstrip()) - 1 or error.msg.startswith("Unterminated string")


def mend(notebook: NotebookNode, released: NotebookNode) -> tuple[NotebookNode, list[str]]:
    """Bring a notebook back into the released form; doing it twice changes nothing more.

    Parameters
    ----------
    notebook : NotebookNode
        What the student handed in; it is not changed.
    released : NotebookNode
        What the student got.

    Returns
    -------
    NotebookNode, list of str
        A new notebook, and a sentence for each thing that was put right.
    """
    wanted = {cell.metadata.nbgrader.grade_id: cell for cell in released.cells if "nbgrader" in cell.metadata}
    ours = {_text(cell) for cell in released.cells if "nbgrader" not in cell.metadata}
    cells = notebook.cells
    names = _names(cells, wanted)
    chosen, copies = _choose(cells, names, wanted)
    between = _between(cells, chosen)

    result, adopted, missing = [], [], []
    waiting = between.pop(None)
    for name, cell in wanted.items():
        if name in chosen:
            result += [*waiting, _restored(cell, cells[chosen[name]])]
            waiting = between.pop(name)
            continue
        twin = _twin(cell, waiting, ours) if is_answer(cell) else None
        if twin is not None:
            result += [*waiting[:twin], _restored(cell, waiting[twin])]
            waiting = waiting[twin + 1 :]
            adopted.append(name)
            continue
        if not is_answer(cell):  # an empty answer cell comes first, so that it cannot undo what stands in its place
            result, waiting = result + waiting, []
        result.append(_restored(cell, cell))
        missing.append(name)
    result += waiting
    for position, cell in enumerate(result):
        cell["id"] = cell.metadata.nbgrader.grade_id if "nbgrader" in cell.metadata else f"extra-{position}"

    changed = [name for name in chosen if not is_answer(wanted[name]) and not _same(cells[chosen[name]], wanted[name])]
    found = adopted or any(is_answer(wanted[name]) for name in chosen)
    mended = NotebookNode(cells=result, metadata=released.metadata, nbformat=4, nbformat_minor=5)
    return nbformat.from_dict(mended), [
        *_say("Duplicate cells, of which the first changed one counts and the others ran as plain cells", copies),
        *_say("Cells that had lost their mark and were found by their place", adopted),
        *_say("Locked cells that differed from the release, put back", changed),
        *_say("Missing cells, put back as released", missing),
        *_say("Cells of another assignment, run as plain cells", _strangers(cells, wanted)),
        *([] if found else ["None of this assignment's answer cells was found. Is it the right notebook?"]),
    ]


def is_answer(cell: NotebookNode) -> bool:
    """Tell whether the student writes in this cell."""
    return cell.metadata.get("nbgrader", {}).get("solution", False)


def is_test(cell: NotebookNode) -> bool:
    """Tell whether this cell gives points by running."""
    mark = cell.metadata.get("nbgrader", {})
    return cell.cell_type == "code" and mark.get("grade", False) and not mark.get("solution", False)


def digests(notebook: NotebookNode) -> dict[str, str]:
    """What a person's points are for, cell by cell: they count for as long as it stays the same.

    Parameters
    ----------
    notebook : NotebookNode
        A mended notebook.

    Returns
    -------
    dict
        The grade ids of all cells with points, to a digest: of an answer itself, or, where a test gives the points, of
        everything that the student wrote; and of the number of points.
    """
    graded = [cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("grade")]
    theirs = [cell for cell in notebook.cells if "nbgrader" not in cell.metadata or is_answer(cell)]
    return {
        cell.metadata.nbgrader.grade_id: _digest(cell.metadata.nbgrader.points, [cell] if is_answer(cell) else theirs)
        for cell in graded
    }


def _digest(points: float, cells: list[NotebookNode]) -> str:
    written = [float(points), *([cell.source, cell.get("attachments")] for cell in cells)]
    return hashlib.sha256(json.dumps(written, sort_keys=True).encode()).hexdigest()


def _text(cell: NotebookNode) -> str:
    return cell.source.strip()


def _same(cell: NotebookNode, released: NotebookNode) -> bool:
    return _text(cell) == _text(released) and cell.cell_type == released.cell_type


def _grade_id(cell: NotebookNode) -> Any:
    mark = cell.metadata.get("nbgrader")
    return mark.get("grade_id") if isinstance(mark, dict) else None


def _names(cells: list, wanted: dict[str, NotebookNode]) -> list[str | None]:
    """The name of each of the student's cells, None for cells that are not ours."""
    names = []
    for cell in cells:
        keys = [key for key in (_grade_id(cell), cell.get("id")) if isinstance(key, str) and key in wanted]
        names.append(keys[0] if keys else None)
    by_text = {_text(cell): name for name, cell in wanted.items() if not is_answer(cell) and name not in names}
    return [name or by_text.get(_text(cell)) for name, cell in zip(names, cells, strict=True)]


def _choose(cells: list, names: list[str | None], wanted: dict[str, NotebookNode]) -> tuple[dict[str, int], list[str]]:
    """Which of the student's cells counts for each name, and the names that stand there several times."""
    places: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        if name is not None:
            places.setdefault(name, []).append(place)
    chosen = {
        name: next((place for place in found if _text(cells[place]) != _text(wanted[name])), found[0])
        if is_answer(wanted[name])
        else found[0]
        for name, found in places.items()
    }
    return chosen, [name for name, found in places.items() if len(found) > 1]


def _between(cells: list, chosen: dict[str, int]) -> dict[str | None, list[NotebookNode]]:
    """The plain cells that follow each known cell; those before the first one stand under None."""
    named = {place: name for name, place in chosen.items()}
    between: dict[str | None, list[NotebookNode]] = {None: [], **{name: [] for name in chosen}}
    last = None
    for place, cell in enumerate(cells):
        if place in named:
            last = named[place]
        else:
            between[last].append(_plain(cell))
    return between


def _plain(cell: NotebookNode) -> NotebookNode:
    """A cell without marks, tags and outputs."""
    return _new(cell.cell_type if cell.cell_type in ("code", "markdown") else "raw", cell, {})


def _restored(released: NotebookNode, cell: NotebookNode) -> NotebookNode:
    """The released cell, with the student's text if it is an answer."""
    return _new(released.cell_type, cell if is_answer(released) else released, released.metadata)


def _new(kind: str, cell: NotebookNode, metadata: dict[str, Any]) -> NotebookNode:
    """A cell with this one's text, and the pictures pasted into it: a proof on paper is an answer.

    nbformat's functions for that check each cell against the schema, which takes longer than all the mending.
    """
    new = NotebookNode(cell_type=kind, source=cell.source, metadata=NotebookNode(metadata))
    if kind == "code":
        new.update(outputs=[], execution_count=None)
    elif kind == "markdown" and isinstance(cell.get("attachments"), dict):
        new["attachments"] = cell["attachments"]
    return new


def _twin(cell: NotebookNode, waiting: list[NotebookNode], ours: set[str]) -> int | None:
    """Where among the plain cells the answer stands whose mark is gone."""
    for place, other in enumerate(waiting):
        if other.cell_type == cell.cell_type and _text(other) and _text(other) not in ours:
            return place
    return None


def _strangers(cells: list, wanted: dict[str, NotebookNode]) -> list[str]:
    return sorted({str(name)[:80] for name in map(_grade_id, cells) if name and name not in wanted})


def _say(what: str, names: list[str]) -> list[str]:
    """One sentence about all of the names; only the first few of many are given."""
    if not names:
        return []
    rest = f" and {len(names) - 4} more" if len(names) > 4 else ""
    return [f"{what}: {', '.join(names[:4])}{rest}."]
