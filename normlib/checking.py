"""Check answers: say which mistake was made, and never what the right answer is.

The exercises themselves stand in :mod:`normlib.catalogue`; this module only compares.
"""

from __future__ import annotations

import copy
import dis
import html
import inspect
import numbers
import re
import sys
import threading
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np

from normlib.misconceptions import message

PACKAGE = str(Path(__file__).parent)
ALIASES = {
    **{"γ": "gamma", "β": "beta", "ε": "eps", "μ": "mu", "σ": "sigma", "x̂": "x_hat", "xhat": "x_hat"},
    **{"scaling": "scale", "shifting": "shift", "one_feature": "one feature", "one-feature": "one feature"},
}


CHANGED = "your function changed its input. Make a new array instead, as in x = x - mean."


def _as_it_is(value: np.ndarray) -> np.ndarray:
    return value


@dataclass(frozen=True)
class Quantity:
    """One thing an exercise asks for.

    Parameters
    ----------
    name : str
        The keyword under which :func:`check` takes it.
    says : str
        What it is and which shape it has, for people: "σ², one number".
    right : callable
        The right answer. Its parameters are names of the instance's values; for a function to be written, it is the
        reference function itself.
    wrong : dict
        Misconception name (see :mod:`normlib.misconceptions`) to the wrong path as code, or to a tuple of them; same
        parameters as `right`.
    decimals : int
        The answer may be rounded to so many decimals; 0 asks for integers, exactly.
    also : tuple of callables
        Other right answers.
    holds : callable, optional
        For a question with many right answers: takes the answer and the instance's values, returns None or the name
        of the misconception. `right` then gives one example.
    calls : callable, optional
        Makes this a function to be written: takes a random generator, returns a list of argument tuples.
    parts : tuple of str
        Names of what the function returns, when it returns several things. Each is judged by itself.
    clean : callable
        Brings an answer into a canonical order before it is compared.
    own : bool
        The student must write it without calling normlib's function.
    of : str
        The function's name in the notebook, where it is an answer to another exercise.
    """

    name: str
    says: str
    right: Callable[..., Any]
    wrong: dict[str, Any] = field(default_factory=dict)
    decimals: int = 4
    also: tuple[Callable[..., Any], ...] = ()
    holds: Callable[..., str | None] | None = None
    calls: Callable[[np.random.Generator], list[tuple]] | None = None
    parts: tuple[str, ...] = ()
    clean: Callable[[np.ndarray], np.ndarray] = _as_it_is
    own: bool = False
    of: str = ""

    def wrong_paths(self) -> Iterator[tuple[str, Callable[..., Any]]]:
        """Each misconception's name with one wrong path."""
        for name, paths in self.wrong.items():
            for path in paths if isinstance(paths, tuple) else (paths,):
                yield name, path


@dataclass(frozen=True)
class Exercise:
    """One exercise: its card, its canonical instance, and what it asks for.

    Parameters
    ----------
    id : str
        "2.1": level, then number.
    title : str
        The question in a few words.
    difficulty : int
        1 to 3 stars within the level.
    minutes, points : int
        How long it takes, and what it counts, free text included.
    quantities : tuple of Quantity
        What is asked.
    given : dict
        The numbers of the question.
    fresh : callable
        Takes a random generator, returns other numbers for the same question.
    """

    id: str
    title: str
    difficulty: int
    minutes: int
    points: int
    quantities: tuple[Quantity, ...]
    given: dict[str, Any] = field(default_factory=dict)
    fresh: Callable[[np.random.Generator], dict[str, Any]] = lambda rng: {}

    def __getitem__(self, name: str) -> Quantity:
        for quantity in self.quantities:
            if quantity.name == name:
                return quantity
        names = ", ".join(quantity.name for quantity in self.quantities)
        raise ValueError(f"Exercise {self.id} has no answer called {name!r}; it asks for: {names}.")


class Refused(Exception):
    """An answer that fails on a rung of the ladder."""

    def __init__(self, rung: str, text: str, misconception: str | None = None) -> None:
        super().__init__(text)
        self.rung, self.text, self.misconception = rung, text, misconception


