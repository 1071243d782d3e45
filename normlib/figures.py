"""Figures of the book, drawn from numbers and shown as inline SVG that follows the page's theme.

Every function returns a :class:`Picture`. Text and thin lines take the colour of the page's text (``currentColor``)
and the background is transparent. Each quantity has one accent (``COLORS``), and a label or a line style beside it.
"""

from __future__ import annotations

import html
import io
import re
from collections.abc import Iterable

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Ellipse, FancyArrowPatch, FancyBboxPatch, Polygon
from numpy.typing import ArrayLike, NDArray

from normlib.gradients import standardize_jacobian
from normlib.norms import rms_norm, standardize

Array = NDArray[np.float64]

__all__ = [
    "COLORS",
    "SYMBOLS",
    "Picture",
    "affine",
    "bound",
    "circle",
    "compare",
    "grid",
    "jacobian_heatmap",
    "number",
    "steps",
]

COLORS: dict[str, str] = {
    "x": "#0072B2",
    "mu": "#009E73",
    "sigma": "#C850FF",
    "x_hat": "#D55E00",
    "y": "#8C00FF",
    "gamma": "#E60050",
    "beta": "#8C8CAA",
}
"""One accent a quantity: contrast at least 3:1 on white and on #121212, every pair distinct to colour-blind readers."""

SYMBOLS: dict[str, str] = {"x": "x", "mu": "μ", "sigma": "σ", "x_hat": "x̂", "y": "y", "gamma": "γ", "beta": "β"}
"""The sign that names each quantity in text and figures."""

_INK = "#010203"  # stands for currentColor until the SVG is written
_MAX_COLUMNS = 12  # more bars than this leave no room for their values
_OUTLINE = {"facecolor": "none", "edgecolor": COLORS["x_hat"], "lw": 2}
_MUTED = 0.8  # opacity of secondary text
_FAINT = 0.25  # opacity of rules and empty cells
_HEAT = 0.55  # opacity of the strongest heat-map cell: text on it stays readable on both themes


class Picture:
    """A figure with its text alternative, displayed as inline SVG in notebooks and on the site.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        What to show. It is drawn once, here; use the colour ``"#010203"`` for the reader's text colour.
    alt : str
        What the figure shows, in words and with its numbers, for readers who do not see it.

    Raises
    ------
    ValueError
        If `alt` is empty.
    """

    def __init__(self, figure: Figure, alt: str) -> None:
        if not alt.strip():
            raise ValueError("alt is empty: say in words what the figure shows")
        self.alt = " ".join(alt.split())
        self.svg = _inline_svg(figure, self.alt)

    def _repr_html_(self) -> str:
        return f'<figure class="normlib-figure" style="margin:1rem 0;text-align:center">{self.svg}</figure>'

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"text/html": self._repr_html_(), "text/plain": self.alt}


def _inline_svg(figure: Figure, alt: str) -> str:
    """Draw `figure` as an SVG element that can stand in any page: no style sheet, no fixed size, no clashing ids."""
    buffer = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": alt}):
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(buffer, format="svg", transparent=True, metadata=nothing)
    body = buffer.getvalue()
    width, height = (72 * side for side in figure.get_size_inches())
    body = body[body.index(">", body.index("<svg")) + 1 : body.rindex("</svg>")]
    body = re.sub(r"<style.*?</style>", "", body, flags=re.DOTALL)  # its selector is *: it would restyle the whole page
    used = set(re.findall(r"#([\w-]+)[\")]", body))
    body = re.sub(r' id="([^"]*)"', lambda m: m[0] if m[1] in used else "", body)
    body = re.sub(r"<defs>\s*</defs>", "", body)
    body = re.sub(r"font-family: [^;\"]*;?", "", body)  # the page's own font
    body = body.replace(' transform="rotate(-0 ', ' data-r="').replace(_INK, "currentColor")
    body = re.sub(r' data-r="[^"]*"', "", body)
    body = re.sub(r"\s*\n\s*", " ", body).strip()
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" role="img" '
        f'aria-label="{html.escape(alt)}" viewBox="0 0 {width:g} {height:g}" font-family="inherit" '
        f'style="width:100%;max-width:{1.35 * width:.0f}px;height:auto;overflow:visible">{body}</svg>'
    )


