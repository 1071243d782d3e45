"""Interactive parts: live figures (widgets in JupyterLab that also run on the site), sliders, self-checks on a page."""

from __future__ import annotations

import html
import itertools
import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anywidget
import ipywidgets
import numpy as np
import traitlets

from normlib import checking, figures
from normlib.gradients import standardize_jacobian
from normlib.misconceptions import message
from normlib.norms import batch_norm, layer_norm, rms_norm, standardize
from normlib.practice import LABELS, STEPS, as_html, practice

__all__ = ["BatchSize", "Circle", "Explorer", "Jacobian", "normalize", "questions", "self_check", "sliders", "source"]

HERE = Path(__file__).parent
SYMBOLS = {**figures.SYMBOLS, "eps": "ε"}
COMMENT = re.compile(r"^(?:\s+|//.*\n|/\*\*.*\*/\n)+|(?<=[;,{]) // .*$", re.MULTILINE)  # and indentation
IMPORT = re.compile(r'^import .* from "\./(\w+)\.js";\n', re.MULTILINE)
STYLE = (HERE / "live.css").read_text(encoding="utf-8")
NORMS = {"LayerNorm": "layer", "RMSNorm": "rms", "BatchNorm": "batch"}

# Runs a module written for anywidget on a page without a kernel: it gives it the element's state as its model.
# The module stands in the page itself, so the page works from a folder, in an export and without a network.
LOADER = """
<script type="module">
const { default: widget } = await import("data:text/javascript," + encodeURIComponent(SOURCE));
for (const el of document.querySelectorAll(".NAME:not([data-live])")) {
  el.dataset.live = "";
  const state = JSON.parse(el.dataset.state);
  widget.render({ el, model: {
    get: (key) => state[key], set: (key, value) => { state[key] = value; }, save_changes() {}, on() {}, off() {},
  } });
}
</script>
"""


def normalize(
    x: Any, *, norm: str = "layer", gamma: float = 1.0, beta: float = 0.0, eps: float = 1e-5, batch: Any = ()
) -> np.ndarray:
    """Normalize one row with any of the three norms.

    Parameters
    ----------
    x : array_like, shape (H,)
        The row.
    norm : {"layer", "rms", "batch"}
        Which norm.
    gamma, beta : float
        Scale and shift of every feature; for RMSNorm, too, `beta` is added, so that the three can be compared.
    eps : float
        Added to the variance (or the mean square), inside the root.
    batch : array_like, shape (B − 1, H)
        The other rows of the batch; only BatchNorm looks at them.

    Returns
    -------
    numpy.ndarray, shape (H,)
        The normalized row.
    """
    x = np.asarray(x, dtype=float)
    scale, shift = np.full(x.size, float(gamma)), np.full(x.size, float(beta))
    if norm == "layer":
        return layer_norm(x, scale, shift, eps=eps)
    if norm == "rms":
        return rms_norm(x, scale, eps=eps) + shift
    return batch_norm(np.array([x, *batch]), scale, shift, eps=eps)[0]


def source(name: str) -> str:
    """Return one of the JavaScript modules beside this file as a single piece, without comments and indentation.

    A page without a server cannot import a file, so the modules that it imports stand above it instead.

    Parameters
    ----------
    name : str
        The module, such as "circle".

    Returns
    -------
    str
        Its text without imports.
    """
    names, texts = [name], []
    for each in names:  # grows on the way
        text = (HERE / f"{each}.js").read_text(encoding="utf-8")
        names += [found for found in IMPORT.findall(text) if found not in names]
        text = IMPORT.sub("", text)
        texts.insert(0, text if each == name else re.sub("^export ", "", text, flags=re.MULTILINE))
    return COMMENT.sub("", "".join(texts))


