"""The circle, the Jacobian and the batch sizes in a real browser: numbers, mouse, touch, keyboard, and motion."""

import json

import numpy as np
import pytest
import traitlets
from figure import Figure, contrast, on_page, unreadable

from normlib import batch_norm, layer_norm, standardize, standardize_jacobian
from normlib.widgets import BatchSize, Circle, Jacobian, source

INDEX, ANALYSIS, MASTERY = (f"chapters/{name}.html" for name in ("index", "level-3-analysis", "level-5-mastery"))
PLACES = [(ANALYSIS, "circle"), (ANALYSIS, "batchsize"), (MASTERY, "circle"), (MASTERY, "jacobian")]


def close(found, expected):
    """Whether both agree to 1e-9 of the largest number."""
    expected = np.asarray(expected)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    return True


def random_row(seed, size):
    rng = np.random.default_rng(seed)
    return 10.0 ** rng.integers(-3, 4) * rng.normal(rng.normal(0, 3), 1, size)


# What the modules compute


@pytest.mark.browser
@pytest.mark.parametrize("seed", range(12))
def test_circle_computes_what_normlib_computes(run_module, seed):
    x = random_row(seed, 3)
    found = run_module("circle", "m.compute(argument)", {"x": x.tolist()})
    assert close(found["mu"], x.mean())
    assert close(found["sigma"], x.std())
    assert close(found["centered"], x - x.mean())
    assert close(found["x_hat"], standardize(x))
    assert close(found["gradient"], standardize_jacobian(x))


@pytest.mark.browser
@pytest.mark.parametrize("seed", range(12))
def test_jacobian_computes_what_normlib_computes(run_module, seed):
    x = random_row(seed, 2 + seed % 5)
    found = run_module("jacobian", "m.compute(argument)", {"x": x.tolist()})
    right = standardize_jacobian(x)
    assert close(found["x_hat"], standardize(x))
    np.testing.assert_allclose(found["jacobian"], right, rtol=1e-9, atol=1e-9 / x.std())
    np.testing.assert_allclose(found["sums"], 0, atol=1e-9 / x.std())
    np.testing.assert_allclose(found["weighted"], 0, atol=1e-9 * np.abs(x).max() / x.std())


@pytest.mark.browser
@pytest.mark.parametrize("seed", range(12))
def test_batch_size_computes_what_normlib_computes(run_module, seed):
    rng = np.random.default_rng(seed)
    x = np.array([random_row(100 * seed + i, 2 + seed % 5) for i in range(8)])
    mean, var, eps = rng.normal(size=x.shape[1]), rng.uniform(0.1, 9, x.shape[1]), 10.0 ** rng.integers(-8, 0)
    size = int(rng.integers(1, 9))
    state = {"x": x.tolist(), "size": size, "mean": mean.tolist(), "var": var.tolist(), "eps": eps}
    found = run_module("batch", "m.compute(argument)", state)
    served, _ = batch_norm(x[:1], running=(mean, var), training=False, eps=eps)
    np.testing.assert_allclose(found["training"], batch_norm(x[:size], eps=eps)[0], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found["inference"], served[0], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found["layer"], layer_norm(x[0], eps=eps), rtol=1e-9, atol=1e-9)


@pytest.mark.browser
def test_a_constant_row_has_no_direction(run_module):
    for name in ("circle", "jacobian"):
        for value in (7, 0.1):  # the mean of three times 0.1 is not 0.1 in the first pass
            assert np.isnan(run_module(name, "m.compute(argument).x_hat", {"x": [value] * 3})).all()


# On the page