def number(value: float) -> str:
    """Write `value` as the book does: four decimals (four digits below 0.1), no trailing zeros, a real minus sign."""
    value = float(value)
    value = 0.0 if abs(value) < 1e-12 else value  # what rounding leaves of an exact 0
    if not np.isfinite(value):
        return "NaN" if np.isnan(value) else "∞".rjust(1 + (value < 0), "−")
    text = f"{value:.4f}" if 0.1 <= abs(value) < 1e6 else f"{value:.4g}"
    text = text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text
    return text.replace("-", "−")


def _tuple(values: Iterable[float]) -> str:
    return "(" + ", ".join(number(v) for v in values) + ")"


def _value(value: ArrayLike) -> str:
    array = np.asarray(value, dtype=float)
    return number(float(array)) if array.ndim == 0 else _tuple(array)


def _row(x: ArrayLike) -> Array:
    row = np.asarray(x, dtype=float)
    if row.ndim != 1 or not 2 <= row.size <= _MAX_COLUMNS or not np.isfinite(row).all():
        raise ValueError(f"x must be one row of 2 to {_MAX_COLUMNS} finite numbers, got shape {row.shape}")
    return row


def _standardized(x: ArrayLike, eps: float = 0.0) -> tuple[Array, float, float, Array]:
    """Check `x` and return the row, its mean, the divisor √(σ² + ε) and x̂."""
    row, standard = _row(x), standardize(x, eps=eps)
    if not np.isfinite(standard).all():
        raise ValueError("the row is constant, so eps must be greater than 0")
    return row, float(row.mean()), float(np.sqrt(row.var() + eps)), standard


def _sub(index: int) -> str:
    return str(index).translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))


# Drawing is in pixels from the top left, as in SVG. Nothing is clipped and there are no markers: both would need ids.


def _canvas(width: float, height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(width / 72, height / 72))
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set(xlim=(0, width), ylim=(height, 0))
    ax.axis("off")
    return figure, ax


def _text(ax: Axes, x: float, y: float, text: str, *, size: float = 12, ha: str = "center", **style: object) -> None:
    ax.text(x, y, text, **{"fontsize": size, "ha": ha, "va": "center_baseline", "color": _INK} | style)


def _note(ax: Axes, x: float, y: float, text: str, *, size: float = 11, **style: object) -> None:
    _text(ax, x, y, text, size=size, alpha=_MUTED, **style)


def _line(ax: Axes, xs: Iterable[float], ys: Iterable[float], **style: object) -> None:
    ax.plot(list(xs), list(ys), **{"color": _INK, "lw": 1, "clip_on": False, "solid_capstyle": "round"} | style)


def _rule(ax: Axes, x0: float, x1: float, y: float) -> None:
    _line(ax, (x0, x1), (y, y), alpha=2 * _FAINT, lw=0.8)


def _arrow(ax: Axes, start: Iterable[float], end: Iterable[float], color: str = _INK, **style: object) -> None:
    given = {"arrowstyle": "-|>", "mutation_scale": 11, "shrinkA": 0, "shrinkB": 0, "lw": 1.6, "clip_on": False} | style
    ax.add_patch(FancyArrowPatch(tuple(start), tuple(end), color=color, **given))


def _box(ax: Axes, x: float, y: float, width: float, height: float, **style: object) -> None:
    """Rectangle with slightly rounded corners; a negative height grows upwards."""
    y, height = (y + height, -height) if height < 0 else (y, height)
    if height > 0:
        shape = f"round,pad=0,rounding_size={min(2.5, width / 2, height / 2):g}"
        ax.add_patch(FancyBboxPatch((x, y), width, height, boxstyle=shape, **{"lw": 0, "clip_on": False} | style))