@dataclass(frozen=True)
class Line:
    """The verdict on one quantity, or on those `parts` of what a function returns that deserve the same.

    `rung` is "right", or the rung of the ladder on which the answer failed: "missing", "type", "shape", "not-finite",
    "misconception", "wrong"; for functions also "borrowed", "error" and "changed-input".
    """

    quantity: str
    rung: str
    text: str
    misconception: str | None = None
    parts: tuple[str, ...] = ()
    of: str = ""

    @property
    def about(self) -> str:
        """What the line is about, for people."""
        details = ((f"your {self.of}",) if self.of else ()) + self.parts
        return f"{self.quantity} ({', '.join(details)})" if details else self.quantity


class CheckFailed(AssertionError):
    """Raised by :meth:`Result.require`; notebooks show its lines without a traceback."""

    def _render_traceback_(self) -> list[str]:
        # JupyterLab breaks a long line of an error anywhere, even in a word
        return [line for long in str(self).splitlines() for line in wrap(long, 88, subsequent_indent="  ")]


@dataclass(frozen=True)
class Result:
    """What :func:`check` found: true when every answer is right."""

    exercise: str
    lines: tuple[Line, ...]

    def __bool__(self) -> bool:
        return all(line.rung == "right" for line in self.lines)

    def __str__(self) -> str:
        return "\n".join(f"{icon} {word} – {line.about}: {line.text}" for icon, word, _, line in self._marked())

    __repr__ = __str__

    def _marked(self) -> Iterator[tuple[str, str, str, Line]]:
        for line in self.lines:
            yield (*MARKS.get(line.rung, MARKS["wrong"]), line)

    def _repr_html_(self) -> str:
        rows = "".join(
            f'<li style="border-left:4px solid {color};padding:.2em .7em;margin:.3em 0">'
            f"<strong>{icon} {word}</strong> – <code>{html.escape(line.about)}</code>: {html.escape(line.text)}</li>"
            for icon, word, color, line in self._marked()
        )
        return f'<ul role="status" style="list-style:none;padding:0;margin:0">{rows}</ul>'

    def require(self, *parts: str) -> None:
        """Raise :class:`CheckFailed` with the lines that are not right.

        Parameters
        ----------
        *parts : str
            Of what a function returns, the parts that matter; without them all do.

        Raises
        ------
        CheckFailed
            If one of them is not right.
        ValueError
            If nothing that was checked has such a part.
        """
        known = {part for line in self.lines for part in find(self.exercise)[line.quantity].parts}
        if unknown := set(parts) - known:
            raise ValueError(f"There is no part called {', '.join(sorted(unknown))}.")
        wrong = [line for line in self.lines if line.rung != "right"]
        failed = [line for line in wrong if not (parts and line.parts) or set(parts) & set(line.parts)]
        if failed:
            raise CheckFailed(str(Result(self.exercise, tuple(failed))))


MARKS = {
    "right": ("✓", "Right", "#007a5e"),
    "missing": ("○", "Missing", "#767676"),
    "wrong": ("✗", "Not yet", "#c0392b"),
}


def check(exercise: str, given: dict[str, Any] | None = None, /, **answers: Any) -> Result:
    """Check the answers to one exercise.

    Parameters
    ----------
    exercise : str
        "1.1" to "5.3".
    given : dict, optional
        Other numbers for the same question, from :func:`instance`.
    **answers
        The answers by name: numbers, arrays, sets, SymPy expressions or functions, as the exercise asks.

    Returns
    -------
    Result
        One line an answer, or several for a function that returns several things. They say what is wrong, never what
        would be right.

    Raises
    ------
    ValueError
        If there is no such exercise or answer, or no answer is given.

    Examples
    --------
    >>> check("2.1", mean=5)
    ✓ Right – mean: correct.
    """
    entry = find(exercise)
    if not answers:
        names = ", ".join(quantity.name for quantity in entry.quantities)
        raise ValueError(f"Give check({exercise!r}, …) at least one answer by name: {names}.")
    given = instance(exercise) if given is None else given
    return Result(
        exercise, tuple(line for name, answer in answers.items() for line in _lines(entry[name], given, answer))
    )


