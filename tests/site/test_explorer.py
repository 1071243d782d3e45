"""The explorer in a real browser: its numbers are normlib's, and mouse, touch and keyboard reach everything."""

import json

import numpy as np
import pytest
from pages import PAGES, ROOT

from normlib import batch_norm, layer_norm, rms_norm
from normlib.widgets import Explorer, sliders

INDEX = f"{PAGES[0]}.html"
SOURCE = (ROOT / "normlib" / "explorer.js").read_text(encoding="utf-8")


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


class Figure:
    """The explorer on the front page, with the state that its controls should have brought about."""

    def __init__(self, page):
        self.page = page
        self.box = page.locator(".normlib-explorer").first
        self.state = json.loads(self.box.get_attribute("data-state"))
        self.box.locator(".nl-explorer").wait_for()
        self.box.scroll_into_view_if_needed()

    def shown(self, panel):
        """The numbers of a panel in full precision: 0 is x, 1 is x − μ, 2 is x̂, 3 is y."""
        return (
            self.box.locator("svg")
            .nth(panel)
            .evaluate("(svg) => [...svg.querySelectorAll('text')].map((text) => Number(text.dataset.value))")
        )

    def slider(self, name):
        return self.box.locator(f"input[name={name}]")

    def agrees(self):
        self.state["x"] = self.shown(0)
        np.testing.assert_allclose(self.shown(3), expected(self.state), rtol=1e-9, atol=1e-9)
        return True


@pytest.fixture
def figure(open_page):
    return Figure(open_page(INDEX))


@pytest.mark.browser
def test_every_control_changes_the_numbers(figure):
    assert figure.agrees()
    for name, read in (("gamma", float), ("beta", float), ("eps", lambda position: 10 ** float(position))):
        before = figure.shown(3)
        figure.slider(name).focus()
        for _ in range(3):
            figure.page.keyboard.press("ArrowRight")
        figure.state[name] = read(figure.slider(name).input_value())
        assert figure.shown(3) != before
        assert figure.agrees()
    for norm in ("rms", "batch", "layer"):
        before = figure.shown(3)
        figure.box.locator(f"input[value={norm}]").check()
        figure.state["norm"] = norm
        assert figure.shown(3) != before
        assert figure.agrees()


@pytest.mark.browser
def test_lowest_eps_is_none_at_all(figure):
    figure.slider("eps").focus()
    figure.page.keyboard.press("Home")
    figure.state["eps"] = 0.0
    assert figure.agrees()
    figure.box.get_by_role("button", name="constant row").click()
    assert np.isnan(figure.shown(3)).all()
    assert "0/0" in figure.box.locator("[role=status]").text_content()


@pytest.mark.browser
def test_bars_follow_the_keyboard(figure):
    bar = figure.box.get_by_role("slider", name="x, feature 2")
    bar.focus()
    start = figure.shown(0)
    for key, change in (("ArrowUp", 1), ("ArrowRight", 1), ("ArrowDown", -1), ("ArrowLeft", -1), ("PageUp", 10)):
        before = figure.shown(0)
        figure.page.keyboard.press(key)
        after = figure.shown(0)
        assert after[1] > before[1] if change > 0 else after[1] < before[1]
        assert float(bar.get_attribute("aria-valuenow")) == after[1]
        assert figure.agrees()
    figure.page.keyboard.press("Home")
    assert figure.shown(0)[1] == float(bar.get_attribute("aria-valuemin"))
    figure.page.keyboard.press("End")
    assert figure.shown(0)[1] == float(bar.get_attribute("aria-valuemax"))
    assert [figure.shown(0)[i] for i in (0, 2, 3)] == [start[i] for i in (0, 2, 3)]
    assert bar.evaluate("(element) => document.activeElement === element")


@pytest.mark.browser
def test_bars_follow_the_mouse(figure):
    box = figure.box.get_by_role("slider", name="x, feature 1").bounding_box()
    middle = box["x"] + box["width"] / 2
    figure.page.mouse.move(middle, box["y"] + box["height"] / 2)
    figure.page.mouse.down()
    figure.page.mouse.move(middle, box["y"] + 0.2 * box["height"], steps=4)
    high = figure.shown(0)[0]
    figure.page.mouse.move(middle, box["y"] + 0.8 * box["height"], steps=4)
    low = figure.shown(0)[0]
    figure.page.mouse.up()
    assert high > 2
    assert low < 0
    assert figure.agrees()
    figure.page.mouse.move(middle, box["y"] + 0.2 * box["height"])
    assert figure.shown(0)[0] == low  # nothing moves after the button is up


@pytest.mark.browser
def test_bars_follow_a_finger(open_page):
    figure = Figure(open_page(INDEX, width=360, has_touch=True))
    box = figure.box.get_by_role("slider", name="x, feature 3").bounding_box()
    figure.page.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + 0.8 * box["height"])
    assert figure.shown(0)[2] < 0
    assert figure.agrees()


@pytest.mark.browser
@pytest.mark.parametrize(
    ("button", "x", "changes", "says"),
    [
        ("constant row", [7, 7, 7, 7], {}, "y is β"),
        ("tiny row", [1e-3, 2e-3, 1e-3, 2e-3], {}, "x̂ moved"),
        ("one outlier", [1, 0, 0, 0], {}, "x̂ moved"),
        ("×50", [100, 200, 300, 400], {}, "x̂ did not move"),
        ("+100", [102, 104, 106, 108], {}, "x̂ did not move"),
        ("one feature ×10", [20, 4, 6, 8], {}, "x̂ moved"),
        ("no-op: γ = σ, β = μ", [2, 4, 6, 8], {"gamma": 5**0.5, "beta": 5.0}, "y gives x back"),
        ("batch of one", [2, 4, 6, 8], {"norm": "batch", "batch": []}, "y is β"),
        ("reset", [2, 4, 6, 8], {}, ""),
    ],
)
def test_buttons(figure, button, x, changes, says):
    figure.box.get_by_role("button", name=button, exact=True).click()
    assert figure.shown(0) == pytest.approx(x)
    figure.state |= changes
    assert figure.agrees()
    assert says in figure.box.locator("[role=status]").text_content()


@pytest.mark.browser
def test_shows_a_picture_without_javascript(open_page):
    page = open_page(INDEX, java_script_enabled=False)
    picture = page.locator(".normlib-explorer svg[role=img]").first
    assert picture.is_visible()
    assert "mean 5" in picture.get_attribute("aria-label")


def test_module_is_small():
    assert len(SOURCE.encode()) < 15_000


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