def _dot(ax: Axes, centre: Iterable[float], color: str, radius: float = 4.5, **style: object) -> None:
    given = {"facecolor": color, "edgecolor": "none", "clip_on": False, "zorder": 4} | style
    ax.add_patch(Circle(tuple(centre), radius, **given))


def _bars(ax: Axes, values: Array, centres: Array, *, zero: float, unit: float, width: float, **style: object) -> None:
    """Bars from the zero line with each value written past its end."""
    for value, centre in zip(values, centres, strict=True):
        _box(ax, centre - width / 2, zero, width, -unit * value, **style)
        _text(ax, centre, zero - unit * value + (-9 if value >= 0 else 9), number(value), size=11)


def grid(B: int = 4, H: int = 6) -> Picture:
    """Draw the B×H activations with the axis of LayerNorm (along a row) and of BatchNorm (down a column).

    Parameters
    ----------
    B, H : int
        Examples and features, each from 2 to 12.

    Raises
    ------
    ValueError
        If B or H is outside 2…12.
    """
    if not (2 <= B <= _MAX_COLUMNS and 2 <= H <= _MAX_COLUMNS):
        raise ValueError(f"B and H must be from 2 to {_MAX_COLUMNS}, got B={B} and H={H}")
    cell, left, top = 34.0, 96.0, 44.0
    row, column, red = 1, H - 2, COLORS["x_hat"]
    right, bottom = left + H * cell, top + B * cell
    figure, ax = _canvas(right + 116, bottom + 50)
    for i in range(B):
        _note(ax, left - 8, top + (i + 0.5) * cell, f"example {i + 1}", ha="right")
        for j in range(H):
            spot = (left + j * cell + 1.5, top + i * cell + 1.5, cell - 3, cell - 3)
            _box(ax, *spot, color=_INK, alpha=0.22 if j == column else 0.08)
            if i == row:
                _box(ax, *spot, color=red, alpha=0.35)
    for j in range(H):
        _note(ax, left + (j + 0.5) * cell, top - 10, f"x{_sub(j + 1)}")
    _text(ax, left + H * cell / 2, 13, f"H = {H} features")
    _text(ax, 10, top + B * cell / 2, f"B = {B} examples", rotation=90, va="center")
    y = top + (row + 0.5) * cell
    _arrow(ax, (left + 8, y), (right + 12, y), red, lw=3, mutation_scale=17)
    _text(ax, right + 17, y - 7, "LayerNorm", size=13, ha="left", weight="bold")
    _text(ax, right + 17, y + 8, "along one row", size=11, ha="left")
    x = left + (column + 0.5) * cell
    _arrow(ax, (x, top + 8), (x, bottom + 12), lw=2.2, mutation_scale=15, linestyle=(0, (4, 2.5)))
    _text(ax, x, bottom + 23, "BatchNorm", size=13, weight="bold")
    _text(ax, x, bottom + 38, "down one column", size=11)
    alt = (
        f"A grid of activations with {B} rows, one for each example, and {H} columns, one for each feature. "
        f"A solid red arrow runs along row {row + 1}: LayerNorm averages over the {H} features of one example. "
        f"A dashed arrow runs down column {column + 1}: BatchNorm averages over the {B} examples of one feature."
    )
    return Picture(figure, alt)


