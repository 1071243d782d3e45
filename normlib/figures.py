"""Figures of the book, drawn from numbers and shown as inline SVG that follows the page's theme.

Every function returns a :class:`Picture`. Text and thin lines take the colour of the surrounding text (``currentColor``),
the background is transparent, and each quantity has one accent (``COLORS``) that a label or a line style tells apart too.
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
_MUTED = 0.72  # opacity of secondary text
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
    if not np.isfinite(value):
        return "NaN" if np.isnan(value) else "∞".rjust(1 + (value < 0), "−")
    text = f"{value:.4f}" if 0.1 <= abs(value) < 1e6 else f"{value:.4g}"
    text = text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text
    return text.replace("-", "−")


def _tuple(values: Iterable[float]) -> str:
    return "(" + ", ".join(number(v) for v in values) + ")"


def _row(x: ArrayLike) -> NDArray[np.float64]:
    row = np.asarray(x, dtype=float)
    if row.ndim != 1 or not 2 <= row.size <= _MAX_COLUMNS or not np.isfinite(row).all():
        raise ValueError(f"x must be one row of 2 to {_MAX_COLUMNS} finite numbers, got shape {row.shape}")
    return row


def _sub(index: int) -> str:
    return str(index).translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))


# Drawing is in pixels from the top left, as in SVG. Nothing is clipped and there are no markers: both would need ids.


def _canvas(width: float, height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(width / 72, height / 72))
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set(xlim=(0, width), ylim=(height, 0))
    ax.axis("off")
    return figure, ax


def _text(ax: Axes, x: float, y: float, text: str, *, size: float = 11, ha: str = "center", **style: object) -> None:
    ax.text(x, y, text, **{"fontsize": size, "ha": ha, "va": "center_baseline", "color": _INK} | style)


def _line(ax: Axes, xs: Iterable[float], ys: Iterable[float], **style: object) -> None:
    ax.plot(list(xs), list(ys), **{"color": _INK, "lw": 1, "clip_on": False, "solid_capstyle": "round"} | style)


def _rule(ax: Axes, x0: float, x1: float, y: float) -> None:
    _line(ax, (x0, x1), (y, y), alpha=2 * _FAINT, lw=0.8)


def _arrow(ax: Axes, start: tuple[float, float], end: tuple[float, float], color: str = _INK, **style: object) -> None:
    given = {"arrowstyle": "-|>", "mutation_scale": 11, "shrinkA": 0, "shrinkB": 0, "lw": 1.6, "clip_on": False} | style
    ax.add_patch(FancyArrowPatch(start, end, color=color, **given))


def _box(ax: Axes, x: float, y: float, width: float, height: float, color: str, **style: object) -> None:
    """Rectangle with slightly rounded corners; a negative height grows upwards."""
    y, height = (y + height, -height) if height < 0 else (y, height)
    radius = min(2.5, width / 2, height / 2)
    shape = f"round,pad=0,rounding_size={radius:g}"
    given = {"facecolor": color, "edgecolor": "none", "clip_on": False} | style
    if height > 0:
        ax.add_patch(FancyBboxPatch((x, y), width, height, boxstyle=shape, **given))


def _dot(ax: Axes, x: float, y: float, color: str, radius: float = 4.5, **style: object) -> None:
    ax.add_patch(
        Circle((x, y), radius, **{"facecolor": color, "edgecolor": "none", "clip_on": False, "zorder": 4} | style)
    )


def _bars(ax: Axes, values: NDArray, centres: NDArray, zero: float, unit: float, width: float, **style: object) -> None:
    """Bars from the zero line with each value written past its end."""
    for value, centre in zip(values, centres, strict=True):
        _box(ax, centre - width / 2, zero, width, -unit * value, **style)
        _text(ax, centre, zero - unit * value + (-9 if value >= 0 else 9), number(value), size=10)


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
    cell, left, top = 34.0, 92.0, 44.0
    row, column = min(1, B - 1), H - 2
    red, ink = COLORS["x_hat"], _INK
    right, bottom = left + H * cell, top + B * cell
    figure, ax = _canvas(right + 120, bottom + 54)
    for i in range(B):
        _text(ax, left - 10, top + (i + 0.5) * cell, f"example {i + 1}", size=10, ha="right", alpha=_MUTED)
        for j in range(H):
            spot = (left + j * cell + 1.5, top + i * cell + 1.5, cell - 3, cell - 3)
            _box(ax, *spot, ink, alpha=0.08)
            if j == column:
                _box(ax, *spot, ink, alpha=0.16)
            if i == row:
                _box(ax, *spot, red, alpha=0.3)
    for j in range(H):
        _text(ax, left + (j + 0.5) * cell, top - 10, f"x{_sub(j + 1)}", size=10, alpha=_MUTED)
    _text(ax, left + H * cell / 2, 14, f"H = {H} features", size=10.5)
    middle = top + (row + 0.5) * cell
    _arrow(ax, (left + 8, middle), (right + 12, middle), red, lw=3, mutation_scale=17)
    _text(ax, right + 18, middle - 8, "LayerNorm", size=12, ha="left", weight="bold")
    _text(ax, right + 18, middle + 7, "along one row", size=10, ha="left")
    x = left + (column + 0.5) * cell
    _arrow(ax, (x, top + 8), (x, bottom + 12), ink, lw=2.2, mutation_scale=15, linestyle=(0, (4, 2.5)))
    _text(ax, x, bottom + 24, "BatchNorm", size=12, weight="bold")
    _text(ax, x, bottom + 39, "down one column", size=10)
    _text(ax, 4, top + B * cell / 2, f"B = {B} examples", size=10.5, rotation=90)
    alt = (
        f"A grid of activations with {B} rows, one for each example, and {H} columns, one for each feature. A solid red arrow runs "
        f"along row {row + 1}: LayerNorm averages over the {H} features of one example. A dashed arrow runs down column "
        f"{column + 1}: BatchNorm averages over the {B} examples of one feature."
    )
    return Picture(figure, alt)


def steps(x: ArrayLike, gamma: ArrayLike = 1.0, beta: ArrayLike = 0.0, eps: float = 0.0) -> Picture:
    """Draw the four stages x → x − μ → x̂ → y of one row as bars, each feature in its own column.

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
    row = _row(x)
    mean, spread = row.mean(), np.sqrt(row.var() + eps)
    if spread == 0:
        raise ValueError("the row is constant, so eps must be greater than 0")
    standard = (row - mean) / spread
    y = np.asarray(gamma, dtype=float) * standard + np.asarray(beta, dtype=float)
    root = "√(σ² + ε)" if eps else "σ"
    affine_note = [f"{n} = {number(v)}" if np.ndim(v) == 0 else n for n, v in (("· γ", gamma), ("+ β", beta))]
    stages = [
        ("x", "x", row, "the row"),
        ("x − μ", "mu", row - mean, f"− μ = {number(mean)}"),
        ("x̂", "x_hat", standard, f"÷ {root} = {number(spread)}"),
        ("y", "y", y, ", ".join(affine_note).replace(", +", "  +")),
    ]
    reach = [(max(v.max(), 0.0), max(-v.min(), 0.0)) for _, _, v, _ in stages]
    spans = [up + down for up, down in reach]
    shared = max(spans) <= 20 * min(s for s in spans if s > 0)
    left, column, tallest, pad = 128.0, 54.0, 84.0, 22.0
    units = [tallest / (max(spans) if shared else span or 1.0) for span in spans]
    heights = [unit * span + 2 * pad for unit, span in zip(units, spans, strict=True)]
    width = left + column * row.size + 6
    figure, ax = _canvas(max(width, 330), sum(heights) + 24 + 16 * (not shared))
    centres = left + column * (np.arange(row.size) + 0.5)
    for i, centre in enumerate(centres):
        _text(ax, centre, 10, f"feature {i + 1}", size=9, alpha=_MUTED)
    y0 = 20.0
    for (name, key, values, note), unit, height, (up, _) in zip(stages, units, heights, reach, strict=True):
        zero = y0 + pad + unit * up
        middle = y0 + height / 2
        _text(ax, 6, middle - 8, name, size=15, ha="left", weight="bold")
        _text(ax, 6, middle + 10, note, size=9.5, ha="left", alpha=_MUTED + 0.1)
        _rule(ax, left, width - 6, zero)
        _bars(ax, values, centres, zero, unit, 26, color=COLORS[key])
        if key == "x":
            level = zero - unit * mean
            _line(ax, (left, width - 6), (level, level), color=COLORS["mu"], lw=1.6, ls=(0, (5, 3)))
            _text(ax, left - 5, level, "μ", ha="right", size=11)
        y0 += height
    if not shared:
        _text(ax, width - 6, y0 + 10, "each stage has its own scale", size=9, ha="right", alpha=_MUTED)
    alt = (
        f"Four rows of bars, one column for each of {row.size} features. x is {_tuple(row)} with mean {number(mean)}. "
        f"x minus the mean is {_tuple(row - mean)}. Divided by {number(spread)} it is x̂ = {_tuple(standard)}. "
        f"With gamma {_plain(gamma)} and beta {_plain(beta)}, y is {_tuple(y)}."
    )
    return Picture(figure, alt)


