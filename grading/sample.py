"""A class to try the grading on: right, wrong and broken hand-ins, made by code, each with the grade it must get."""

from __future__ import annotations

import ast
import copy
import re
import shutil
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from grading.course import HERE, STEMS, Course
from grading.mend import is_answer, is_test
from grading.release import release
from grading.run import load, scores
from normlib.catalogue import EXERCISES
from normlib.checking import evaluate, instance

L1, L2, L3, L4, L5 = STEMS
MARKER = "SAMPLE.txt"
TIMESTAMP = "2026-03-02 12:00:00 UTC"
AUTOMATIC = {L1: 12, L2: 25, L3: 30, L4: 25, L5: 34}  # points without the answers in words

# Typical mistakes: assignment -> student -> (score, which answers are wrong in which way).
# The student is named after the mistake; the scores were added up by hand from the points in the notebooks.
MISTAKES: dict[str, dict[str, tuple[float, dict[str, str]]]] = {
    L1: {
        "axes-swapped": (12 - 1 - 1, {"layer_norm_axis": "axes-swapped", "layer_norm_means": "axes-swapped"}),
        "x-hat-learned": (12 - 1 - 0.5, {"learned": "x-hat-learned", "parameter_count": "x-hat-learned"}),
        "eps-outside-root": (12 - 0.5 - 2, {"inside": "eps-outside-root", "denominator": "eps-outside-root"}),
        "one-vector": (12 - 0.5 - 1, {"parameter_count": "one-vector", "count_parameters": "one-vector"}),
    },
    L2: {
        # y is computed from the wrong x̂, so that it is wrong, too
        "ddof-1": (
            25 - 1 - 2 - 5 - 2 - 6,
            {"variance": "ddof-1", "standardized": "ddof-1", "standardize": "ddof-1", "layer_norm": "ddof-1"},
        ),
        "wrong-axis": (25 - 5 - 6, {"standardize": "wrong-axis", "layer_norm": "wrong-axis"}),
        "gamma-beta-swapped": (25 - 2 - 6 - 3, {"y": "gamma-beta-swapped", "layer_norm": "gamma-beta-swapped"}),
        "zero-over-zero": (25 - 1, {"without_eps": "zero-over-zero"}),
    },
    L3: {
        "per-feature": (30 - 1, {"erased": "per-feature"}),
        "uniform-factor": (30 - 2, {"feature_factors": "uniform-factor"}),
        "variance-for-std": (30 - 1 - 4, {"gamma": "variance-for-std", "undo": "variance-for-std"}),
        "biased-running-variance": (30 - 3, {"batch_norm": "biased-running-variance"}),
    },
    L4: {
        "rms-centered": (25 - 2 - 5, {"normalized": "rms-centered", "rms_norm": "rms-centered"}),
        "rms-shift-invariant": (25 - 1 - 2, {"erased": "rms-shift-invariant", "shifted_first": "rms-shift-invariant"}),
        "norm-of-branch": (25 - 4, {"post_norm": "norm-of-branch"}),
        "one-solution": (25 - 2 - 3, {"solutions": "one-solution", "affine_for": "one-solution"}),
    },
    L5: {
        "scale-free-gradient": (34 - 2, {"gradient_scaled": "scale-free-gradient"}),
        # the numbers are computed from the closed form, so that they are wrong, too
        "no-mean-term": (
            34 - 3 - 1 - 2 - 5 - 4,  # dgamma and dbeta are right
            {"closed_form": "no-mean-term", "jacobian": "no-mean-term", "layer_norm_backward": "no-mean-term"},
        ),
        "rms-bound": (
            34 - 1 - 1 - 2,
            {"t_squared_bound": "rms-bound", "bound_at_4": "rms-bound", "bound": "rms-bound"},
        ),
        "not-extreme": (34 - 3, {"maximizer": "not-extreme"}),
    },
}