def steps(x: ArrayLike, gamma: ArrayLike = 1.0, beta: ArrayLike = 0.0, eps: float = 0.0) -> Picture:
    """Draw the four stages x, x − μ, x̂ and y of one row as bars, each feature in its own column.

    Parameters
    ----------
    x : array_like, shape (H,)
        The row, 2 to 12 features.
    gamma, beta : array_like, scalar or shape (H,)
        Scale and shift of the last stage.
    eps : float
        Added to the variance, inside the root. A constant row needs ``eps > 0``.

    Raises
    ------
    ValueError
        If `x` is not a short row of finite numbers, or is constant while `eps` is 0.
    """
    row, mean, spread, standard = _standardized(x, eps)
    y = np.asarray(gamma, dtype=float) * standard + np.asarray(beta, dtype=float)
    root = "√(σ² + ε)" if eps else "σ"
    one_pair = np.ndim(gamma) == np.ndim(beta) == 0
    pair = f"γ = {_value(gamma)}, β = {_value(beta)}" if one_pair else "one pair per feature"
    stages = [
        ("x", "x", row, "the row", f"mean μ = {number(mean)}"),
        ("x − μ", "mu", row - mean, "", "mean 0"),
        ("x̂", "x_hat", standard, f"(x − μ) / {root}", f"{root} = {number(spread)}"),
        ("y", "y", y, "γ x̂ + β", pair),
    ]
    reach = [(max(v.max(), 0.0), max(-v.min(), 0.0)) for _, _, v, *_ in stages]
    spans = [up + down for up, down in reach]
    shared = max(spans) <= 20 * min((s for s in spans if s > 0), default=1.0)  # else the smallest bars would vanish
    left, column, tallest, pad = 132.0, 54.0, 80.0, 20.0
    units = [tallest / ((max(spans) if shared else span) or 1.0) for span in spans]
    heights = [max(unit * span, 12.0) + 2 * pad for unit, span in zip(units, spans, strict=True)]
    width = left + column * row.size + 6
    figure, ax = _canvas(width, sum(heights) + (24 if shared else 40))
    centres = left + column * (np.arange(row.size) + 0.5)
    for i, centre in enumerate(centres):
        _note(ax, centre, 10, f"feature {i + 1}", size=10)
    top = 18.0
    for (name, key, values, formula, fact), unit, height, (up, _) in zip(stages, units, heights, reach, strict=True):
        zero, middle = top + pad + unit * up, top + height / 2
        _text(ax, 6, middle - (14 if formula else 7), name, size=15, ha="left", weight="bold")
        _text(ax, 6, middle + 4, formula, size=11, ha="left")
        _text(ax, 6, middle + (19 if formula else 11), fact, size=11, ha="left")
        _rule(ax, left, width - 6, zero)
        _bars(ax, values, centres, zero=zero, unit=unit, width=26, color=COLORS[key])
        if key == "x":
            _mean_line(ax, values, centres, level=zero - unit * mean, unit=unit)
        top += height
    if not shared:
        _note(ax, width - 6, top + 8, "each stage has its own scale", size=10, ha="right")
    alt = (
        f"Four rows of bars, one column for each of {row.size} features. x is {_tuple(row)} with mean {number(mean)}. "
        f"x minus the mean is {_tuple(row - mean)}. Divided by {number(spread)} it is x̂ = {_tuple(standard)}. "
        f"With gamma {_value(gamma)} and beta {_value(beta)}, y is {_tuple(y)}."
    )
    return Picture(figure, alt)


def _mean_line(ax: Axes, values: Array, centres: Array, *, level: float, unit: float) -> None:
    """Dashed line at the mean, left out where it would cross a written value."""
    mean, column = values.mean(), centres[1] - centres[0]
    for value, centre in zip(values, centres, strict=True):
        end = level + (mean - value) * unit
        gap = 5 + 3.2 * len(number(value)) if -16 < level - end < 0 else 0
        for x0, x1 in ((centre - column / 2, centre - gap), (centre + gap, centre + column / 2)):
            _line(ax, (x0, x1), (level, level), color=COLORS["mu"], lw=1.8, ls=(0, (4, 2.5)), dash_capstyle="butt")
    _text(ax, centres[0] - column / 2 - 6, level, "μ", ha="right")