def _plain(value: ArrayLike) -> str:
    array = np.asarray(value, dtype=float)
    return number(float(array)) if array.ndim == 0 else _tuple(array)


def circle(x: ArrayLike = (1, 2, 6)) -> Picture:
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
    row = _row(x)
    if row.size != 3 or row.std() == 0:
        raise ValueError(f"x must be three finite numbers that are not all equal, got {_tuple(row)}")
    deviation = row - row.mean()
    standard = deviation / row.std()
    figure, ax = _canvas(540, 300)
    _space(ax, row, deviation, standard, at=(112.0, 172.0))
    _plane(ax, deviation, standard, at=(380.0, 160.0), room=118.0)
    alt = (
        f"Two panels for the row x = {_tuple(row)}. Left, in space: x is moved along the direction (1, 1, 1) onto the plane where "
        f"the coordinates sum to 0, which gives x minus the mean = {_tuple(deviation)}. Right, the plane seen face-on: that point "
        f"slides along its ray onto the circle of radius √3 ≈ 1.7321, at x̂ = {_tuple(standard)}. Three marked points of the circle "
        f"are those where one coordinate reaches its largest value √2 ≈ 1.4142. Shifting the row moves it towards the viewer and "
        f"scaling it moves it along the ray: neither moves x̂."
    )
    return Picture(figure, alt)