def find(exercise: str) -> Exercise:
    """Look an exercise up by its id; ValueError if there is none."""
    from normlib.catalogue import EXERCISES  # noqa: PLC0415  the catalogue is written in terms of this module

    if exercise not in EXERCISES:
        raise ValueError(f"There is no exercise {exercise!r}; there are {', '.join(EXERCISES)}.")
    return EXERCISES[exercise]


def instance(exercise: str, seed: int | None = None) -> dict[str, Any]:
    """Give the numbers of an exercise: the ones in the text, or fresh ones drawn from a seed.

    Parameters
    ----------
    exercise : str
        "1.1" to "5.3".
    seed : int, optional
        Where fresh numbers start from; the same seed gives the same numbers.

    Returns
    -------
    dict
        The values by name, and the seed.
    """
    entry = find(exercise)
    values = entry.given if seed is None else entry.fresh(np.random.default_rng(seed))
    return {"seed": seed or 0, **copy.deepcopy(values)}


def evaluate(function: Callable[..., Any], given: dict[str, Any]) -> Any:
    """Call a function of the catalogue with those values of the instance that it names."""
    names = inspect.signature(function).parameters
    with np.errstate(all="ignore"):
        return function(**{name: copy.deepcopy(given[name]) for name in names})


def _lines(quantity: Quantity, given: dict[str, Any], answer: Any) -> Iterator[Line]:
    """The verdict on an answer: a line for all of it, or one for each group of its parts that deserve the same."""
    try:
        if answer is None or answer is ...:
            raise Refused("missing", f"still empty. Give {quantity.says}.")
        verdicts = (_check_function if quantity.calls else _check_value)(quantity, given, answer)
    except Refused as refused:
        verdicts = [refused]
    groups: dict[str, tuple[Refused | None, list[str]]] = {}
    for verdict, part in zip(verdicts, quantity.parts or ("",), strict=False):
        groups.setdefault(str(verdict), (verdict, []))[1].append(part)
    for verdict, parts in groups.values():
        named = tuple(parts) if len(groups) > 1 else ()
        if verdict is None:
            yield Line(quantity.name, "right", "correct.", None, named, quantity.of)
        else:
            yield Line(quantity.name, verdict.rung, verdict.text, verdict.misconception, named, quantity.of)


def _check_value(quantity: Quantity, given: dict[str, Any], answer: Any) -> list[None]:
    right = evaluate(quantity.right, given)
    answer = plain(_listed(quantity, answer), like=right, says=quantity.says)
    if quantity.holds:
        _require_shape(answer, right, quantity.says)
        _require_finite(answer, right)
        names = [name for name in inspect.signature(quantity.holds).parameters if name != "answer"]
        _refuse(quantity.holds(answer, **{name: given[name] for name in names}))
        return [None]
    rights = [right, *(evaluate(other, given) for other in quantity.also)]
    if any(same(quantity.clean(answer), quantity.clean(other), quantity.decimals) for other in rights):
        return [None]
    for decimals in (12, quantity.decimals):  # where two wrong paths round alike, the exact one is meant
        for name, path in quantity.wrong_paths():
            if resembles(quantity.clean(answer), quantity.clean(evaluate(path, given)), right, decimals):
                _refuse(name)
    _require_shape(answer, right, quantity.says)
    _require_finite(answer, right)
    raise Refused("wrong", difference(quantity.clean(answer), quantity.clean(right), quantity.decimals))


def _check_function(quantity: Quantity, given: dict[str, Any], function: Any) -> list[Refused | None]:
    """What is to be said of each part of what a function returns."""
    if not callable(function):
        raise Refused("type", f"this must be a function, not {_kind(function)}.")
    calls = quantity.calls(np.random.default_rng(given["seed"]))
    answers = [_call(quantity, function, arguments, hidden=bool(given["seed"])) for arguments in calls]
    rights = [_reference(quantity, quantity.right, arguments) for arguments in calls]
    if quantity.holds:
        for arguments, (answer,), (right,) in zip(calls, answers, rights, strict=True):
            _require_shape(answer, right, quantity.says)
            _require_finite(answer, right)
            _refuse(quantity.holds(answer, *arguments))
        return [None]
    if all(map(_agree, answers, rights)):
        return [None] * len(rights[0])
    paths = [(name, _explained(quantity, path, calls, answers)) for name, path in quantity.wrong_paths()]
    paths.sort(key=lambda path: not all(path[1]))  # what explains every part comes first
    verdicts = []
    for place, part in enumerate(quantity.parts or ("the result",)):
        names = [name for name, parts in paths if parts[place]]
        verdicts.append(_verdict(part, calls, *(_column(many, place) for many in (answers, rights)), names))
    return verdicts