class Live(anywidget.AnyWidget):
    """A figure that moves: in JupyterLab a widget whose traits follow it, on the website the same module by itself."""

    _css = STYLE

    colors = traitlets.Dict(figures.COLORS).tag(sync=True)

    def _still(self) -> tuple[figures.Picture, str]:
        """Return what a page shows without JavaScript: a picture, and a sentence about it."""
        raise NotImplementedError

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        bundle, metadata = super()._repr_mimebundle_(**kwargs)
        own = sorted(set(self.trait_names(sync=True)) - set(anywidget.AnyWidget.class_trait_names()))
        state = {name: getattr(self, name) for name in own if not name.startswith("_")}
        picture, sentence = self._still()
        still = f"{picture._repr_html_()}<p>{sentence} With JavaScript, you can move everything in this figure.</p>"
        name = type(self).__name__.lower()
        return {**bundle, "text/html": f"<style>{STYLE}</style>{_live(name, self._esm, state, still)}"}, metadata


class Explorer(Live):
    """A row of bars to drag, and what LayerNorm, RMSNorm or BatchNorm makes of it.

    Parameters
    ----------
    x : list of float
        The row, 2 to 8 features.
    gamma, beta, eps : float
        Scale, shift, and what is added to the variance.
    norm : {"layer", "rms", "batch"}
        Which norm to start with.
    batch : list of list of float
        The other rows of the batch for BatchNorm, each as long as `x`.

    Raises
    ------
    traitlets.TraitError
        If `x` or `batch` has another shape, or `eps` is negative.
    """

    _esm = source("explorer")

    x = traitlets.List(traitlets.CFloat(), [2.0, 4.0, 6.0, 8.0], minlen=2, maxlen=8).tag(sync=True)
    gamma = traitlets.CFloat(1.0).tag(sync=True)
    beta = traitlets.CFloat(0.0).tag(sync=True)
    eps = traitlets.CFloat(1e-5, min=0.0).tag(sync=True)
    norm = traitlets.Enum(list(NORMS.values()), "layer").tag(sync=True)
    batch = traitlets.List(traitlets.List(traitlets.CFloat())).tag(sync=True)

    @traitlets.default("batch")
    def _batch(self) -> list[list[float]]:
        others = [[3, 1, 9, 5, 2, 6, 8, 4], [7, 5, 4, 1, 9, 3, 2, 6]]
        return [[float(v) for v in row[: len(self.x)]] for row in others]

    @traitlets.validate("x", "batch")
    def _check_shape(self, proposal: dict[str, Any]) -> Any:
        new = {"x": self.x, "batch": self.batch, proposal["trait"].name: proposal["value"]}
        if len({len(row) for row in [new["x"], *new["batch"]]}) > 1:
            raise traitlets.TraitError("x and each row of batch must have equally many numbers")
        return proposal["value"]

    @property
    def y(self) -> np.ndarray:
        """What the norm makes of the row, shape (H,)."""
        names = ("norm", "gamma", "beta", "eps", "batch")
        return normalize(self.x, **{name: getattr(self, name) for name in names})

    def _still(self) -> tuple[figures.Picture, str]:
        return figures.steps(self.x, self.gamma, self.beta, self.eps or 1e-12), "LayerNorm of this row."


class Circle(Live):
    """A row of three as a point in space: onto the plane Σ = 0, onto the circle of radius √3, and the gradient there.

    Parameters
    ----------
    x : list of float
        The row, 3 features.

    Raises
    ------
    traitlets.TraitError
        If `x` does not have three numbers.
    """

    _esm = source("circle")

    x = traitlets.List(traitlets.CFloat(), [4.0, 5.0, 0.0], minlen=3, maxlen=3).tag(sync=True)

    @property
    def x_hat(self) -> np.ndarray:
        """The standardized row at ε = 0, shape (3,)."""
        return standardize(self.x)

    def _still(self) -> tuple[figures.Picture, str]:
        drawn = np.isfinite(self.x_hat).all()  # a constant row has no place on the circle
        return figures.circle(self.x if drawn else (4, 5, 0)), "A row of three on its way to the circle."


class Jacobian(Live):
    """A row of bars to drag, and the Jacobian of its standardization as a heat map with the sums of its rows.

    Parameters
    ----------
    x : list of float
        The row, 2 to 6 features.

    Raises
    ------
    traitlets.TraitError
        If `x` has fewer than 2 or more than 6 numbers.
    """

    _esm = source("jacobian")

    x = traitlets.List(traitlets.CFloat(), [2.0, 4.0, 6.0, 8.0], minlen=2, maxlen=6).tag(sync=True)

    @property
    def jacobian(self) -> np.ndarray:
        """The derivatives ∂x̂ᵢ/∂xⱼ at ε = 0, shape (H, H)."""
        return standardize_jacobian(self.x)

    def _still(self) -> tuple[figures.Picture, str]:
        constant = not np.isfinite(self.jacobian).all()
        return figures.jacobian_heatmap(self.x, eps=1e-5 if constant else 0.0), "The Jacobian of this row."