class OnCircle(Figure):
    def __init__(self, page):
        super().__init__(page, on_page(page, "circle"))
        self.handle = self.box.get_by_role("slider", name="x − μ")
        self.point = self.box.get_by_role("slider", name="x, its mean")
        self.plane = self.box.locator("svg").nth(1)

    def x(self):
        return self.values("input[type=range]")

    def middle(self, handle):
        box = handle.locator("circle").last.bounding_box()
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def agrees(self):
        x_hat = self.values(".nl-numbers")
        assert close(x_hat, standardize(self.x()))
        return True

    def arrow(self):
        """Where the gradient's arrow begins and ends, and the middle of the circle, in the picture's units."""
        ends = "(line) => ['x1', 'y1', 'x2', 'y2'].map((name) => Number(line.getAttribute(name)))"
        return self.plane.locator("line").last.evaluate(ends), (150, 135)

    def in_plane(self, across, up):
        """A place in the plane, from its middle, as a share of half its width, in pixels of the window."""
        box = self.plane.bounding_box()
        half = box["width"] / 2
        return box["x"] + half * (1 + across), box["y"] + box["height"] / 2 - half * up


@pytest.fixture
def circle(open_page):
    return OnCircle(open_page(ANALYSIS))


@pytest.mark.browser
def test_circle_follows_its_coordinates(circle):
    assert circle.x().tolist() == [4, 5, 0]
    for j in range(3):
        before = circle.x()
        circle.box.locator(f"input[name=x{j + 1}]").focus()
        for _ in range(3):
            circle.page.keyboard.press("ArrowRight")
        assert circle.x() == pytest.approx(before + 0.3 * np.eye(3)[j])
        assert circle.agrees()


@pytest.mark.browser
def test_circle_turns_by_keyboard(circle):
    circle.handle.focus()
    start = circle.x()
    for key, degrees in (("ArrowRight", 3), ("ArrowUp", 3), ("ArrowLeft", -3), ("PageDown", -30), ("PageUp", 30)):
        before = float(circle.handle.get_attribute("aria-valuenow"))
        circle.page.keyboard.press(key)
        assert float(circle.handle.get_attribute("aria-valuenow")) == before + degrees
        assert circle.x().mean() == pytest.approx(start.mean())
        assert circle.x().std() == pytest.approx(start.std())
        assert circle.agrees()
    assert "x̂ = (" in circle.handle.get_attribute("aria-valuetext")
    assert circle.handle.evaluate("(element) => document.activeElement === element")


@pytest.mark.browser
def test_circle_follows_the_mouse_and_reaches_the_bound(circle):
    circle.drag(circle.middle(circle.handle), circle.in_plane(0.4, -0.1))
    assert circle.x().mean() == pytest.approx(3)
    assert circle.agrees()
    assert circle.says().startswith("x̂ = (")
    # almost straight up, where x̂₁ is largest
    circle.drag(circle.middle(circle.handle), circle.in_plane(0.4, 0.4), circle.in_plane(0.01, 0.5))
    x = circle.x()
    assert x[1] == pytest.approx(x[2])
    assert standardize(x)[0] == pytest.approx(np.sqrt(2))
    assert "|x̂₁| is √2" in circle.says()
    circle.page.mouse.move(*circle.in_plane(-0.3, 0))
    assert circle.x().tolist() == x.tolist()  # nothing moves after the button is up
    assert circle.agrees()


@pytest.mark.browser
def test_x_is_dragged_in_space(circle):
    """Straight up is along (1, 1, 1): μ alone changes. Sideways is along (0, 1, −1)."""
    x, x_hat = circle.x(), circle.values(".nl-numbers")
    across, up = circle.middle(circle.point)
    circle.drag((across, up), (across, up + 60))
    assert circle.x() - x == pytest.approx(np.full(3, circle.x()[0] - x[0]), abs=1e-5)
    assert circle.x()[0] < x[0] - 1
    assert circle.values(".nl-numbers") == pytest.approx(x_hat, abs=1e-5)
    before = circle.x()
    across, up = circle.middle(circle.point)
    circle.drag((across, up), (across - 60, up))
    change = circle.x() - before
    assert change[1] < -0.5
    assert change == pytest.approx(change[1] * np.array([0, 1, -1]), abs=1e-5)
    assert circle.agrees()