def _space(ax: Axes, row: NDArray, deviation: NDArray, standard: NDArray, at: tuple[float, float]) -> None:
    """Left panel: the plane Σ = 0 seen from the side, the direction **1** pointing up."""
    up = row.mean() * np.sqrt(3)
    flat = np.array(
        [np.sqrt(2) * (deviation[1] - deviation[2]) / 2, (2 * deviation[0] - deviation[1] - deviation[2]) / np.sqrt(6)]
    )
    size = 88.0
    unit = size * 0.86 / max(np.hypot(*flat), 1.25 * np.sqrt(3))
    tilt = 0.34

    def place(point: NDArray, lift: float = 0.0) -> tuple[float, float]:
        return at[0] + unit * point[0], at[1] - unit * tilt * point[1] - lift

    lift = np.clip(unit * up, -92, 92) or 0.0
    ax.add_patch(Ellipse(at, 2 * size, 2 * size * tilt, facecolor=_INK, alpha=0.08, clip_on=False))
    ax.add_patch(
        Ellipse(
            at,
            2 * unit * np.sqrt(3),
            2 * unit * np.sqrt(3) * tilt,
            fill=False,
            edgecolor=COLORS["x_hat"],
            lw=1.6,
            clip_on=False,
        )
    )
    _arrow(ax, at, (at[0], at[1] - 118), alpha=0.7, lw=1.2, mutation_scale=9)
    _text(ax, at[0] - 7, at[1] - 116, "1 = (1, 1, 1)", size=10, ha="right")
    _dot(ax, *at, _INK, 2)
    foot, head = place(flat), place(flat, lift)
    if abs(lift) > 6:
        _arrow(
            ax, head, (foot[0], foot[1] - np.sign(lift) * 5), COLORS["mu"], ls=(0, (4, 2.5)), lw=1.6, mutation_scale=10
        )
        _text(ax, foot[0] + 7, (head[1] + foot[1]) / 2, "− μ", size=11, ha="left")
    _dot(ax, *head, COLORS["x"])
    _text(ax, head[0] + 8, head[1] - 2, "x", size=12, ha="left", weight="bold")
    _dot(ax, *foot, COLORS["mu"])
    _text(ax, at[0], at[1] + size * tilt + 16, "plane Σ = 0", size=10)
    _text(ax, at[0], 286, "a shift moves x along 1: same foot", size=10, alpha=_MUTED + 0.1)
    _text(ax, at[0], 14, "in space", size=11, weight="bold")


