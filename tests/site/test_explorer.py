"""The explorer in a real browser: its numbers are normlib's, and mouse, touch and keyboard reach everything."""

import json

import numpy as np
import pytest
from figure import Figure, on_page
from pages import PAGES

from normlib import batch_norm, layer_norm, rms_norm
from normlib.figures import COLORS
from normlib.widgets import Explorer, sliders

INDEX = f"{PAGES[0]}.html"


def expected(state):
    """What normlib makes of the row, in plain calls."""
    x, batch = np.array(state["x"]), np.array([state["x"], *state["batch"]])
    scale, shift = np.full(x.size, state["gamma"]), np.full(x.size, state["beta"])
    if state["norm"] == "layer":
        return layer_norm(x, scale, shift, eps=state["eps"])
    if state["norm"] == "rms":
        return rms_norm(x, scale, eps=state["eps"]) + shift
    return batch_norm(batch, scale, shift, eps=state["eps"])[0]


def random_state(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 9))
    scale = 10.0 ** rng.integers(-3, 4)
    return {
        "x": (scale * rng.normal(rng.normal(0, 3), 1, size)).tolist(),
        "gamma": float(rng.normal(0, 2)),
        "beta": float(rng.normal(0, 5)),
        "eps": float(10.0 ** rng.integers(-12, 0)),
        "norm": ("layer", "rms", "batch")[seed % 3],
        "batch": (scale * rng.normal(0, 1, (int(rng.integers(0, 4)), size))).tolist(),
    }


@pytest.mark.browser
@pytest.mark.parametrize("seed", range(21))
def test_computes_what_normlib_computes(run_module, seed):
    state = random_state(seed)
    y = run_module("explorer", "m.compute(argument).y", state)
    np.testing.assert_allclose(y, expected(state), rtol=1e-9, atol=1e-9)


class Bars(Figure):
    """The explorer on the front page, with the state that its controls should have brought about."""

    def __init__(self, page):
        super().__init__(page, on_page(page, "explorer"))
        self.state = json.loads(self.box.get_attribute("data-state"))

    def shown(self, panel):
        """The numbers of a panel: 0 is x, 1 is x − μ, 2 is x̂, 3 is y."""
        return self.values(f".nl-panels > :nth-child({panel + 1}) text").tolist()

    def knob(self, name):
        return self.box.locator(f"input[name={name}]")

    def agrees(self):
        self.state["x"] = self.shown(0)
        np.testing.assert_allclose(self.shown(3), expected(self.state), rtol=1e-9, atol=1e-9)
        plain = {**self.state, "gamma": 1.0, "beta": 0.0}
        np.testing.assert_allclose(self.shown(2), expected(plain), rtol=1e-9, atol=1e-9)
        return True

    def says(self):
        return super().says().replace("−", "-")


@pytest.fixture
def figure(open_page):
    return Bars(open_page(INDEX, has_touch=True))


@pytest.mark.browser
def test_every_control_changes_the_numbers(figure):
    assert figure.agrees()
    for name, read in (("gamma", float), ("beta", float), ("eps", lambda position: 10 ** float(position))):
        before = figure.shown(3)
        figure.knob(name).focus()
        for _ in range(3):
            figure.page.keyboard.press("ArrowRight")
        figure.state[name] = read(figure.knob(name).input_value())
        assert figure.shown(3) != before
        assert figure.agrees()
        assert figure.says() == f"y = ({', '.join(f'{v:.4g}' for v in figure.shown(3))})"
    for norm, title in (("rms", "RMSNorm"), ("batch", "BatchNorm"), ("layer", "LayerNorm")):
        before = figure.shown(3)
        figure.choose(title)
        figure.state["norm"] = norm
        assert figure.shown(3) != before
        assert figure.agrees()
        assert figure.says().startswith("y = (")