def circle(x: ArrayLike = (4, 5, 0)) -> Picture:
    """Draw standardization of a row of three: onto the plane Σ = 0, then along a ray onto the circle of radius √3.

    Parameters
    ----------
    x : array_like, shape (3,)
        The row, not constant.

    Raises
    ------
    ValueError
        If `x` is not three finite numbers, or is constant.
    """
    row, mean, _, standard = _standardized(x)
    if row.size != 3:
        raise ValueError(f"x must have three features to be drawn on a circle, got {row.size}")
    # Coordinates in the plane: the first axis of x points up, the other two down to the right and to the left.
    basis = np.array([[0, 1, -1] / np.sqrt(2), [2, -1, -1] / np.sqrt(6)])
    figure, ax = _canvas(470, 266)
    _space(ax, basis @ row, mean * np.sqrt(3))
    _plane(ax, basis, basis @ row, basis @ standard)
    alt = (
        f"Two panels for the row x = {_tuple(row)}. Left, in space: x moves along the direction (1, 1, 1) onto the "
        f"plane where the coordinates sum to 0, which gives x minus the mean = {_tuple(row - mean)}. Right, that "
        f"plane face-on: the point slides along its ray onto the circle of radius √3 ≈ 1.7321, at x̂ = "
        f"{_tuple(standard)}. "
        "Three rings on the circle mark where one coordinate reaches its largest value, √2 ≈ 1.4142. A shift moves x "
        "towards the viewer and a scaling moves it along the ray: neither moves x̂."
    )
    return Picture(figure, alt)


def _space(ax: Axes, flat: Array, rise: float) -> None:
    """Left panel of `circle`: the plane from the side, the direction **1** upwards, x at the height `rise` above it."""
    origin, size, tilt = np.array([104.0, 168.0]), 92.0, 0.36
    unit = 0.84 * size / max(np.hypot(*flat), 1.3 * np.sqrt(3))
    foot = origin + unit * flat * [1, -tilt]
    lift = float(np.clip(unit * rise, -50, 90))  # a far-away x is drawn at the edge of the panel
    head = foot - [0, lift]
    for radius, style in ((size, {"facecolor": _INK, "alpha": 0.08}), (unit * np.sqrt(3), _OUTLINE)):
        ax.add_patch(Ellipse(origin, 2 * radius, 2 * radius * tilt, clip_on=False, **style))
    _arrow(ax, origin, origin - [0, 128], alpha=_MUTED, lw=1.2, mutation_scale=9)
    _text(ax, origin[0] - 8, origin[1] - 122, "1 = (1, 1, 1)", size=11, ha="right")
    _dot(ax, origin, _INK, 2)
    _dot(ax, foot, COLORS["mu"])
    _text(ax, foot[0], foot[1] + 16, "x − μ", weight="bold")
    if abs(lift) > 12:
        _arrow(ax, head, foot - [0, 5 * np.sign(lift)], COLORS["mu"], ls=(0, (4, 2.5)), mutation_scale=10)
    _dot(ax, head, COLORS["x"])
    _text(ax, head[0] + 9, head[1], "x", size=13, ha="left", weight="bold")
    _text(ax, origin[0], 12, "in space", weight="bold")
    _text(ax, origin[0] - 44 * (1 if flat[0] >= 0 else -1), origin[1] + 46, "the plane Σ = 0", size=11)
    _note(ax, origin[0], 254, "a shift moves x along 1")