def _plane(ax: Axes, deviation: NDArray, standard: NDArray, at: tuple[float, float], room: float) -> None:
    """Right panel: the plane Σ = 0 face-on, the first coordinate pointing up."""
    basis = np.array([[0, 1, -1] / np.sqrt(2), [2, -1, -1] / np.sqrt(6)])
    length = np.linalg.norm(deviation)
    unit = room / max(length, 1.55 * np.sqrt(3))

    def place(vector: NDArray) -> tuple[float, float]:
        right, up = basis @ vector
        return at[0] + unit * right, at[1] - unit * up

    radius = unit * np.sqrt(3)
    for i, axis in enumerate(np.eye(3)):
        direction = axis - 1 / 3
        direction = direction / np.linalg.norm(direction)
        end = place(direction * (radius + 17) / unit)
        _line(ax, (at[0], end[0]), (at[1], end[1]), alpha=2 * _FAINT, lw=0.9)
        best = np.array(place(direction * np.sqrt(3)))
        _dot(ax, *best, "none", 5, edgecolor=_INK, lw=1.3)
        label = place(direction * (radius + 28) / unit)
        _text(ax, *label, f"x̂{_sub(i + 1)} = √2", size=10)
    ax.add_patch(Circle(at, radius, fill=False, edgecolor=COLORS["x_hat"], lw=2, clip_on=False))
    _dot(ax, *at, _INK, 2)
    far, near = place(deviation), place(standard)
    tip = place(deviation * (1 + 16 / unit / length)) if length > np.sqrt(3) else place(standard * (1 + 30 / radius))
    _line(ax, (at[0], tip[0]), (at[1], tip[1]), ls=(0, (1.5, 2.5)), lw=1.3)
    _arrow(
        ax,
        far,
        tuple(
            np.array(near)
            + 6 * np.sign(length - np.sqrt(3)) * (np.array(far) - near) / np.hypot(*(np.array(far) - near))
        ),
        COLORS["sigma"],
        lw=1.8,
    )
    _dot(ax, *far, COLORS["mu"])
    _dot(ax, *near, COLORS["x_hat"], 5.5)
    out = np.array([near[1] - at[1], at[0] - near[0]]) / radius
    out = out if out[0] > 0 else -out
    for spot, text in ((far, "x − μ"), (near, "x̂")):
        _text(
            ax,
            spot[0] + 15 * out[0],
            spot[1] + 15 * out[1],
            text,
            size=12,
            weight="bold",
            ha="center" if abs(out[0]) < 0.5 else "left",
        )
    _text(ax, at[0], 14, "the plane, face-on", size=11, weight="bold")
    _text(ax, at[0], 286, "scaling moves x − μ along its ray: same x̂", size=10, alpha=_MUTED + 0.1)


def jacobian_heatmap(x: ArrayLike, eps: float = 0.0) -> Picture:
    """Draw the Jacobian ∂x̂ᵢ/∂xⱼ of one row with its values written in the cells.

    Parameters
    ----------
    x : array_like, shape (H,)
        The row, 2 to 12 features, not constant unless `eps` > 0.
    eps : float
        Added to the variance, inside the root.
    """
    row = _row(x)
    H = row.size
    sigma = np.sqrt(row.var() + eps)
    if sigma == 0:
        raise ValueError("the row is constant, so eps must be greater than 0")
    standard = (row - row.mean()) / sigma
    jacobian = (np.eye(H) - 1 / H - np.outer(standard, standard) / H) / sigma
    cell, high, left, top = 58.0, 40.0, 40.0, 30.0
    figure, ax = _canvas(left + H * cell + 6, top + H * high + 34)
    limit = np.abs(jacobian).max()
    for i in range(H):
        _text(ax, left - 9, top + (i + 0.5) * high, f"x̂{_sub(i + 1)}", size=11, ha="right")
        _text(ax, left + (i + 0.5) * cell, top - 12, f"x{_sub(i + 1)}", size=11)
        for j in range(H):
            value = jacobian[i, j]
            spot = (left + j * cell + 1, top + i * high + 1, cell - 2, high - 2)
            _box(ax, *spot, COLORS["x_hat" if value > 0 else "x"], alpha=_HEAT * abs(value) / limit)
            _text(ax, left + (j + 0.5) * cell, top + (i + 0.5) * high, number(value), size=11)
    _text(ax, left + H * cell / 2, top + H * high + 18, "∂x̂ᵢ/∂xⱼ: every row sums to 0", size=10, alpha=_MUTED + 0.1)
    lines = "; ".join(f"row {i + 1}: {_tuple(line)}" for i, line in enumerate(jacobian))
    alt = f"Heat map of the {H} by {H} Jacobian of x̂ with respect to x at x = {_tuple(row)}. {lines}. Every row and column sums to 0."
    return Picture(figure, alt)