@pytest.mark.browser
def test_x_is_shifted_by_keyboard(circle):
    circle.point.focus()
    x_hat = circle.values(".nl-numbers")
    for key, shift in (
        ("ArrowUp", 0.1),
        ("ArrowLeft", -0.1),
        ("PageUp", 1),
        ("PageDown", -1),
        ("Home", -12),
        ("End", 18),
    ):
        before = circle.x()
        circle.page.keyboard.press(key)
        assert circle.x() == pytest.approx(before + shift)
        assert float(circle.point.get_attribute("aria-valuenow")) == pytest.approx(circle.x().mean())
        assert circle.values(".nl-numbers") == pytest.approx(x_hat)
    assert circle.point.get_attribute("aria-valuetext").startswith("x = (")
    assert circle.point.evaluate("(element) => document.activeElement === element")


@pytest.mark.browser
def test_circle_follows_a_finger(open_page):
    circle = OnCircle(open_page(ANALYSIS, width=360, has_touch=True))
    circle.plane.scroll_into_view_if_needed()
    circle.swipe(circle.middle(circle.handle), circle.in_plane(-0.3, 0.2))
    x = circle.x()
    assert x[2] > x[1]  # to the left: towards the third axis
    assert circle.agrees()
    circle.point.scroll_into_view_if_needed()
    across, up = circle.middle(circle.point)
    circle.swipe((across, up), (across, up + 40))
    assert circle.x()[0] < x[0]
    assert circle.agrees()


@pytest.mark.browser
def test_shift_and_scale_move_the_row_and_nothing_else(circle):
    x_hat = circle.values(".nl-numbers")
    for name in ("shift it", "scale it", "shift it", "scale it"):
        before = circle.x()
        circle.press(name)
        change = circle.x() - before if name == "shift it" else circle.x() / before
        assert change == pytest.approx(np.full(3, change[0]))
        assert abs(change[0] - (name == "scale it")) > 0.5
        assert circle.values(".nl-numbers") == pytest.approx(x_hat)
        assert circle.says().endswith("x̂ did not move.")
        assert circle.box.locator(".nl-glow").count() == 2
        assert circle.agrees()
    circle.press("reset")
    assert circle.x().tolist() == [4, 5, 0]
    assert circle.box.locator(".nl-glow").count() == 0


@pytest.mark.browser
@pytest.mark.parametrize("name", ["shift it", "scale it"])
def test_what_is_played_glows_and_comes_back(circle, name):
    circle.page.emulate_media(reduced_motion="no-preference")
    first = circle.box.locator("input[name=x1]")
    x_hat = circle.values(".nl-numbers")
    circle.press(name)
    circle.page.wait_for_function("(input) => input.dataset.value < 3", arg=first.element_handle())
    assert circle.box.locator(".nl-glow").count() == 2
    assert circle.values(".nl-numbers") == pytest.approx(x_hat)
    circle.page.wait_for_function("!document.querySelector('.nl-glow')")
    assert circle.x().tolist() == [4, 5, 0]


@pytest.mark.browser
def test_a_hand_on_a_slider_ends_what_is_played(circle):
    circle.page.emulate_media(reduced_motion="no-preference")
    circle.press("shift it")
    circle.box.locator("input[name=x1]").focus()
    circle.page.keyboard.press("End")
    assert circle.box.locator(".nl-glow").count() == 0
    circle.page.wait_for_timeout(100)
    assert circle.x().tolist() == [10, 5, 0]


@pytest.mark.browser
def test_gradient_lies_along_the_circle_and_ends_at_the_bound(circle):
    for j, name in ((1, "x̂₂"), (2, "x̂₃"), (0, "x̂₁")):
        circle.choose(name)
        assert circle.says().startswith(f"∇{name} = (")
        shown = circle.box.locator(f".nl-numbers span:has-text('∇{name}') b").text_content()
        gradient = [float(v) for v in shown.strip("()").replace("−", "-").split(",")]
        assert gradient == pytest.approx(standardize_jacobian([4, 5, 0])[j], rel=1e-3)
        (x1, y1, x2, y2), (x, y) = circle.arrow()
        assert (x2 - x1) * (x1 - x) + (y2 - y1) * (y1 - y) == pytest.approx(0, abs=1e-6)  # across the ray
    circle.press("to the bound")
    assert np.abs(circle.values(".nl-numbers")).max() == pytest.approx(np.sqrt(2))
    assert circle.values(".nl-numbers").argmax() == 1  # where (4, 5, 0) is largest
    assert circle.plane.locator("circle[fill-opacity='1']").count() == 1
    assert circle.box.get_by_label("x̂₂", exact=True).is_checked()
    assert "∇x̂₂ is 0" in circle.says()
    assert "its length = 0" in circle.box.locator(".nl-numbers").text_content()


