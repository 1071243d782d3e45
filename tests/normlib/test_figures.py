"""The figures say the right numbers, can stand side by side in one page, and read on a light and on a dark theme."""

import itertools
import re
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.figure import Figure

from normlib import figures

SVG = "{http://www.w3.org/2000/svg}"
ROW = (2, 4, 6, 8)
# Each figure with numbers worked out by hand that its alt text must say.
CASES = {
    "grid": (lambda: figures.grid(4, 6), ["4 rows", "6 columns", "6 features of one example", "4 examples of one"]),
    "steps": (
        lambda: figures.steps(ROW, 3, -2),
        ["(2, 4, 6, 8) with mean 5", "(−3, −1, 1, 3)", "2.2361", "(−1.3416, −0.4472, 0.4472, 1.3416)"],
    ),
    "affine step": (lambda: figures.steps(ROW, 3, -2), ["gamma 3", "beta −2", "(−6.0249, −3.3416, −0.6584, 2.0249)"]),
    "circle": (lambda: figures.circle((4, 5, 0)), ["(1, 2, −3)", "1.7321", "1.4142", "(0.4629, 0.9258, −1.3887)"]),
    "jacobian_heatmap": (
        lambda: figures.jacobian_heatmap(ROW),
        ["row 1: (0.1342, −0.1789, −0.04472, 0.08944)", "row 2: (−0.1789, 0.313, −0.08944, −0.04472)"],
    ),
    "compare": (
        lambda: figures.compare(ROW),
        ["(−1.3416, −0.4472, 0.4472, 1.3416)", "(0.3651, 0.7303, 1.0954, 1.4606)", "5.4772", "mean 0.9129"],
    ),
    "bound": (lambda: figures.bound(17), ["H up to 17, where it is 4", "At H = 4 it is 1.7321", "at 1.3416"]),
    "affine": (
        lambda: figures.affine(ROW, gamma=4, beta=10),
        ["mean 10 and standard deviation 4", "(4.6334, 8.2111, 11.7889, 15.3666)"],
    ),
}


def luminance(color):
    """WCAG 2 relative luminance of #rrggbb or of three numbers from 0 to 255."""
    return linear(color) @ (0.2126, 0.7152, 0.0722)


def rgb(color):
    return np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)] if isinstance(color, str) else color, dtype=float)


def linear(color):
    c = rgb(color) / 255
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_wcags():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.005)  # the well-known lightest AA grey


def texts(picture):
    return [node.text for node in ElementTree.fromstring(picture.svg).iter(SVG + "text")]


@pytest.mark.parametrize("name", CASES)
def test_alt_text_says_the_numbers(name):
    make, expected = CASES[name]
    picture = make()
    for part in expected:
        assert part in picture.alt
    svg = ElementTree.fromstring(picture.svg)
    assert svg.get("role") == "img"
    assert svg.get("aria-label") == picture.alt


@pytest.mark.parametrize("name", CASES)
def test_svg_stands_in_any_page(name):
    svg = CASES[name][0]().svg
    assert not re.search(r'\bid="|<style|url\(|<image|<script|#000000|#010203|@import', svg)
    assert "currentColor" in svg
    root = ElementTree.fromstring(svg)
    assert root.get("width") is None
    assert "max-width" in root.get("style")
    _, _, width, height = map(float, root.get("viewBox").split())
    for node in root.iter(SVG + "text"):
        x, y = (
            re.findall(r"-?[\d.]+", node.get("transform"))[:2]
            if node.get("transform")
            else (node.get("x"), node.get("y"))
        )
        assert 0 <= float(x) <= width
        assert 0 <= float(y) <= height


def test_every_public_figure_is_tested():
    functions = {name for name in figures.__all__ if name.islower() and name != "number"}
    assert functions == set(CASES) - {"affine step"}


def test_drawing_is_the_same_in_another_process():
    code = "from normlib import figures as f; print(f.circle((4, 5, 0)).svg, f.steps((2, 4, 6, 8), 3, -2).svg)"
    runs = [
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    ]
    assert runs[0] == runs[1]
    assert runs[0].decode().strip() == f"{CASES['circle'][0]().svg} {CASES['steps'][0]().svg}"


def test_bars_are_in_proportion_and_carry_their_values():
    picture = figures.steps(ROW, 3, -2)
    bars = [
        [float(y) for y in re.findall(r"[ML] [\d.]+ ([\d.]+)", node.get("d"))]
        for node in ElementTree.fromstring(picture.svg).iter(SVG + "path")
        if node.get("style") == f"fill: {figures.COLORS['x'].lower()}"
    ]
    heights = np.array([max(bar) - min(bar) for bar in bars])
    np.testing.assert_allclose(heights / heights[0], [1, 2, 3, 4], rtol=1e-4)
    for value in ("8", "−3", "1.3416", "−6.0249", "σ = 2.2361", "γ = 3, β = −2"):
        assert value in texts(picture)