@pytest.mark.browser
def test_shows_every_quantity(figure):
    def numbers():
        spans = figure.box.locator(".nl-numbers > span").all_text_contents()
        return dict(span.replace("−", "-").split(" = ") for span in spans)

    # by hand: the row (2, 4, 6, 8), and with it the rows (3, 1, 9, 5) and (7, 5, 4, 1)
    assert numbers() == {
        "μ": "5",
        "σ²": "5",
        "√(σ² + ε)": "2.236",
        "mean of x̂": "0",
        "mean of x̂²": "1",
        "largest |x̂|": "1.342",
        "bound √(H - 1)": "1.732",
    }
    assert figure.shown(1) == [-3, -1, 1, 3]
    assert figure.box.locator("path").count() == 3  # μ and two bounds
    figure.choose("RMSNorm")
    assert (numbers()["μ"], numbers()["mean of x²"], numbers()["bound √H"]) == ("not subtracted", "30", "2")
    figure.choose("BatchNorm")
    assert (numbers()["μ"], numbers()["bound √(B - 1)"]) == ("(4, 3.333, 6.333, 4.667)", "1.414")
    assert figure.box.locator("svg circle").count() == 8  # what the others are


@pytest.mark.browser
def test_without_centering_no_panel_says_that_it_is_centered(figure):
    panel = figure.box.locator(".nl-panels > div").nth(1)
    for norm, title, values in (
        ("RMSNorm", "x, not centered", [2, 4, 6, 8]),
        ("LayerNorm", "x − μ", [-3, -1, 1, 3]),
        ("BatchNorm", "x − μ", [-2, 4 - 10 / 3, 6 - 19 / 3, 8 - 14 / 3]),
    ):
        figure.choose(norm)
        assert panel.locator("span").text_content() == title
        assert panel.locator("svg").get_attribute("aria-label").startswith(f"{title} = (")
        assert figure.shown(1) == pytest.approx(values)


@pytest.mark.browser
def test_y_is_drawn_in_the_scale_of_x_hat_as_long_as_it_fits(figure):
    def heights(panel):
        bars = figure.box.locator(f".nl-panels > :nth-child({panel + 1}) rect[fill]")
        return [float(bar.get_attribute("height")) for bar in bars.all()]

    for norm in ("RMSNorm", "BatchNorm", "LayerNorm"):
        figure.choose(norm)
        assert min(heights(2)) > 1
        assert heights(3) == pytest.approx(heights(2))  # γ = 1, β = 0: y is x̂
    figure.knob("gamma").fill("-0.5")
    assert heights(3) == pytest.approx([height / 2 for height in heights(2)])
    figure.knob("gamma").fill("4")  # 4 · 1.342 = 5.367 needs a scale of its own, to 10
    assert heights(3)[3] / heights(3)[2] == pytest.approx(3)
    assert heights(3)[3] == pytest.approx(0.5367 * 46, rel=1e-3)


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 360])
def test_no_button_moves_the_sliders(open_page, width):
    figure = Bars(open_page(INDEX, width=width))
    place = "(box) => box.querySelector('.nl-knobs').getBoundingClientRect().top - box.getBoundingClientRect().top"
    start = figure.box.evaluate(place)
    for norm in ("LayerNorm", "RMSNorm", "BatchNorm"):
        for button in figure.box.get_by_role("button").all():
            figure.choose(norm)
            assert figure.box.evaluate(place) == pytest.approx(start, abs=0.5)
            button.click()
            assert figure.box.evaluate(place) == pytest.approx(start, abs=0.5)


# How many values a dashed line runs through; each of its columns is drawn as M…h…m…H…, with a gap in the middle.
CROSSED = """(box) => [...box.querySelectorAll("svg")].flatMap((svg) => {
  const texts = [...svg.querySelectorAll("text")].map((text) => text.getBBox());
  const columns = [...svg.querySelectorAll("path")].flatMap((path) => path.getAttribute("d").match(/M[^M]+/g));
  return columns.flatMap((column) => {
    const [start, y, length, gap, , end] = column.match(/[\\d.]+/g).map(Number);
    const lines = [[start, start + length], [start + length + gap, end]];
    return texts.filter((box) => box.y < y && y < box.y + box.height
      && lines.some(([from, to]) => from < to && box.x < to && from < box.x + box.width));
  });
}).length"""