class BatchSize(Live):
    """A batch of 1 to 8 examples, and what BatchNorm and LayerNorm make of the first in training and in inference.

    Parameters
    ----------
    x : list of list of float, shape (B, H)
        All examples, 2 to 8, with 2 to 6 features each.
    size : int
        How many of them, from the first on, are in the batch.
    mean, var : list of float, shape (H,)
        The running statistics for inference. Without them those of all examples, the variance with divisor B − 1.
    eps : float
        Added to the variance, inside the root.

    Raises
    ------
    traitlets.TraitError
        If the shapes do not fit, `size` is less than 1 or more than B, or `eps` is not above 0.
    """

    _esm = source("batch")

    x = traitlets.List(traitlets.List(traitlets.CFloat(), minlen=2, maxlen=6), minlen=2, maxlen=8).tag(sync=True)
    size = traitlets.CInt(4, min=1).tag(sync=True)
    mean = traitlets.List(traitlets.CFloat()).tag(sync=True)
    var = traitlets.List(traitlets.CFloat(min=0.0)).tag(sync=True)
    eps = traitlets.CFloat(1e-5, min=1e-12).tag(sync=True)

    @traitlets.default("x")
    def _x(self) -> list[list[float]]:
        first = [[2, 4, 6, 8], [1, 7, 4, 10], [5, 1, 7, 6], [3, 2, 9, 1]]
        rest = [[6, 3, 2, 7], [4, 8, 5, 3], [0, 5, 8, 9], [7, 6, 3, 4]]
        return [[float(v) for v in row] for row in first + rest]

    @traitlets.default("mean")
    def _mean(self) -> list[float]:
        return np.mean(self.x, axis=0).tolist()

    @traitlets.default("var")
    def _var(self) -> list[float]:
        return np.var(self.x, axis=0, ddof=1).tolist()

    @traitlets.validate("x", "mean", "var", "size")
    def _check_shape(self, proposal: dict[str, Any]) -> Any:
        name, value = proposal["trait"].name, proposal["value"]
        x = value if name == "x" else self.x
        rows = [*x, value] if name in {"mean", "var"} else x
        if len({len(row) for row in rows}) > 1:
            raise traitlets.TraitError("the rows of x, mean and var must have equally many numbers")
        if name == "size" and value > len(x):
            raise traitlets.TraitError(f"size must be from 1 to {len(x)}")
        return value

    @property
    def outputs(self) -> dict[str, np.ndarray]:
        """The first example as BatchNorm gives it in "training" and "inference", and as LayerNorm does ("layer")."""
        served, _ = batch_norm(self.x[:1], running=(self.mean, self.var), training=False, eps=self.eps)
        return {
            "training": batch_norm(self.x[: self.size], eps=self.eps)[0],
            "inference": served[0],
            "layer": layer_norm(self.x[0], eps=self.eps),
        }

    def _still(self) -> tuple[figures.Picture, str]:
        values = {name: f"({', '.join(map(figures.number, row))})" for name, row in self.outputs.items()}
        sentence = (
            f"With a batch of {self.size}, BatchNorm turns the first example into {values['training']} in training and "
            f"into {values['inference']} in inference; LayerNorm gives {values['layer']} in both."
        )
        return figures.grid(len(self.x), len(self.x[0])), sentence


def _live(name: str, module: str, state: dict[str, Any], still: str) -> str:
    """Put a module on a page: `still` is what it shows without JavaScript."""
    text = json.dumps(module, ensure_ascii=False).replace("</", "<\\/")
    data = html.escape(json.dumps(state, ensure_ascii=False))
    css_class = f"normlib-{name}"
    loader = LOADER.replace("NAME", css_class).replace("SOURCE", text)
    return f'<div class="{css_class}" data-state="{data}">{still}</div>{loader}'