def test_heat_map_writes_four_digits_of_the_largest_entry():
    assert texts(figures.jacobian_heatmap(ROW)).count("0.1342") == 2
    assert texts(figures.jacobian_heatmap((20, 40, 60, 80))).count("0.01342") == 2


def test_circle_puts_the_row_where_geometry_puts_it():
    # (1, 0, 0) has one outlier, so x̂ = (√2, −1/√2, −1/√2) is the point at the top of the circle.
    svg = ElementTree.fromstring(figures.circle((1, 0, 0)).svg)
    outline, fill = figures.COLORS["x_hat"].lower(), f"fill: {figures.COLORS['x_hat'].lower()}"

    def extent(node):
        numbers = np.array(re.findall(r"-?\d+\.?\d*", node.get("d")), dtype=float).reshape(-1, 2)
        return numbers.min(axis=0), numbers.max(axis=0)

    paths = list(svg.iter(SVG + "path"))
    low, high = max(
        (extent(p) for p in paths if f"stroke: {outline}" in p.get("style")), key=lambda e: e[1][1] - e[0][1]
    )
    dot_low, dot_high = next(extent(p) for p in paths if p.get("style") == fill)
    np.testing.assert_allclose((dot_low + dot_high) / 2, [(low[0] + high[0]) / 2, low[1]], atol=0.1)


def test_constant_row_is_drawn_with_eps_and_refused_without():
    assert "x̂ = (0, 0, 0, 0)" in figures.steps((7, 7, 7, 7), eps=1e-5).alt
    for row in ((7, 7, 7, 7), (0.1, 0.1, 0.1)):
        with pytest.raises(ValueError, match="constant"):
            figures.steps(row)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: figures.steps([[1, 2]]), r"shape \(1, 2\)"),
        (lambda: figures.compare([1, np.nan]), "finite"),
        (lambda: figures.compare(range(13)), "2 to 12"),
        (lambda: figures.circle((1, 2, 3, 4)), "three features"),
        (lambda: figures.grid(1, 6), "B=1"),
        (lambda: figures.bound(3), "from 4 to 64"),
        (lambda: figures.Picture(Figure(), "  "), "alt is empty"),
    ],
)
def test_what_cannot_be_drawn_is_said_in_one_line(call, message):
    with pytest.raises(ValueError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_picture_of_any_figure_has_no_clashing_ids_and_shows_as_html():
    def plot(slope):
        figure = Figure()
        figure.add_subplot().plot([0, 1], [0, slope], "o--")
        return figures.Picture(figure, f'A line of slope {slope}, <steep> & "quoted"')

    one, two = plot(1), plot(2)
    ids = [set(re.findall(r'\bid="([^"]+)"', p.svg)) for p in (one, two)]
    assert all(ids)  # markers and clip paths need them
    assert not ids[0] & ids[1]
    assert set(re.findall(r"#([\w-]+)[\")]", one.svg)) - {"1f77b4", "ffffff", "000000"} <= ids[0]
    assert ElementTree.fromstring(one.svg).get("aria-label") == one.alt
    bundle = one._repr_mimebundle_(include=None, exclude=None)
    assert bundle["text/plain"] == one.alt
    assert bundle["text/html"].startswith("<figure")
    assert one.svg in bundle["text/html"]


def test_accents_reach_graphics_contrast_on_both_themes():
    assert set(figures.COLORS) == {"x", "mu", "sigma", "x_hat", "y", "gamma", "beta"} == set(figures.SYMBOLS)
    for color in figures.COLORS.values():
        assert contrast(color, "#ffffff") >= 3
        assert contrast(color, "#121212") >= 3


# Machado, Oliveira and Fernandes (2009), full severity, on linear RGB.
VISION = {
    "normal": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


def cielab(color, vision):
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    t = xyz @ np.clip(np.asarray(vision) @ linear(color), 0, 1) / (0.9505, 1, 1.089)
    f = np.where(t > 0.008856, np.cbrt(t), 7.787 * t + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("vision", VISION)
def test_accents_differ_for_colour_blind_readers(vision):
    for one, other in itertools.combinations(figures.COLORS.values(), 2):
        distance = np.linalg.norm(cielab(one, VISION[vision]) - cielab(other, VISION[vision]))
        assert distance > 15, (one, other)  # a CIE76 difference of 2.3 is just noticeable


@pytest.mark.parametrize(("page", "ink"), [("#ffffff", "#222832"), ("#121212", "#ced6dd")])
def test_values_read_on_the_strongest_heat_map_cell(page, ink):
    for key in ("x", "x_hat"):
        cell = figures._HEAT * rgb(figures.COLORS[key]) + (1 - figures._HEAT) * rgb(page)
        assert contrast(cell, ink) >= 4.5


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((2, "2"), (10.0, "10"), (-1.34164, "−1.3416"), (0.0134164, "0.01342"), (-2.5e9, "−2.5e+09")),
        *((1e-17, "0"), (np.nan, "NaN"), (-np.inf, "−∞")),
    ],
)
def test_numbers_are_written_as_in_the_book(value, text):
    assert figures.number(value) == text