# Wrong functions as a student would type them; the catalogue has them as code that cannot be typed in
WRONG_FUNCTIONS = {
    ("denominator", "eps-outside-root"): "return np.sqrt(variance) + eps",
    ("count_parameters", "one-vector"): "return H",
    ("standardize", "ddof-1"): "return (x - x.mean(-1, keepdims=True)) / x.std(-1, ddof=1, keepdims=True)",
    ("standardize", "wrong-axis"): "return (x - x.mean(0)) / x.std(0)",
    ("layer_norm", "ddof-1"): """\
        variance = x.var(axis=-1, ddof=1, keepdims=True)
        return gamma * (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(variance + eps) + beta""",
    ("layer_norm", "wrong-axis"): "return gamma * (x - x.mean(axis=0)) / np.sqrt(x.var(axis=0) + eps) + beta",
    ("layer_norm", "gamma-beta-swapped"): """\
        variance = x.var(axis=-1, keepdims=True)
        return beta * (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(variance + eps) + gamma""",
    ("undo", "variance-for-std"): "return x.var() + eps, x.mean()",
    ("batch_norm", "biased-running-variance"): """\
        mean, var = running
        if not training:
            return gamma * (x - mean) / np.sqrt(var + eps) + beta, running
        y = gamma * (x - x.mean(0)) / np.sqrt(x.var(0) + eps) + beta
        return y, ((1 - momentum) * mean + momentum * x.mean(0), (1 - momentum) * var + momentum * x.var(0))""",
    ("rms_norm", "rms-centered"): """\
        x = x - x.mean(axis=-1, keepdims=True)
        return gamma * x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + eps)""",
    ("post_norm", "norm-of-branch"): """\
        return (fx - fx.mean(axis=-1, keepdims=True)) / np.sqrt(fx.var(axis=-1, keepdims=True) + eps)""",
    ("affine_for", "one-solution"): "return [(std, mean)]",
    ("jacobian", "no-mean-term"): """\
        x_hat = (x - x.mean()) / x.std()
        return (np.eye(len(x)) - np.outer(x_hat, x_hat) / len(x)) / x.std()""",
    ("layer_norm_backward", "no-mean-term"): """\
        sigma = np.sqrt(x.var(axis=-1, keepdims=True) + eps)
        x_hat = (x - x.mean(axis=-1, keepdims=True)) / sigma
        g = dy * gamma
        dx = (g - x_hat * (g * x_hat).mean(axis=-1, keepdims=True)) / sigma
        return dx, (dy * x_hat).sum(axis=0), dy.sum(axis=0)""",
    ("bound", "rms-bound"): "return np.sqrt(H)",
    ("maximizer", "not-extreme"): "return np.arange(H) ** 2.0",
}
# Right functions in another style
OTHER_STYLE = {
    "denominator": "return (variance + eps) ** 0.5",
    "count_parameters": "return H + H",
    "standardize": """\
        result = np.empty(np.shape(x))
        for place in np.ndindex(np.shape(x)[:-1]):
            row = [float(value) for value in x[place]]
            mean = sum(row) / len(row)
            spread = (sum((value - mean) ** 2 for value in row) / len(row)) ** 0.5
            result[place] = [(value - mean) / spread for value in row]
        return result""",
    "rms_norm": "return x * gamma * (np.square(x).mean(-1, keepdims=True) + eps) ** -0.5",
    "affine_for": "return [[-std, mean], [std, mean]]",
    "bound": "return (H - 1) ** 0.5",
    "maximizer": "return [5] * (H - 1) + [-2]",
}
# Points of the full half: the first half of the answer cells is filled in
HALF = {L1: 8, L2: 9, L3: 11, L4: 14, L5: 23}
# What the odd hand-ins are done to, each with the points that it costs: a function; an answer cell that ends the
# program, which is then started again without it; the first answer cell, which raises
VICTIM = {L2: ("standardize", 5), L3: ("invariance_gap", 3), L4: ("rms_norm", 5), L5: ("layer_norm_backward", 7)}
ENDING_CELL = {L2: ("ex-2-2-answer", 4), L3: ("ex-3-2-answer", 4), L5: ("ex-5-2-answer", 5)}
FIRST_CELL = {L1: 4, L2: 8}  # in level 2 exercise 2.2 goes on from 2.1
# Which odd hand-ins each assignment gets; level 2 gets all of them
ODD = {
    L1: ("bom", "deleted-test", "exception", "renamed", "stripped", "truncated"),
    L2: (
        *("bom", "borrowed", "deleted-test", "duplicate-cells", "empty-file", "endless-loop", "exception"),
        *("kernel-death", "other-kernel", "patched-test", "renamed", "skip-tags", "stderr", "stripped"),
        *("truncated", "web-page"),
    ),
    L3: ("duplicate-cells", "empty-file", "endless-loop", "kernel-death", "patched-test", "stderr"),
    L4: ("borrowed", "deleted-test", "endless-loop", "other-kernel", "skip-tags", "web-page"),
    L5: ("borrowed", "duplicate-cells", "kernel-death", "renamed", "stripped", "truncated"),
}