def sliders(x: Any = (2, 4, 6, 8), *, norm: str = "layer") -> ipywidgets.VBox:
    """Make plain sliders for a row, γ, β and ε, with the normalized row below; for notebooks.

    Parameters
    ----------
    x : array_like, shape (H,)
        The row to start from.
    norm : {"layer", "rms", "batch"}
        The norm to start with. BatchNorm puts the row into the same small batch as :class:`Explorer`.

    Returns
    -------
    ipywidgets.VBox
        Its last child is the result, HTML that follows every slider.

    Raises
    ------
    traitlets.TraitError
        If `x` has fewer than 2 or more than 8 entries, or there is no such norm.
    """
    start = Explorer(x=[float(v) for v in x], norm=norm)
    far = 2 * max(map(abs, start.x)) or 10.0
    step = 10.0 ** (math.floor(math.log10(far)) - 2)  # a power of ten: the slider rounds the row to it
    row = [
        ipywidgets.FloatSlider(v, min=-far, max=far, step=step, description=f"x{j}")
        for j, v in enumerate(start.x, start=1)
    ]
    knobs = {
        "norm": ipywidgets.Dropdown(options=list(NORMS.items()), value=norm, description="norm"),
        "gamma": ipywidgets.FloatSlider(1.0, min=-4, max=4, step=0.05, description="γ"),
        "beta": ipywidgets.FloatSlider(0.0, min=-10, max=10, step=0.1, description="β"),
        "eps": ipywidgets.FloatLogSlider(1e-5, base=10, min=-12, max=0, description="ε", readout_format=".0e"),
    }
    result = ipywidgets.HTML()

    def show(_: Any = None) -> None:
        values = [slider.value for slider in row]
        y = normalize(values, batch=start.batch, **{name: knob.value for name, knob in knobs.items()})
        cells = "".join(f"<td style='padding:0 .8em'>{figures.number(v)}</td>" for v in y)
        facts = f"mean {figures.number(np.round(y.mean(), 12))}, standard deviation {figures.number(y.std())}"
        result.value = f"<table><tr><th>y</th>{cells}</tr></table><p>{facts}</p>"

    for control in (*row, *knobs.values()):
        control.observe(show, "value")
    show()
    return ipywidgets.VBox([*row, *knobs.values(), result])


PREPARED = 4  # sets of new numbers that a self-check brings along


class SelfCheck(anywidget.AnyWidget):
    """What :func:`self_check` returns: a form, on a page and in JupyterLab; in a terminal a hint.

    A page goes round the sets of numbers that were prepared, JupyterLab asks Python for as many as are wanted.
    """

    _esm = source("selfcheck")

    exercise = traitlets.Unicode().tag(sync=True)
    questions = traitlets.List().tag(sync=True)
    elsewhere = traitlets.List(traitlets.Unicode()).tag(sync=True)  # what only `check` looks at
    sentences = traitlets.Dict().tag(sync=True)
    steps = traitlets.Dict().tag(sync=True)
    more = traitlets.List().tag(sync=True)
    live = traitlets.Bool(True).tag(sync=True)
    wanted = traitlets.Int().tag(sync=True)
    latest = traitlets.Dict().tag(sync=True)

    def __init__(self, exercise: str) -> None:
        asked = questions(exercise)
        names = [question["name"] for question in asked]
        self._sets = _sets(exercise)
        super().__init__(
            exercise=exercise,
            questions=asked,
            elsewhere=[q.name for q in checking.find(exercise).quantities if q.name not in names],
            sentences={name: message(name) for question in asked for name, _ in question["wrongs"]},
            steps={name: as_html(words) for name, words in STEPS[exercise].items()},
            more=list(itertools.islice(self._sets, PREPARED)),
        )

    @traitlets.observe("wanted")
    def _make(self, _: Any) -> None:
        self.latest = next(self._sets)

    def __repr__(self) -> str:
        return f'check("{self.exercise}", {", ".join(q["name"] + "=…" for q in self.questions)})'

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        bundle, metadata = super()._repr_mimebundle_(**kwargs)
        state = {
            name: getattr(self, name) for name in ("exercise", "questions", "elsewhere", "sentences", "steps", "more")
        }
        still = f"<p>With JavaScript, you can check your answers here; in a notebook with <code>{self!r}</code>.</p>"
        return {**bundle, "text/html": _live("selfcheck", self._esm, state, still)}, metadata