def _column(rows: list[tuple], place: int) -> list[Any]:
    return [row[place] for row in rows]


def _verdict(part: str, calls: list[tuple], answers: list[Any], rights: list[Any], names: list[str]) -> Refused | None:
    """What is to be said of one part of what a function returned, with the names of the mistakes that explain it."""
    if all(map(_agree, answers, rights)):
        return None
    try:
        for answer in answers:
            if isinstance(answer, Refused):
                raise answer
        _refuse(names[0] if names else None)
        wrong = [not _agree(answer, right) for answer, right in zip(answers, rights, strict=True)].index(True)
        where = f"for {_describe(calls[wrong])}"
        _require_shape(answers[wrong], rights[wrong], f"{part} {where}")
        _require_finite(answers[wrong], rights[wrong])
        raise Refused("wrong", f"{part} is wrong {where}: {difference(answers[wrong], rights[wrong])}")
    except Refused as refused:
        return refused


def _call(quantity: Quantity, function: Callable[..., Any], arguments: tuple, hidden: bool) -> tuple:
    """Call the student's function on a copy of the arguments and bring the parts of its result into plain form."""
    right = quantity.right(*copy.deepcopy(arguments))
    own = copy.deepcopy(arguments)
    where = f"for {_describe(arguments)}"
    try:
        with np.errstate(all="ignore"), Borrowing() as borrowing:
            answer = function(*own)
    except (Exception, SystemExit) as error:
        if getattr(function, "changed", False):
            raise Refused("changed-input", CHANGED) from None
        text = "" if hidden else f": {_short(error)}"  # it could show the numbers of a hidden test
        raise Refused("error", f"stopped with {type(error).__name__} {where}{text or '.'}") from None
    # a function that runs in another process, as when a class is graded, notes whether it borrowed there
    borrowed = borrowing.seen or getattr(function, "borrowed", False)
    if quantity.own and (borrowed or _module(function).startswith("normlib")):
        raise Refused("borrowed", "this calls normlib's own function. Write the steps yourself, with NumPy only.")
    if not _unchanged(own, arguments):
        raise Refused("changed-input", CHANGED)
    if answer is None and _without_statements(function):
        raise Refused("missing", "still empty: there is no statement in it yet.")
    if answer is None:
        raise Refused("missing", f"returns None {where}. Is the last line a return?")
    if isinstance(right, tuple):
        return _plain_parts(quantity, answer, right, where)
    return (quantity.clean(plain(_listed(quantity, answer), like=right, says=quantity.says)),)


def _listed(quantity: Quantity, answer: Any) -> Any:
    """A set of pairs as a list, where the order does not matter."""
    return list(answer) if quantity.clean is not _as_it_is and isinstance(answer, set | frozenset) else answer


def _plain_parts(quantity: Quantity, answer: Any, right: tuple, where: str) -> tuple:
    """Each part in plain form; one that cannot be read is what is to be said of it, and costs only itself."""
    parts = _parts(answer, right) or _parts(answer, _flat(right))
    if not parts:
        raise Refused("shape", f"return {len(quantity.parts)} things: {', '.join(quantity.parts)}.")

    def read(part: Any, like: Any, name: str) -> Any:
        try:
            if part is None:
                raise Refused("missing", f"{name} is None {where}.")
            return plain(part, like, name)
        except Refused as refused:
            return refused

    return tuple(map(read, parts, _flat(right), quantity.parts))


def _parts(answer: Any, right: tuple) -> tuple:
    """The members of an answer that is nested like the reference, in order; nothing if it is nested otherwise."""
    if not isinstance(answer, tuple | list) or len(answer) != len(right):
        return ()
    found: tuple = ()
    for one, other in zip(answer, right, strict=True):
        stacked = isinstance(one, np.ndarray) and one.ndim > 0
        members = _parts(list(one) if stacked else one, other) if isinstance(other, tuple) else (one,)
        if not members:
            return ()
        found += members
    return found