@pytest.mark.browser
@pytest.mark.parametrize("x", [(5, 4, 0), (4, 5, 0), (0, 4, 5), (0.5, 0.4, 0)])
def test_nothing_stands_on_the_label_of_the_bound(circle, x):
    for j, value in enumerate(x):
        circle.box.locator(f"input[name=x{j + 1}]").fill(str(value))
    circle.press("to the bound")
    name = f"x̂{'₁₂₃'[x.index(max(x))]}"
    assert circle.box.get_by_label(name, exact=True).is_checked()
    assert circle.plane.locator("text", has_text=f"∇{name}").count() == 0  # no arrow, no name
    met = circle.plane.locator("text", has_text=f"{name} = √2").evaluate(MEETS)
    assert met == []


# What a text meets in its picture: dots, other texts, and lines, taken at 51 places along them.
MEETS = """(text) => {
  const own = text.getBoundingClientRect();
  const inside = (x, y) => own.left < x && x < own.right && own.top < y && y < own.bottom;
  const meets = (part) => {
    if (part.tagName === "line") {
      const [from, to] = [0, part.getTotalLength()].map((far) => part.getPointAtLength(far));
      const all = part.getScreenCTM();
      return Array.from({ length: 51 }, (_, i) => i / 50).some((t) => {
        const at = new DOMPoint(from.x + t * (to.x - from.x), from.y + t * (to.y - from.y)).matrixTransform(all);
        return inside(at.x, at.y);
      });
    }
    const box = part.getBoundingClientRect();
    return box.left < own.right && own.left < box.right && box.top < own.bottom && own.top < box.bottom;
  };
  const parts = [...text.ownerSVGElement.querySelectorAll("line, text, circle:not([fill=none], .nl-hit)")];
  return parts.filter((part) => part !== text && meets(part)).map((part) => part.outerHTML);
}"""


class HeatMap(Figure):
    def __init__(self, page, index=1):
        super().__init__(page, on_page(page, "jacobian", index))

    def agrees(self):
        x, shown = self.row(), self.values("svg[role=img] text[data-value]")
        H = x.size
        jacobian, sums = shown[: H * H].reshape(H, H), shown[H * H :]
        np.testing.assert_allclose(jacobian, standardize_jacobian(x), rtol=1e-9, atol=1e-9 / x.std())
        np.testing.assert_allclose(sums, 0, atol=1e-9)
        return True


@pytest.mark.browser
def test_ten_times_larger_is_ten_times_flatter(open_page):
    figure = HeatMap(open_page(MASTERY))
    entry = figure.box.locator("svg[role=img] text[data-value]").first
    assert entry.text_content() == "0.1342"
    assert figure.agrees()
    figure.press("×10")
    assert entry.text_content() == "0.01342"
    assert figure.says() == "∂x̂₁/∂x₁ went from 0.1342 to 0.01342; x̂ did not move."
    assert figure.values("[role=slider] text").tolist() == [20, 40, 60, 80]
    assert figure.agrees()
    for name, still in (("+100", True), ("÷10", True), ("one outlier", False)):
        figure.press(name)
        assert figure.says().endswith("x̂ did not move." if still else "x̂ moved.")
        assert figure.agrees()
    figure.press("reset")
    assert entry.text_content() == "0.1342"


@pytest.mark.browser
def test_sums_of_the_rows_are_shown_as_zero(open_page):
    figure = HeatMap(open_page(MASTERY), 0)
    figure.press("×10")
    texts = figure.box.locator("svg[role=img] text[data-value]").all_text_contents()
    assert texts[16:] == ["0"] * 8
    assert "row 1: (0.01974" in figure.box.locator("svg[role=img]").get_attribute("aria-label")