def compare(x: ArrayLike, eps: float = 0.0) -> Picture:
    """Draw LayerNorm (solid bars) and RMSNorm (outlined bars) of one row side by side.

    Parameters
    ----------
    x : array_like, shape (H,)
        The row, 2 to 12 features, not constant unless `eps` > 0.
    eps : float
        Added inside both roots.
    """
    row = _row(x)
    if row.var() + eps == 0:
        raise ValueError("the row is constant, so eps must be greater than 0")
    layer = (row - row.mean()) / np.sqrt(row.var() + eps)
    rms = row / np.sqrt(np.mean(row**2) + eps)
    both = np.concatenate([layer, rms, [0.0]])
    tall, column, left = 150.0, 96.0, 10.0
    unit = tall / (both.max() - both.min())
    figure, ax = _canvas(left + column * row.size + 10, tall + 94)
    zero = 52 + unit * both.max()
    centres = left + column * (np.arange(row.size) + 0.5)
    color = COLORS["x_hat"]
    hollow = {"color": "none", "edgecolor": color, "lw": 1.6}
    _box(ax, left + 6, 8, 14, 11, color)
    _text(ax, left + 26, 13.5, "LayerNorm: centred, mean 0", size=10.5, ha="left")
    _box(ax, left + 196, 8, 14, 11, **hollow)
    _text(ax, left + 216, 13.5, "RMSNorm: not centred", size=10.5, ha="left")
    _rule(ax, left, left + column * row.size, zero)
    _bars(ax, layer, centres - 20, zero, unit, 30, color=color)
    _bars(ax, rms, centres + 20, zero, unit, 30, **hollow)
    for i, centre in enumerate(centres):
        _text(ax, centre, tall + 82, f"x{_sub(i + 1)} = {number(row[i])}", size=10.5, alpha=_MUTED + 0.1)
    alt = (
        f"Paired bars for the row {_tuple(row)}. LayerNorm gives {_tuple(layer)}, which has mean {number(layer.mean())}. "
        f"RMSNorm gives {_tuple(rms)}: it divides by {number(np.sqrt(np.mean(row**2) + eps))} without subtracting the mean."
    )
    return Picture(figure, alt)