def _refuse(misconception: str | None) -> None:
    if misconception is not None:
        raise Refused("misconception", message(misconception), misconception)


# Comparing


def plain(answer: Any, like: Any, says: str) -> Any:
    """Bring an answer into the plain form of the reference: a set of names, an expression, or a float64 array.

    Raises
    ------
    Refused
        If its type cannot be read as what is asked for.
    """
    if isinstance(like, frozenset):
        return _names(answer, says, like)
    if _symbolic(like):
        return _expression(answer, says)
    if _symbolic(answer) and getattr(answer, "is_number", False):
        try:
            answer = float(answer)
        except TypeError:
            raise Refused("type", f"this is {_kind(answer)}, not a real number. Give {says}.") from None
    if isinstance(answer, str | bytes | dict | set | frozenset | bool | np.bool_) or callable(answer):
        raise Refused("type", f"this is {_kind(answer)}. Give {says}.")
    try:
        array = np.array(answer, subok=False)
        if array.dtype.kind == "O":  # numbers that NumPy does not know, such as SymPy's or fractions
            if any(value is None for value in array.flat):
                raise Refused("missing", f"partly empty: there is a None in it. Give {says}.")
            array = array.astype(np.float64)
    except (TypeError, ValueError):
        raise Refused("type", f"this ({_kind(answer)}) cannot be read as numbers. Give {says}.") from None
    if array.dtype.kind not in "iuf":
        raise Refused("type", f"this is {_kind(answer)} of {array.dtype}, not of real numbers. Give {says}.")
    return array.astype(np.float64)


def same(answer: Any, right: Any, decimals: int) -> bool:
    """Tell whether two plain answers agree to so many decimals (NaN equals NaN, shapes must match)."""
    if isinstance(right, frozenset):
        return answer == right
    if _symbolic(right):
        return _equivalent(answer, right)
    right = np.asarray(right, dtype=float)
    if not isinstance(answer, np.ndarray):
        return False
    return answer.shape == right.shape and bool(np.all(_near(answer, right, _tolerance(right, decimals))))


def _tolerance(right: np.ndarray, decimals: int) -> np.ndarray:
    """Half a unit in the last asked place, and a little room for rounding; integers are exact."""
    half = 0.5 * 10.0**-decimals * (1 + 1e-6) if decimals else 0.0
    return half + 1e-9 * np.where(np.isfinite(right), np.abs(right), 0.0)


def resembles(answer: Any, wrong: Any, right: Any, decimals: int) -> bool:
    """Tell whether an answer is that of a wrong path.

    A set resembles it when it holds everything that the wrong path adds, or lacks just what it leaves out.
    """
    if isinstance(wrong, frozenset):
        added = wrong - right
        return added <= answer if added else answer == wrong
    return same(answer, wrong, decimals)


def difference(answer: Any, right: Any, decimals: int | None = None) -> str:
    """Say where an answer is wrong, and of a function's result (no `decimals`) how far, but never what is right."""
    if isinstance(right, frozenset):
        extra, missing = len(answer - right), len(right - answer)
        return f"{extra} too many and {missing} missing. Look at each one again."
    if _symbolic(right):
        return "this is not equal to the right expression for all values of its symbols."
    right = np.asarray(right, dtype=float)
    if decimals and _rounded(answer, right, decimals):
        return f"close, but not to {decimals} decimals. Keep more digits on the way."
    bad = ~_near(answer, right, _tolerance(right, 8 if decimals is None else decimals))
    worst = "" if decimals is not None else f", the worst by about {_worst(answer, right)}"
    if right.size == 1:
        side = {1: "too large", -1: "too small"}.get(np.sign(answer - right).item(), "not right")
        return f"{side}{worst.replace('the worst ', '')}."
    first = tuple(int(i) for i in np.argwhere(bad)[0])
    count = f"{int(bad.sum())} of {right.size} entries {'is' if bad.sum() == 1 else 'are'} off"
    return f"{count}, the first at index {first[0] if len(first) == 1 else first}{worst}."