@pytest.mark.browser
def test_no_line_runs_through_a_value(figure):
    for width in (1200, 360):
        figure.page.set_viewport_size({"width": width, "height": 900})
        for press in ("reset", "one outlier", "constant row", "one feature ×10"):
            figure.press(press)
            assert figure.box.locator("path").count() == 3
            assert figure.box.evaluate(CROSSED) == 0
        figure.choose("BatchNorm")
        assert figure.box.evaluate(CROSSED) == 0


OVERLAPS = """() => [...document.querySelectorAll(".nl-live svg")].map((svg) => {
  const boxes = [...svg.querySelectorAll("text")].map((text) => text.getBBox());
  const meet = (a, b) => a.x + a.width > b.x && Math.abs(a.y - b.y) < 10;
  return boxes.slice(1).filter((box, i) => meet(boxes[i], box)).length;
})"""


@pytest.mark.browser
@pytest.mark.parametrize("width", [360, 700, 1200])
@pytest.mark.parametrize("x", [[2, 4, 6, 8], [-1.25, 0.57, -20, 8.125, -1, 2.25, -3, 40]])
def test_values_do_not_run_into_each_other(browser, width, x):
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.set_content(Explorer(x=x)._repr_mimebundle_()[0]["text/html"])
    page.locator(".nl-live").wait_for()
    assert page.evaluate(OVERLAPS) == [0, 0, 0, 0]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()


@pytest.mark.browser
def test_each_slider_has_the_colour_of_its_quantity(figure):
    for name in ("gamma", "beta"):
        accent = figure.knob(name).evaluate("(input) => getComputedStyle(input).getPropertyValue('--accent')")
        assert accent.strip() == COLORS[name]
    for panel, name in enumerate(("x", "mu", "x_hat", "y")):
        box = figure.box.locator(".nl-panels > div").nth(panel)
        assert box.locator(f"rect[fill='{COLORS[name]}']").count() == 4
        assert COLORS[name] in box.get_attribute("style")


@pytest.mark.browser
def test_lowest_eps_is_none_at_all(figure):
    figure.knob("eps").focus()
    figure.page.keyboard.press("Home")
    figure.state["eps"] = 0.0
    assert figure.agrees()
    figure.press("constant row")
    assert np.isnan(figure.shown(3)).all()
    assert "0/0" in figure.says()
    figure.press("tiny row")
    assert figure.agrees()
    assert "the largest |x̂| is 1. Without ε it is 1." in figure.says()
    figure.page.keyboard.press("End")
    figure.knob("eps").focus()
    figure.page.keyboard.press("End")
    figure.state["eps"] = 1.0
    figure.press("one outlier")  # (1, 0, 0, 0): 0.75 / √(3/16 + 1)
    assert figure.agrees()
    assert figure.says() == "x̂₁ = 0.6882: ε is too large for it to reach the bound."


@pytest.mark.browser
@pytest.mark.parametrize(("width", "feature"), [(1200, 2), (360, 3)])
def test_bars_follow_keyboard_mouse_and_finger(open_page, width, feature):
    figure = Bars(open_page(INDEX, width=width, has_touch=True))
    figure.try_bar(feature, figure.agrees)
    assert figure.says().startswith("y = (")