@pytest.mark.browser
@pytest.mark.parametrize("width", [1200, 360])
def test_jacobian_follows_keyboard_mouse_and_finger(open_page, width):
    figure = HeatMap(open_page(MASTERY, width=width, has_touch=True), 0)
    figure.try_bar(2, figure.agrees)
    assert figure.says().startswith("∂x̂₁/∂x₁ = ")


@pytest.mark.browser
def test_a_constant_row_has_no_jacobian(open_page):
    figure = HeatMap(open_page(MASTERY))
    for feature in range(1, 5):
        figure.bar(feature).focus()
        figure.page.keyboard.press("End")
    assert figure.says() == "0/0: a constant row has no x̂ without ε."
    assert figure.box.locator("svg[role=img] text[data-value]").first.text_content() == "NaN"


class Batch(Figure):
    def __init__(self, page):
        super().__init__(page, on_page(page, "batchsize"))
        self.state = json.loads(self.box.get_attribute("data-state"))

    def outputs(self, panel):
        """Training and inference of BatchNorm (panel 2) or LayerNorm (panel 3), each (H,)."""
        shown = self.values(f".nl-pair > div:nth-child({panel + 1}) text")
        return shown.reshape(-1, 2).T

    def agrees(self):
        x = np.array(self.state["x"])
        x[0] = self.row()
        training, inference = self.outputs(2)
        running = self.state["mean"], self.state["var"]
        served, _ = batch_norm(x[:1], running=running, training=False)
        np.testing.assert_allclose(training, batch_norm(x[: self.state["size"]])[0], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(inference, served[0], rtol=1e-9, atol=1e-9)
        for same in self.outputs(3):
            np.testing.assert_allclose(same, layer_norm(x[0]), rtol=1e-9, atol=1e-9)
        return True


@pytest.fixture
def batch(open_page):
    return Batch(open_page(ANALYSIS, has_touch=True))


@pytest.mark.browser
def test_each_batch_size_changes_batch_norm_alone(batch):
    assert batch.agrees()
    layer = batch.outputs(3)
    for size in (8, 2, 1, 4):
        before, inference = batch.outputs(2)
        batch.choose(str(size))
        batch.state["size"] = size
        assert batch.agrees()
        assert np.abs(batch.outputs(2)[0] - before).max() > 0.1
        assert (batch.outputs(2)[1] == inference).all()
        assert (batch.outputs(3) == layer).all()
        assert "LayerNorm's by 0." in batch.says()


@pytest.mark.browser
def test_in_a_batch_of_one_training_loses_the_example(batch):
    batch.choose("1")
    batch.state["size"] = 1
    assert batch.says().startswith("In a batch of one, BatchNorm returns 0 in training, whatever the example is.")

    def agrees():
        assert batch.agrees()
        assert (batch.outputs(2)[0] == 0).all()

    batch.try_bar(1, agrees)


@pytest.mark.browser
def test_louder_company_changes_batch_norm_alone(batch):
    training, inference = batch.outputs(2)
    layer = batch.outputs(3)
    batch.press("the others ×10")
    batch.state["x"] = [row if i == 0 else [10 * v for v in row] for i, row in enumerate(batch.state["x"])]
    assert batch.agrees()
    assert np.abs(batch.outputs(2)[0] - training).max() > 0.1
    assert (batch.outputs(2)[1] == inference).all()
    assert (batch.outputs(3) == layer).all()
    batch.press("reset")
    assert batch.outputs(2)[0] == pytest.approx(training)


@pytest.mark.browser
@pytest.mark.parametrize(("path", "name"), PLACES)
def test_shows_a_picture_without_javascript(open_page, path, name):
    page = open_page(path, java_script_enabled=False)
    figure = page.locator(f".normlib-{name}").first
    assert figure.locator("svg[role=img]").first.is_visible()
    assert "With JavaScript" in figure.locator("p").text_content()


# By keyboard, in every theme and width, and to everybody's eyes

FIGURES = [(INDEX, "explorer"), *PLACES]


@pytest.mark.browser
@pytest.mark.parametrize(("path", "name"), FIGURES)
def test_keyboard_alone_reaches_every_control_and_shows_where_it_is(open_page, path, name):
    page = open_page(path)
    figure = Figure(page, on_page(page, name))
    reached, hidden = figure.tab_through()
    assert reached == figure.controls() > 5
    assert hidden == []


@pytest.mark.browser
@pytest.mark.parametrize(("path", "name"), FIGURES)
def test_every_button_says_something_when_pressed_by_keyboard(open_page, path, name):
    page = open_page(path)
    figure = Figure(page, on_page(page, name))
    for button in figure.box.get_by_role("button").all():
        if button.text_content() != "reset":
            figure.press("reset")
            button.focus()
            figure.page.keyboard.press("Enter")
            assert len(figure.says()) > 20


@pytest.mark.browser
@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("path", [INDEX, ANALYSIS, MASTERY])
def test_live_figures_are_accessible_and_readable(open_page, path, theme, width):
    page = open_page(path, theme=theme, width=width)
    page.evaluate("document.querySelectorAll('details').forEach((details) => { details.open = true; })")
    page.locator(".nl-live").first.wait_for()
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
    found = axe.run(page, context=".nl-live", options={"runOnly": tags}).response
    assert len(found["passes"]) > 10
    assert [(violation["id"], violation["nodes"][0]["html"][:200]) for violation in found["violations"]] == []
    assert page.locator(".nl-live text").count() > 10
    assert unreadable(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_contrast_is_measured_as_wcag_does():
    assert contrast((0, 0, 0), (255, 255, 255)) == pytest.approx(21)
    assert contrast((0x77, 0x77, 0x77), (255, 255, 255)) == pytest.approx(4.48, abs=0.005)  # the well-known near miss


# In Python


@pytest.mark.browser
@pytest.mark.parametrize("name", ["explorer", "circle", "jacobian", "batch"])
def test_module_is_small_and_whole(run_module, name):
    text = source(name)
    assert run_module(name, "typeof m.default.render", None) == "function"
    assert len(text.encode()) < 15_000
    assert "import " not in text
    assert text.count("export default") == 1


def test_python_side_agrees():
    x = random_row(4, 3)
    assert close(Circle(x=x.tolist()).x_hat, (x - x.mean()) / x.std())
    jacobian = Jacobian(x=[2, 4, 6, 8]).jacobian
    assert jacobian[0, 0] == pytest.approx(0.3 / np.sqrt(5))
    outputs = BatchSize(size=1).outputs
    assert outputs["training"].tolist() == [0, 0, 0, 0]
    assert outputs["layer"] == pytest.approx(np.array([-3, -1, 1, 3]) / np.sqrt(5 + 1e-5))
    assert outputs["inference"][0] == pytest.approx((2 - 3.5) / np.sqrt(6 + 1e-5))  # 2, 1, 5, 3, 6, 4, 0, 7


@pytest.mark.parametrize("widget", [Circle(), Circle(x=[7, 7, 7]), Jacobian(), Jacobian(x=[1, 1]), BatchSize()])
def test_every_widget_displays(widget):
    bundle, _ = widget._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert "data-state=" in bundle["text/html"]
    assert 'role="img"' in bundle["text/html"]


@pytest.mark.parametrize(
    ("widget", "wrong"),
    [
        (Circle, {"x": [1, 2]}),
        (Jacobian, {"x": [1]}),
        (Jacobian, {"x": [1] * 7}),
        (BatchSize, {"size": 0}),
        (BatchSize, {"size": 9}),
        (BatchSize, {"x": [[1, 2], [1, 2, 3]]}),
        (BatchSize, {"mean": [1, 2]}),
        (BatchSize, {"var": [1, 2, 3, -1]}),
        (BatchSize, {"eps": 0.0}),
    ],
)
def test_python_side_refuses_what_does_not_fit(widget, wrong):
    with pytest.raises(traitlets.TraitError):
        widget(**wrong)