def _rounded(answer: np.ndarray, right: np.ndarray, decimals: int) -> bool:
    """Tell whether an answer is the right one with a digit or two too few, or just misses the last one."""
    steps = {decimals: 5 * 10.0**-decimals, decimals - 1: 1e-9, decimals - 2: 1e-9}
    return any(np.all(_near(answer, right.round(d), room)) for d, room in steps.items() if d > 0)


def _worst(answer: np.ndarray, right: np.ndarray) -> str:
    """The largest error in one significant digit: relative where that makes sense, absolute near zero."""
    error = np.abs(answer - right)
    error, scale = np.max(error[np.isfinite(error)], initial=0.0), np.max(np.abs(right), initial=0.0)
    value, unit = (100 * error / scale, " %") if scale > 1e-12 else (error, "")
    return f"{float(f'{value:.0e}'):g}{unit}"


def _near(a: np.ndarray, b: np.ndarray, tolerance: Any) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        return (np.abs(a - b) <= tolerance) | (np.isnan(a) & np.isnan(b)) | (a == b)


def _agree(answer: Any, right: Any) -> bool:
    """Compare what a function returned: room for float32 and for another order of summation, no more."""
    if isinstance(right, tuple):
        return len(answer) == len(right) and all(map(_agree, answer, right))
    if isinstance(answer, Refused):
        return False
    right = np.asarray(right, dtype=float)
    scale = np.max(np.abs(right[np.isfinite(right)]), initial=0.0)
    return np.shape(answer) == right.shape and bool(np.all(_near(answer, right, 1e-7 + 1e-5 * scale)))


def _reference(quantity: Quantity, path: Callable[..., Any], arguments: tuple) -> tuple:
    """The parts of what a path of the catalogue returns."""
    with np.errstate(all="ignore"):
        value = path(*copy.deepcopy(arguments))
    return _flat(value) if isinstance(value, tuple) else (quantity.clean(np.asarray(value, dtype=float)),)


def _explained(
    quantity: Quantity, path: Callable[..., Any], calls: list[tuple], answers: list[tuple]
) -> tuple[bool, ...]:
    """Tell for each part whether a wrong path gives just what the student's function gave, on every call."""
    try:
        wrong = [_reference(quantity, path, arguments) for arguments in calls]
    except Exception:  # a wrong path need not work for every shape
        return (False,) * len(answers[0])
    return tuple(all(map(_agree, ours, theirs)) for ours, theirs in zip(zip(*answers), zip(*wrong)))  # noqa: B905


def _require_shape(answer: Any, right: Any, says: str) -> None:
    if np.shape(answer) != np.shape(right):
        asked = np.shape(right) or "one number, not a list,"
        raise Refused("shape", f"the shape is {np.shape(answer)}, and {asked} is asked for: {says}.")


def _require_finite(answer: Any, right: Any) -> None:
    if not isinstance(answer, np.ndarray) or not np.all(np.isfinite(np.asarray(right, dtype=float))):
        return
    for what, bad in (("NaN", np.isnan(answer)), ("infinity", np.isinf(answer))):
        if bad.any():
            raise Refused(
                "not-finite", f"contains {what}: {int(bad.sum())} of {answer.size}. Was something divided by 0?"
            )


def _names(answer: Any, says: str, like: frozenset[str]) -> frozenset[str]:
    if isinstance(answer, np.ndarray):
        answer = answer.tolist()
    if isinstance(answer, str):
        letters = answer.isalpha() and all(len(name) == 1 for name in like)
        words = answer.strip().lower().replace("one feature", "one_feature")
        answer = list(answer) if letters else re.split(r"[\s,;]+", words)
    if answer == {} and isinstance(answer, dict):
        raise Refused("type", "this is an empty dict. An empty set is written set().")
    if not isinstance(answer, Set | list | tuple) or not all(isinstance(name, str) for name in answer):
        raise Refused("type", f"this is {_kind(answer)}. Give {says}.")
    lowered = (name.strip().lower() for name in answer)
    return frozenset(ALIASES.get(name, name) for name in lowered)


# SymPy


def _symbolic(value: Any) -> bool:
    sympy = sys.modules.get("sympy")  # nothing is symbolic before somebody has imported it
    return sympy is not None and isinstance(value, sympy.Basic)


