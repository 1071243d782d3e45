"""The picture that stands beside a link to the site: a row of four numbers, before and after LayerNorm."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from bundle import MODULES, still
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties

from normlib.figures import COLORS, number
from normlib.norms import standardize

ROW = (2, 4, 6, 8)
PAPER, INK = "#14191d", "#e3e9ed"
SANS = MODULES / "@fontsource-variable" / "source-sans-3" / "files" / "source-sans-3-latin-wght-normal.woff2"
ALT = f"The row {ROW} as four bars, an arrow, and its LayerNorm: two bars below zero and two above."


def draw(path: Path) -> None:
    """Write the picture, 1200 by 630 pixels, the size that previews ask for."""
    with tempfile.TemporaryDirectory() as folder:
        fonts = {}
        for weight in (400, 700):
            file = Path(folder) / f"{weight}.ttf"
            file.write_bytes(still(SANS, weight))
            fonts[weight] = FontProperties(fname=file)
        _figure(fonts).savefig(path, metadata={"Software": None})


def _figure(fonts: dict[int, FontProperties]) -> Figure:
    figure = Figure(figsize=(12, 6.3), dpi=100, facecolor=PAPER)

    def write(x: float, y: float, text: str, size: float, weight: int = 400) -> None:
        figure.text(x, y, text, size=size, font=fonts[weight], color=INK, va="baseline")

    write(0.07, 0.8, "Layer normalization", 64, 700)
    write(0.07, 0.69, "A course to read, do and grade: five levels, fifteen exercises", 29)
    for left, name, color, values in (
        (0.07, "x", "x", ROW),
        (0.58, "LayerNorm(x)", "x_hat", standardize(np.array(ROW))),
    ):
        write(left, 0.55, name, 26)
        axes = figure.add_axes((left, 0.1, 0.35, 0.42), frameon=False, xticks=[], yticks=[])
        axes.bar(range(len(values)), values, width=0.62, color=COLORS[color])
        axes.axhline(0, color=INK, lw=1.5)
        axes.set_ylim(min(0, *values) * 1.25, max(values) * 1.25)
        for place, value in enumerate(values):
            up = value >= 0
            axes.annotate(
                number(round(value, 2)),
                (place, value),
                (0, 5 if up else -5),
                textcoords="offset points",
                ha="center",
                va="bottom" if up else "top",
                color=INK,
                size=20,
                font=fonts[400],
            )
    arrow = {"arrowstyle": "-|>,head_width=.4,head_length=.7", "color": INK, "lw": 3, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", (0.54, 0.31), (0.46, 0.31), "figure fraction", "figure fraction", arrowprops=arrow)
    return figure