@pytest.mark.browser
@pytest.mark.parametrize(
    ("button", "x", "changes", "says"),
    [
        ("constant row", [7, 7, 7, 7], {}, "No spread, so every deviation is 0: x̂ is 0 and y is β everywhere"),
        ("tiny row", [1e-3, 2e-3, 1e-3, 2e-3], {}, "the largest |x̂| is 0.1562. Without ε it is 1."),
        ("one outlier", [1, 0, 0, 0], {}, "x̂₁ = 1.732: the bound √(H - 1), to 4 digits."),
        ("×50", [100, 200, 300, 400], {}, "x̂ did not move: the divisor grew 50 times"),
        ("+100", [102, 104, 106, 108], {}, "x̂ did not move: μ took the 100 along."),
        ("one feature ×10", [20, 4, 6, 8], {}, "x̂ moved, by up to 3.03: all features share one divisor."),
        ("no-op: γ = σ, β = μ", [2, 4, 6, 8], {"gamma": 5**0.5, "beta": 5.0}, "γ = √5, β = 5: y gives x back"),
        ("batch of one", [2, 4, 6, 8], {"norm": "batch", "batch": []}, "x̂ is 0 and y is β, whatever x is."),
        ("reset", [2, 4, 6, 8], {}, ""),
    ],
)
def test_buttons(figure, button, x, changes, says):
    figure.press(button)
    assert figure.shown(0) == pytest.approx(x)
    figure.state |= changes
    assert figure.agrees()
    assert says in figure.says()


@pytest.mark.browser
@pytest.mark.parametrize(
    ("norm", "button", "says"),
    [
        ("RMSNorm", "×50", "x̂ did not move"),
        ("RMSNorm", "+100", "x̂ moved, by up to 0.6"),  # 102/√(10510) = 0.99…, from 2/√30 = 0.365
        ("RMSNorm", "one feature ×10", "x̂ moved"),
        ("BatchNorm", "×50", "x̂ did not move"),
        ("BatchNorm", "+100", "x̂ did not move"),
        ("BatchNorm", "one feature ×10", "x̂ did not move: BatchNorm measures each feature by itself."),
    ],
)
def test_what_is_to_be_seen_depends_on_the_norm(figure, norm, button, says):
    figure.choose(norm)
    figure.press(button)
    assert says in figure.says()


@pytest.mark.browser
def test_a_batch_of_one_finds_company_again(figure):
    figure.press("batch of one")
    figure.choose("LayerNorm")
    figure.choose("BatchNorm")
    figure.state["norm"] = "batch"
    assert figure.agrees()
    assert np.abs(figure.shown(3)).max() > 0.5


@pytest.mark.browser
def test_a_row_that_was_small_beside_eps_moves_with_size(figure):
    figure.press("tiny row")
    figure.press("×50")
    assert "the row was small beside ε" in figure.says()
    assert figure.agrees()


@pytest.mark.browser
def test_shows_a_picture_without_javascript(open_page):
    page = open_page(INDEX, java_script_enabled=False)
    picture = page.locator(".normlib-explorer svg[role=img]").first
    assert page.locator(".nl-live").count() == 0
    assert picture.is_visible()
    assert "mean 5" in picture.get_attribute("aria-label")


def test_python_side_agrees():
    state = random_state(4)
    widget = Explorer(**state)
    np.testing.assert_allclose(widget.y, expected(state), rtol=1e-12)
    bundle, _ = widget._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert "data-state=" in bundle["text/html"]


def test_python_side_refuses_rows_that_do_not_fit():
    traitlets = pytest.importorskip("traitlets")
    for wrong in ({"x": [1, 2, 3], "batch": [[1, 2]]}, {"x": [1]}, {"eps": -1.0}, {"norm": "group"}):
        with pytest.raises(traitlets.TraitError):
            Explorer(**wrong)
    widget = Explorer(x=[1, 2])
    with pytest.raises(traitlets.TraitError):
        widget.x = [1, 2, 3]


def test_plain_sliders_follow():
    box = sliders((2, 4, 6, 8))
    for slider in box.children[:4]:  # a browser moves a slider to the nearest step, which must be where it stands
        assert (slider.value - slider.min) / slider.step == pytest.approx(
            round((slider.value - slider.min) / slider.step)
        )
    assert "−1.3416" in box.children[-1].value
    box.children[0].value = 8.0  # (8, 4, 6, 8): mean 6.5, variance 2.75
    assert "0.9045" in box.children[-1].value
    next(child for child in box.children if child.description == "β").value = 1.0
    assert "1.9045" in box.children[-1].value