def _expression(answer: Any, says: str) -> Any:
    import sympy  # noqa: PLC0415  half a second that only the proofs need

    if isinstance(answer, np.generic | np.ndarray) and np.ndim(answer) == 0:
        answer = answer.item()
    if isinstance(answer, numbers.Real | Decimal) and not isinstance(answer, sympy.Basic | bool):
        return sympy.Integer(answer) if isinstance(answer, int) else sympy.Float(float(answer))
    if not isinstance(answer, sympy.Expr) or not all(isinstance(s, sympy.Symbol) for s in answer.free_symbols):
        raise Refused("type", f"this is {_kind(answer)}, not a SymPy expression. Give {says}.")
    if sum(1 for _, _ in zip(sympy.preorder_traversal(answer), range(2001), strict=False)) > 2000:
        raise Refused("type", "this expression is very long. Write it in the few symbols of the task.")
    return answer


def _equivalent(answer: Any, right: Any) -> bool:
    """Compare two expressions by their values at random points: judged for equivalence, not for form."""
    rng = np.random.default_rng(20160721)
    names = sorted({symbol.name for symbol in right.free_symbols | answer.free_symbols})
    return all(_same_at({name: rng.uniform(1.5, 4.5) for name in names}, answer, right) for _ in range(6))


def _same_at(point: dict[str, float], *expressions: Any) -> bool:
    values = [
        expression.subs({symbol: point[symbol.name] for symbol in expression.free_symbols}).evalf(25)
        for expression in expressions
    ]
    try:
        first, second = map(complex, values)
    except TypeError:  # infinite, or of other symbols
        return False
    return abs(first - second) <= 1e-12 * max(1.0, abs(second))


# Calling the student's function


class Borrowing:
    """Notes whether one of normlib's own functions runs while the student's does."""

    def __enter__(self) -> Borrowing:
        self.seen = False
        self.before = sys.getprofile(), threading.getprofile()
        sys.setprofile(self._event)
        threading.setprofile(self._event)  # for the threads that it starts
        return self

    def _event(self, frame: Any, event: str, _: Any) -> None:
        path = frame.f_code.co_filename
        self.seen |= event == "call" and path.startswith(PACKAGE) and not path.endswith("checking.py")

    def __exit__(self, *_: object) -> None:
        self.seen |= sys.getprofile() != self._event  # who looks away has something to hide
        sys.setprofile(self.before[0])
        threading.setprofile(self.before[1])


def _without_statements(function: Any) -> bool:
    """Tell whether a function that returned None has nothing in it but its docstring, a constant or pass."""
    code = getattr(function, "__code__", None)
    nothing = {"RESUME", "NOP", "LOAD_CONST", "RETURN_VALUE", "RETURN_CONST"}
    return code is not None and {instruction.opname for instruction in dis.get_instructions(code)} <= nothing


def _module(function: Any) -> str:
    return getattr(function, "__module__", None) or ""


def _unchanged(after: tuple, before: tuple) -> bool:
    return all(np.array_equal(a, b, equal_nan=True) for a, b in zip(_flat(after), _flat(before), strict=True))


def _flat(value: Any) -> tuple:
    """The members of nested tuples and lists, in order; anything else is one member."""
    if not isinstance(value, tuple | list):
        return (np.asarray(value) if isinstance(value, np.ndarray) else value,)
    return tuple(member for item in value for member in _flat(item))


def _describe(arguments: tuple) -> str:
    """Name a call without its values: they may be hidden ones."""
    first = arguments[0] if arguments else None
    if isinstance(first, np.ndarray) and first.ndim:
        kind = {1: "a row", 2: "a batch"}.get(first.ndim, "an array")
        return f"{kind} of shape {first.shape}"
    return "one of the inputs tried"


def _kind(value: Any) -> str:
    name = type(value).__name__
    names = {"str": "text", "bool": "True or False", "function": "a function", "method": "a function"}
    names |= {"ndarray": "an array"}
    return names.get(name, f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}")


def _short(error: Exception) -> str:
    """The first line of what an exception says, whatever its ``__str__`` does."""
    try:
        text = str(error)
    except Exception:
        return "(no text)"
    lines = text.splitlines() or ["(no text)"]
    return lines[0][:120]