@dataclass(frozen=True)
class HandIn:
    """One student's hand-in, and what grading must make of it.

    Parameters
    ----------
    assignment, student : str
        Which, and whose; the student is named after what is special.
    content : NotebookNode or bytes
        The notebook, or the file as it is.
    score : float
        The automatic points it must get.
    outcome : str
        The :class:`~grading.run.Report`'s outcome.
    misconceptions : tuple of str
        The mistakes that must be named.
    filename : str
        What the student called the file.
    """

    assignment: str
    student: str
    content: NotebookNode | bytes
    score: float
    outcome: str = "graded"
    misconceptions: tuple[str, ...] = ()
    filename: str = ""


def course(root: Path) -> Course:
    """Make an empty class with all assignments released; what was there is removed."""
    if root.exists() and not (root / MARKER).exists():
        raise ValueError(f"{root} is not a sample class, so it is not overwritten. Give another folder.")
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    (root / MARKER).write_text("Made by `grade sample`, which removes this folder when it runs again.\n")
    made = Course(root, timeout=10)
    list(release(made))
    return made


def build(course: Course) -> list[HandIn]:
    """Write the class's hand-ins into ``submitted/``; the assignments must have been released there."""
    shutil.rmtree(course.root / "submitted", ignore_errors=True)
    hand_ins = [hand_in for assignment in course.assignments() for hand_in in hand_ins_of(Sheet(course, assignment))]
    for hand_in in hand_ins:
        folder = course.submission(hand_in.student, hand_in.assignment)
        folder.mkdir(parents=True)
        content = hand_in.content
        data = content if isinstance(content, bytes) else nbformat.writes(content).encode()
        (folder / (hand_in.filename or f"{hand_in.assignment}.ipynb")).write_bytes(data)
        (folder / "timestamp.txt").write_text(TIMESTAMP)
    return hand_ins


def surprises(course: Course, hand_ins: list[HandIn]) -> list[str]:
    """Compare what grading made of the class with what it must make of it; returns a line for each difference."""
    lines, scores_of = [], {name: scores(course, name) for name in course.assignments()}
    for hand_in in hand_ins:
        report = load(course, hand_in.assignment, hand_in.student)
        found = (scores_of[hand_in.assignment][hand_in.student][0], report.outcome, report.misconceptions)
        expected = (hand_in.score, hand_in.outcome, hand_in.misconceptions)
        if found != expected:
            lines.append(f"{hand_in.assignment}, {hand_in.student}: expected {expected}, found {found}. {report.line}")
    return lines