def bound(H_max: int = 16, x: ArrayLike = (2, 4, 6, 8)) -> Picture:
    """Draw the largest value √(H − 1) that a standardized feature can take, against H, with the row `x` marked.

    Parameters
    ----------
    H_max : int
        Last H on the axis, from 4 to 64.
    x : array_like, shape (H,)
        A row whose largest abs(x̂) is marked, not constant.
    """
    row = _row(x)
    if not max(4, row.size) <= H_max <= 64 or row.std() == 0:
        raise ValueError(
            f"H_max must be from {max(4, row.size)} to 64 and x not constant, got H_max={H_max} and x={_tuple(row)}"
        )
    reached = np.abs(row - row.mean()).max() / row.std()
    left, bottom, width, height = 46.0, 206.0, 360.0, 180.0
    figure, ax = _canvas(left + width + 16, bottom + 42)
    top_value = np.sqrt(H_max - 1)

    def place(h: NDArray | float, value: NDArray | float) -> tuple:
        return left + width * (h - 2) / (H_max - 2), bottom - height * np.asarray(value) / top_value

    for tick in range(int(top_value) + 1):
        y = float(place(2, tick)[1])
        _line(ax, (left - 8, left + width), (y, y), alpha=_FAINT if tick else 2 * _FAINT, lw=0.8)
        _text(ax, left - 14, y, str(tick), size=10, ha="right")
    for h in range(2, H_max + 1, max(2, H_max // 16 * 2)):
        _text(ax, float(place(h, 0)[0]), bottom + 13, str(h), size=10)
    _text(ax, left + width / 2, bottom + 31, "features in the row, H", size=10.5)
    dense = np.linspace(2, H_max, 80)
    _line(ax, *place(dense, np.sqrt(dense - 1)), color=COLORS["x_hat"], lw=2)
    for h in range(2, H_max + 1):
        _dot(ax, *place(h, np.sqrt(h - 1)), COLORS["x_hat"], 3)
    end = place(H_max * 0.62, np.sqrt(H_max * 0.62 - 1))
    _text(ax, end[0] - 6, end[1] - 16, "largest possible x̂ = √(H − 1)", size=11, ha="right", weight="bold")
    limit = place(row.size, np.sqrt(row.size - 1))
    spot = place(row.size, reached)
    _line(ax, (limit[0], spot[0]), (limit[1], spot[1]), ls=(0, (2, 2)), lw=1.2)
    _dot(ax, *spot, COLORS["x"], 5.5)
    _text(ax, spot[0] + 12, spot[1] + 5, f"row {_tuple(row)}: {number(reached)}", size=10.5, ha="left")
    alt = (
        f"The curve √(H − 1) for H from 2 to {H_max}, rising from 1 to {number(top_value)}. At H = {row.size} it is "
        f"{number(np.sqrt(row.size - 1))}; the row {_tuple(row)} is marked below it at {number(reached)}."
    )
    return Picture(figure, alt)


def affine(x: ArrayLike = (2, 4, 6, 8), gamma: float = 4.0, beta: float = 10.0) -> Picture:
    """Draw x̂ and y = γ x̂ + β of one row on a shared number line, with mean and standard deviation of each.

    Parameters
    ----------
    x : array_like, shape (H,)
        The row, 2 to 12 features, not constant.
    gamma, beta : float
        Scale and shift.
    """
    row = _row(x)
    if row.std() == 0:
        raise ValueError("the row is constant: its x̂ is not defined without eps")
    standard = (row - row.mean()) / row.std()
    y = gamma * standard + beta
    both = np.concatenate([standard, y, [beta - abs(gamma), beta + abs(gamma), -1, 1]])
    low, high = both.min(), both.max()
    left, width = 34.0, 400.0
    figure, ax = _canvas(left + width + 24, 196)

    def place(value: float) -> float:
        return left + width * (value - low) / (high - low)

    for name, key, values, level in (("x̂", "x_hat", standard, 62.0), ("y", "y", y, 152.0)):
        mean, spread = values.mean(), values.std()
        _text(ax, 6, level, name, size=15, ha="left", weight="bold")
        _rule(ax, left, left + width, level)
        _line(ax, (place(mean - spread), place(mean + spread)), (level + 17,) * 2, color=COLORS["sigma"], lw=2.4)
        for side in (-1, 1):
            _line(ax, (place(mean + side * spread),) * 2, (level + 13, level + 21), color=COLORS["sigma"], lw=2)
        tip = place(mean)
        triangle = Polygon(
            [(tip, level + 4), (tip - 6, level + 14), (tip + 6, level + 14)],
            color=COLORS["mu"],
            clip_on=False,
            zorder=5,
        )
        ax.add_patch(triangle)
        for value in values:
            _dot(ax, place(value), level, COLORS[key], 5)
        _text(ax, tip, level - 18, f"mean {number(round(mean, 12))}, std {number(spread)}", size=10.5)
    alt = (
        f"Two sets of dots on one number line for the row {_tuple(row)}. x̂ is {_tuple(standard)} with mean 0 and standard deviation 1. "
        f"With gamma {number(gamma)} and beta {number(beta)}, y is {_tuple(y)} with mean {number(y.mean())} and standard deviation {number(y.std())}."
    )
    return Picture(figure, alt)