def self_check(exercise: str) -> SelfCheck:
    """Show a form that checks the answers to an exercise, and asks the same of other numbers.

    Parameters
    ----------
    exercise : str
        "1.1" to "5.3".

    Returns
    -------
    SelfCheck
        Displays as a form with a field for each number, list of numbers or choice that the exercise asks for.

    Raises
    ------
    ValueError
        If there is no such exercise.
    """
    return SelfCheck(exercise)


def _sets(exercise: str) -> Iterator[dict[str, Any]]:
    """Give the exercise with other numbers, again and again, as plain data; some have few that are different."""
    asked: list[str] = []
    for seed in itertools.count(1):
        one = practice(exercise, seed)
        if one.question not in asked[-PREPARED:]:
            asked.append(one.question)
            yield {
                "statement": as_html(one.question),
                "questions": questions(exercise, one.given),
                "answers": {name: as_html(f"${value}$") for name, value in one.answers.items()},
            }


def questions(exercise: str, given: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    """Give what can be checked without Python, as plain data: questions, right values, known wrong ones.

    Functions to be written, expressions and questions with many right answers are left to :func:`normlib.check`.

    Parameters
    ----------
    exercise : str
        "1.1" to "5.3".
    given : dict, optional
        Other numbers for the same question; only what depends on them is asked then.

    Returns
    -------
    list of dict
        For each question `name`, `says`, `kind` ("numbers" or "names"), `decimals`, `rights` (a list of right answers),
        `wrongs` (a list of pairs: a misconception's name, an answer), and for a choice its `names`, each with what the
        page calls it. Numbers have twelve significant digits.
    """
    found = []
    for quantity in checking.find(exercise).quantities:
        if given is None:
            question = _question(quantity, checking.instance(exercise))
        else:
            question = _question(quantity, given) if quantity.name in STEPS[exercise] else None
            label = LABELS.get((exercise, quantity.name))
            if question and label:
                question["says"] = label
        found += [question] if question else []
    return found


def _question(quantity: checking.Quantity, given: dict[str, Any]) -> dict[str, Any] | None:
    if quantity.calls or quantity.holds:
        return None
    right = checking.evaluate(quantity.right, given)
    names = isinstance(right, frozenset)
    if not names and np.asarray(right).dtype.kind not in "iuf":
        return None
    values = [right, *(checking.evaluate(path, given) for path in quantity.also)]
    wrongs = [(name, checking.evaluate(path, given)) for name, path in quantity.wrong_paths()]
    says = quantity.says.split(", a set")[0]  # the rest says how to write it in Python
    question = {"name": quantity.name, "says": says, "decimals": quantity.decimals}
    if names:
        choices = set(re.findall(r'"([\w ]+)"', quantity.says)).union(right, *(value for _, value in wrongs))
        return question | {
            "kind": "names",
            "names": {name: SYMBOLS.get(name, name) for name in sorted(choices)},
            "rights": [sorted(value) for value in values],
            "wrongs": [(name, sorted(value)) for name, value in wrongs],
        }
    rights = [numbers for value in values for numbers in _orders(quantity, value)]
    wrongs = [(numbers, name) for name, value in wrongs for numbers in _orders(quantity, value)]
    # A page takes numbers only: what differs from the right answer by its shape alone is no mistake there.
    said = [(name, numbers) for numbers, name in wrongs if numbers not in rights]
    return question | {"kind": "numbers", "rights": rights, "wrongs": said}


def _orders(quantity: checking.Quantity, value: Any) -> list[list[float | str]]:
    """Flatten an answer; where the order of its rows does not count, give it backwards too."""
    array = np.asarray(value, dtype=float)
    orders = [array]
    if array.ndim == 2 and np.array_equal(quantity.clean(array), quantity.clean(array[::-1])):
        orders.append(array[::-1])
    special = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}  # JSON has none; JavaScript reads the words
    return [[special.get(text) or float(text) for text in map("{:.12g}".format, order.ravel())] for order in orders]