def _plane(ax: Axes, basis: Array, flat: Array, on_circle: Array) -> None:
    """Right panel of `circle`: the plane face-on, with the ray, the circle and the three points of the bound."""
    origin = np.array([340.0, 140.0])
    length, limit = np.hypot(*flat), np.sqrt(3)
    unit = 112.0 / max(length, 1.5 * limit)
    flip = [unit, -unit]
    for i, axis in enumerate(basis.T / np.sqrt(2 / 3)):
        _line(ax, *zip(origin, origin + flip * axis * (limit + 12 / unit), strict=True), alpha=2 * _FAINT, lw=0.9)
        _dot(ax, origin + flip * axis * limit, "none", 5, edgecolor=_INK, lw=1.3)
        _text(ax, *(origin + flip * axis * (limit + 26 / unit)), f"x̂{_sub(i + 1)} = √2", size=11)
    ax.add_patch(Circle(origin, unit * limit, clip_on=False, **_OUTLINE))
    _dot(ax, origin, _INK, 2)
    ray = flat / length
    far, near = origin + flip * flat, origin + flip * on_circle
    inner, outer = min(length, limit), max(length, limit)
    for start, end in ((0, inner), (outer, outer + 18 / unit)):
        _line(ax, *zip(origin + flip * ray * start, origin + flip * ray * end, strict=True), ls=(0, (1.5, 2.5)), lw=1.3)
    if unit * (outer - inner) > 14:
        _arrow(ax, far, near + 7 * np.sign(length - limit) * ray * [1, -1], COLORS["sigma"], lw=2)
    _dot(ax, far, COLORS["mu"])
    _dot(ax, near, COLORS["x_hat"], 5.5)
    side = np.array([ray[1], ray[0]])  # a quarter turn from the ray, in pixels
    side = side if side[1] > 0 else -side
    _text(ax, *(far + side * (16 if abs(side[1]) > 0.5 else 24)), "x − μ", size=13, weight="bold")
    _text(ax, *(near - side * 14 - ray * [10, -10]), "x̂", size=13, weight="bold")
    _text(ax, origin[0], 12, "the plane, face-on", weight="bold")
    _note(ax, origin[0], 254, "a scaling moves x − μ along its ray")


def jacobian_heatmap(x: ArrayLike, eps: float = 0.0) -> Picture:
    """Draw the Jacobian ∂x̂ᵢ/∂xⱼ of one row with its values written in the cells.

    Parameters
    ----------
    x : array_like, shape (H,)
        The row, 2 to 12 features.
    eps : float
        Added to the variance, inside the root. A constant row needs ``eps > 0``.

    Raises
    ------
    ValueError
        If `x` is not a short row of finite numbers, or is constant while `eps` is 0.
    """
    row, *_ = _standardized(x, eps)
    H = row.size
    jacobian = standardize_jacobian(row, eps=eps)
    cell, high, left, top = 62.0, 42.0, 44.0, 40.0
    figure, ax = _canvas(left + H * cell + 6, top + H * high + 30)
    _text(ax, left + H * cell / 2, 10, "change this input …", size=11)
    largest = np.abs(jacobian).max()
    decimals = max(0, 3 - int(np.floor(np.log10(largest))))  # four digits of the largest entry
    for i in range(H):
        _text(ax, left - 8, top + (i + 0.5) * high, f"x̂{_sub(i + 1)}", size=13, ha="right", weight="bold")
        _text(ax, left + (i + 0.5) * cell, top - 11, f"x{_sub(i + 1)}", size=13, weight="bold")
        for j, value in enumerate(jacobian[i]):
            strength = _HEAT * abs(value) / largest
            spot = (left + j * cell + 1.5, top + i * high + 1.5, cell - 3, high - 3)
            _box(ax, *spot, color=COLORS["x_hat" if value > 0 else "x"], alpha=strength)
            _text(ax, left + (j + 0.5) * cell, top + (i + 0.5) * high, f"{value:.{decimals}f}".replace("-", "−"))
    _text(ax, left + H * cell / 2, top + H * high + 15, "… and read how each output moves", size=11)
    lines = "; ".join(f"row {i + 1}: {_tuple(line)}" for i, line in enumerate(jacobian))
    alt = (
        f"Heat map of the {H} by {H} Jacobian of x̂ with respect to x at x = {_tuple(row)}. {lines}. "
        "Every row and every column sums to 0."
    )
    return Picture(figure, alt)