def hand_ins_of(sheet: Sheet) -> Iterator[HandIn]:
    """Make the hand-ins to one assignment."""
    student, full, name = partial(HandIn, sheet.assignment), AUTOMATIC[sheet.assignment], sheet.assignment
    yield student("all-right", sheet.filled(), full)
    yield student("other-style", sheet.filled(sheet.in_other_style()), full)
    yield student("half-done", sheet.filled(only=list(sheet.right)[: len(sheet.right) // 2]), HALF[name])
    yield student("unattempted", sheet.filled(only=[]), 0)
    for mistake, (points, wrong) in MISTAKES[name].items():
        changes = {answer: sheet.wrong(answer, kind) for answer, kind in wrong.items()}
        yield student(mistake, sheet.filled(changes), points, misconceptions=(mistake,))
    for special in ODD[name]:
        yield odd(partial(HandIn, name, special), special, sheet)


def odd(student: Callable[..., HandIn], special: str, sheet: Sheet) -> HandIn:  # noqa: PLR0912  a list
    """Make one odd hand-in; but for what is odd, everything in it is right, or nothing is done at all."""
    name, full = sheet.assignment, AUTOMATIC[sheet.assignment]
    victim, worth = VICTIM.get(name, ("", 0))
    notebook = sheet.filled(only=[] if special in ("patched-test", "skip-tags") else None)
    text = nbformat.writes(notebook)
    tests = [cell for cell in notebook.cells if is_test(cell)]
    answers = [cell for cell in notebook.cells if is_answer(cell) and cell.cell_type == "code"]
    match special:
        case "bom":
            notebook.cells.append(new_code_cell("# σ² ≥ ₀, 日本語", id="a-comment-of-mine"))
            return student(b"\xef\xbb\xbf" + nbformat.writes(notebook).encode(), full)
        case "borrowed":
            call = {"standardize": "x", "rms_norm": "x, gamma, eps=eps", "layer_norm_backward": "dy, x, gamma, eps=eps"}
            body = f"import normlib\nreturn normlib.{victim}({call[victim]})"
            return student(sheet.filled({victim: sheet.function(victim, body)}), full - worth)
        case "deleted-test":
            notebook.cells.remove(tests[0])
            return student(notebook, full, "mended")
        case "duplicate-cells":
            place, first = notebook.cells.index(answers[0]), answers[0]
            head, *rest = first.source.splitlines()
            half = NotebookNode(first, source="\n".join(rest), id="the-second-half")
            first.source = head
            notebook.cells.insert(place + 1, half)
            notebook.cells.append(NotebookNode(tests[0], id="pasted"))
            return student(notebook, full, "mended")
        case "empty-file":
            return student(b"", 0, "unreadable")
        case "endless-loop":
            loop = "while True:\n    pass"
            if name == L2:  # only inside the function: its check and its test are stopped
                return student(sheet.filled({victim: sheet.function(victim, loop)}), full - worth, "stopped")
            next(cell for cell in answers if f"def {victim}" in cell.source).source = loop
            return student(notebook, full - worth, "stopped")
        case "exception":
            answers[0].source = f"raise ValueError('I am stuck')\n{answers[0].source}"
            return student(notebook, full - FIRST_CELL[name])
        case "kernel-death":
            cell, worth = ENDING_CELL[name]
            next(one for one in answers if one.id == cell).source = "import os\nos._exit(0)"
            return student(notebook, full - worth, "stopped")
        case "other-kernel":
            notebook.metadata = {
                "kernelspec": {"name": "python2", "display_name": "Python 2"},
                "colab": {"provenance": []},
            }
            return student(notebook, full)
        case "patched-test":
            for cell in tests:
                cell.source, cell.metadata.nbgrader.solution = "pass", True
            return student(notebook, 0, "mended")
        case "renamed":
            return student(notebook, full, "mended", filename=f"{name} (1).ipynb")
        case "skip-tags":
            for cell in tests:
                cell.metadata.tags = ["skip-execution"]
            return student(notebook, 0)
        case "stderr":
            noisy = f"import sys, warnings\nwarnings.warn('slow')\nprint('here', file=sys.stderr)\n{sheet.body(victim)}"
            return student(sheet.filled({victim: sheet.function(victim, noisy)}), full)
        case "stripped":
            for cell in notebook.cells:
                cell.metadata = {}
                del cell["id"]
            notebook.nbformat_minor = 4
            return student(notebook, full, "mended")
        case "truncated":
            return student(text[: len(text) * 2 // 3].encode(), 0, "unreadable")
        case "web-page":
            return student(b"<!DOCTYPE html>\n<html><body>Log in to see this file</body></html>\n", 0, "unreadable")
    raise ValueError(f"There is no odd hand-in {special!r}.")


class Sheet:
    """The released notebook of one assignment, to be filled in.

    Parameters
    ----------
    course : Course
        Where it was released.
    assignment : str
        Which one.
    """

    def __init__(self, course: Course, assignment: str) -> None:
        self.assignment, self.released = assignment, course.released(assignment)
        source = nbformat.read(HERE / "solutions" / assignment / f"{assignment}.ipynb", as_version=4)
        marks = re.compile(r" *### (BEGIN|END) SOLUTION\n?|^\w+ = None.*\n|^\*\*Rubric\*\*[\s\S]*", re.MULTILINE)
        self.right = {cell.id: marks.sub("", cell.source).strip() for cell in source.cells if is_answer(cell)}
        level = assignment.split("-")[1]
        self.quantities = {
            quantity.name: (exercise.id, quantity)
            for exercise in EXERCISES.values()
            if exercise.id.startswith(level)
            for quantity in exercise.quantities
        }

    def filled(self, changes: dict[str, str] | None = None, only: list[str] | None = None) -> NotebookNode:
        """Make a notebook with the right answers, or only those in some cells, and then some answers changed.

        Parameters
        ----------
        changes : dict, optional
            The name of a variable or function to the line or lines that define it.
        only : list of str, optional
            The cells that are filled in.
        """
        notebook = copy.deepcopy(self.released)
        for cell in notebook.cells:
            if is_answer(cell) and (only is None or cell.id in only):
                cell.source = self.right[cell.id]
                for name, lines in (changes or {}).items():
                    cell.source = redefined(cell.source, name, lines) if cell.cell_type == "code" else cell.source
        return notebook

    def wrong(self, name: str, mistake: str) -> str:
        """Define an answer that is wrong in this way."""
        if (name, mistake) in WRONG_FUNCTIONS:
            return self.function(name, WRONG_FUNCTIONS[name, mistake])
        exercise, quantity = self.quantities[name]
        path = next(path for kind, path in quantity.wrong_paths() if kind == mistake)
        return f"{name} = {literal(evaluate(path, instance(exercise)))}"

    def in_other_style(self) -> dict[str, str]:
        """Define every answer in another style: rounded as the text allows, lists for arrays, loops."""
        styled = {}
        for name, (exercise, quantity) in self.quantities.items():
            if not quantity.calls:
                styled[name] = f"{name} = {literal(evaluate(quantity.right, instance(exercise)), quantity.decimals)}"
            elif name in OTHER_STYLE:
                styled[name] = self.function(name, OTHER_STYLE[name])
        return styled

    def function(self, name: str, body: str) -> str:
        """Define a function of the assignment with another body."""
        head = re.search(rf"^def {name}\(.*\):$", "\n".join(self.right.values()), re.MULTILINE)
        return head[0] + "\n" + textwrap.indent(textwrap.dedent(body), "    ")

    def body(self, name: str) -> str:
        """The right body of a function, without its docstring."""
        node = next(node for source in self.right.values() if f"def {name}(" in source for node in _named(source, name))
        return "\n".join(map(ast.unparse, node.body[1:]))


def redefined(source: str, name: str, lines: str) -> str:
    """Replace the definition of a variable or function in some code; code without one stays as it is."""
    rows = source.splitlines()
    for node in _named(source, name)[-1:]:
        rows[node.lineno - 1 : node.end_lineno] = lines.splitlines()
    return "\n".join(rows)


def _named(source: str, name: str) -> list[Any]:
    def names(node: Any) -> list[str]:
        if isinstance(node, ast.Assign):
            return [target.id for target in node.targets if isinstance(target, ast.Name)]
        return [node.name] if isinstance(node, ast.FunctionDef) else []

    return [node for node in ast.parse(source).body if name in names(node)]


def literal(value: Any, decimals: int | None = None) -> str:
    """Write a value as a student would: rounded if asked for, lists for arrays."""
    if isinstance(value, frozenset):
        return "{" + ", ".join(map(repr, sorted(value))) + "}" if value else "set()"
    if type(value).__module__.startswith("sympy"):
        return str(value)
    array = np.asarray(value, dtype=float)
    text = repr((array if decimals is None else array.round(decimals)).tolist()).replace("nan", "np.nan")
    return f"np.array({text})" if decimals is None and array.ndim else text