def compare(x: ArrayLike, eps: float = 0.0) -> Picture:
    """Draw LayerNorm (solid bars) and RMSNorm (outlined bars) of one row side by side.

    Parameters
    ----------
    x : array_like, shape (H,)
        The row, 2 to 12 features.
    eps : float
        Added inside both roots. A constant row needs ``eps > 0``.

    Raises
    ------
    ValueError
        If `x` is not a short row of finite numbers, or is constant while `eps` is 0.
    """
    row, _, _, layer = _standardized(x, eps)
    rms, size = rms_norm(row, eps=eps), np.sqrt(np.mean(row**2) + eps)
    highest, lowest = max(layer.max(), rms.max(), 0.0), min(layer.min(), rms.min(), 0.0)
    tall, column, left = 150.0, 110.0, 8.0
    unit = tall / (highest - lowest)
    width = left + column * row.size
    figure, ax = _canvas(width + 8, tall + 86)
    zero = 48 + unit * highest
    centres = left + column * (np.arange(row.size) + 0.5)
    solid = {"facecolor": COLORS["x_hat"]}
    _box(ax, left + 4, 6, 13, 12, **solid)
    _text(ax, left + 23, 12, "LayerNorm, mean 0", size=11.5, ha="left")
    _box(ax, left + 164, 6, 13, 12, **_OUTLINE)
    _text(ax, left + 183, 12, f"RMSNorm, mean {number(rms.mean())}", size=11.5, ha="left")
    _rule(ax, left, width, zero)
    _bars(ax, layer, centres - 25, zero=zero, unit=unit, width=30, **solid)
    _bars(ax, rms, centres + 25, zero=zero, unit=unit, width=30, **_OUTLINE)
    for i, centre in enumerate(centres):
        _text(ax, centre, tall + 76, f"x{_sub(i + 1)} = {number(row[i])}", size=11.5)
    alt = (
        f"Paired bars for the row {_tuple(row)}. LayerNorm gives {_tuple(layer)}, with mean 0. RMSNorm gives "
        f"{_tuple(rms)}, with mean {number(rms.mean())}: it divides by {number(size)} and subtracts nothing."
    )
    return Picture(figure, alt)


def bound(H_max: int = 16, x: ArrayLike = (2, 4, 6, 8)) -> Picture:
    """Draw the largest value √(H − 1) that a standardized feature can take, against H, with the row `x` marked.

    Parameters
    ----------
    H_max : int
        Last H on the axis, from 4 to 64.
    x : array_like, shape (H,)
        The row whose largest abs(x̂) is marked, not constant and not longer than `H_max`.

    Raises
    ------
    ValueError
        If `H_max` or `x` is out of range.
    """
    row, _, _, standard = _standardized(x)
    if not max(4, row.size) <= H_max <= 64:
        raise ValueError(f"H_max must be from {max(4, row.size)} to 64, got {H_max}")
    reached, limit = np.abs(standard).max(), np.sqrt(row.size - 1)
    left, bottom, width, height = 30.0, 196.0, 370.0, 172.0
    figure, ax = _canvas(left + width + 12, bottom + 40)

    def place(H: Array | float, value: Array | float) -> tuple[Array | float, Array | float]:
        return left + width * (H - 1) / (H_max - 1), bottom - height * value / np.sqrt(H_max - 1)

    for tick in range(int(np.sqrt(H_max - 1)) + 1):
        _, y = place(1, tick)
        _line(ax, (left, left + width), (y, y), alpha=_FAINT if tick else 2 * _FAINT, lw=0.8)
        _note(ax, left - 8, y, str(tick), ha="right")
    step = max(2, H_max // 16 * 2)
    for H in range(step, H_max + 1, step):
        _note(ax, place(H, 0)[0], bottom + 13, str(H))
    _text(ax, left + width / 2, bottom + 31, "number of features, H", size=11.5)
    curve = np.linspace(1, H_max, 120)
    _line(ax, *place(curve, np.sqrt(curve - 1)), color=COLORS["x_hat"], lw=2.2)
    for H in range(2, H_max + 1) if H_max <= 24 else ():
        _dot(ax, place(H, np.sqrt(H - 1)), COLORS["x_hat"], 3.2)
    x_label, y_label = place(0.55 * H_max, np.sqrt(0.55 * H_max - 1))
    _text(ax, x_label - 6, y_label - 18, "the ceiling √(H − 1)", size=13, ha="right", weight="bold")
    spot = place(row.size, reached)
    _line(ax, *zip(place(row.size, 0), place(row.size, limit), strict=True), ls=(0, (2, 2)), lw=1.2)
    _dot(ax, spot, COLORS["x"], 5.5)
    _text(ax, spot[0] + 11, spot[1] + 4, f"{_tuple(row)} reaches {number(reached)}", size=11.5, ha="left")
    _note(ax, spot[0] + 11, spot[1] + 19, f"of at most {number(limit)}", ha="left")
    alt = (
        f"The curve √(H − 1) for H up to {H_max}, where it is {number(np.sqrt(H_max - 1))}. At H = {row.size} it is "
        f"{number(limit)}; the row {_tuple(row)} is marked below it, at {number(reached)}."
    )
    return Picture(figure, alt)


def affine(x: ArrayLike = (2, 4, 6, 8), gamma: float = 4.0, beta: float = 10.0) -> Picture:
    """Draw x̂ and y = γ x̂ + β of one row on a shared number line, with the mean and standard deviation of each.

    Parameters
    ----------
    x : array_like, shape (H,)
        The row, 2 to 12 features, not constant.
    gamma, beta : float
        Scale and shift.

    Raises
    ------
    ValueError
        If `x` is not a short row of finite numbers, or is constant.
    """
    row, _, _, standard = _standardized(x)
    y = gamma * standard + beta
    low, high = min(standard.min(), y.min()), max(standard.max(), y.max())
    left, width = 34.0, 380.0
    figure, ax = _canvas(left + width + 14, 168)

    def place(value: float) -> float:
        return left + width * (value - low) / (high - low)

    for name, key, values, level in (("x̂", "x_hat", standard, 40.0), ("y", "y", y, 122.0)):
        mean, spread = values.mean(), values.std()
        _text(ax, 4, level, name, size=15, ha="left", weight="bold")
        _rule(ax, left, left + width, level)
        ends, under = (place(mean - spread), place(mean + spread)), level + 18
        _line(ax, ends, (under, under), color=COLORS["sigma"], lw=2.4, solid_capstyle="butt")
        for end in ends:
            _line(ax, (end, end), (under - 4, under + 4), color=COLORS["sigma"], lw=2)
        tip = place(mean)
        points = [(tip, level + 4), (tip - 6, level + 14), (tip + 6, level + 14)]
        ax.add_patch(Polygon(points, facecolor=COLORS["mu"], lw=0, clip_on=False, zorder=5))
        for value in values:
            _dot(ax, (place(value), level), COLORS[key], 5)
        side, x_text = (
            ("left", max(tip - 52, left)) if tip < left + width / 2 else ("right", min(tip + 52, left + width))
        )
        _text(ax, x_text, level - 18, f"mean {number(mean)}, std {number(spread)}", ha=side)
    alt = (
        f"Two sets of dots on one number line for the row {_tuple(row)}. x̂ is {_tuple(standard)}, with mean 0 and "
        f"standard deviation 1. With gamma {number(gamma)} and beta {number(beta)}, y is {_tuple(y)}, with mean "
        f"{number(y.mean())} and standard deviation {number(y.std())}."
    )
    return Picture(figure, alt)
