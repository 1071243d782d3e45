"""Every widget in a running JupyterLab: it is drawn, each way to move it works, and Python follows and leads."""

import itertools
import re

import nbformat
import numpy as np
import pytest
from figure import Figure, unreadable
from jupyter_lab import answer, cell, run

from normlib import layer_norm, standardize_jacobian

pytestmark = pytest.mark.browser


@pytest.fixture
def show(lab, course, open_lab):
    """Run a cell in a new notebook; give where its output is, and a way to ask Python."""

    def show(code):
        name = re.sub(r"\W+", "-", code)
        cells = [f"from normlib.widgets import *\nw = {code}\nw", "# ask"]
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in cells])
        notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
        nbformat.write(notebook, course / f"{name}.ipynb")
        page = open_lab(lab, f"{name}.ipynb")
        run(page, f"w = {code}")
        box = cell(page, f"w = {code}").locator(".jp-Cell-outputArea")
        turns = itertools.count()

        def ask(expression, first=""):
            """Give what Python says, after it did something first."""
            turn = f"turn {next(turns)}: "
            answer(page, "# ask", f"# ask\n{first}\nprint('{turn}', {expression})")
            said = cell(page, "# ask").locator(".jp-OutputArea-output", has_text=turn)
            return eval(said.inner_text().split(":", 1)[1], {"np": np})  # numbers and lists that the test asked for

        return page, box, ask

    return show


@pytest.fixture
def figure(show):
    """Show a live figure; its numbers must become what Python says."""

    def figure(code):
        page, box, ask = show(code)
        return Figure(page, box), ask

    return figure


def test_explorer(figure):
    figure, ask = figure("Explorer(x=[2, 4, 6, 8])")

    def agrees():
        y = figure.values(".nl-panels > :nth-child(4) text")
        assert ask("w.x") == figure.row().tolist()
        assert ask("w.y.tolist()") == pytest.approx(y)

    assert figure.tab_through() == (figure.controls(), [])
    assert figure.controls() == 4 + 1 + 9 + 3  # bars, norms, buttons, sliders
    agrees()
    figure.try_bar(2, lambda: None)
    agrees()
    figure.press("one outlier")
    assert ask("w.x") == [1, 0, 0, 0]
    for name, key in (("gamma", "Home"), ("beta", "End"), ("eps", "Home")):
        figure.box.locator(f"input[name={name}]").focus()
        figure.page.keyboard.press("ArrowUp")
        figure.page.keyboard.press(key)
    assert ask("[w.gamma, w.beta, w.eps]") == [-4, 10, 0]
    agrees()
    figure.choose("RMSNorm")
    assert ask("[w.norm]") == ["rms"]
    agrees()
    figure.press("batch of one")
    assert ask("[w.norm, w.batch]") == ["batch", []]
    ask("0", "w.norm, w.x, w.gamma, w.beta, w.eps = 'layer', [1, 2, 3, 5], 2, 1, 1e-3")
    figure.box.locator("[aria-valuetext='5']").wait_for()
    assert figure.row().tolist() == [1, 2, 3, 5]
    x = np.array([1.0, 2, 3, 5])
    shown = figure.values(".nl-panels > :nth-child(4) text")
    np.testing.assert_allclose(shown, layer_norm(x, np.full(4, 2.0), np.ones(4), eps=1e-3), rtol=1e-9)
    agrees()
    ask("0", "with w.hold_trait_notifications(): w.x, w.batch = [3, 1], []")  # another length
    figure.bar(3).wait_for(state="detached")
    assert figure.row().tolist() == [3, 1]


def test_circle(figure):
    figure, ask = figure("Circle(x=[4, 5, 0])")

    def x():
        return figure.values("input[type=range]").tolist()

    assert figure.tab_through() == (figure.controls(), [])
    for name, key in (("x − μ", "ArrowUp"), ("x, its mean", "PageDown")):
        before = x()
        handle = figure.box.get_by_role("slider", name=name)
        handle.focus()
        figure.page.keyboard.press(key)
        assert x() != before
        assert ask("w.x") == x()
        place = handle.locator("circle").last.bounding_box()
        start = place["x"] + place["width"] / 2, place["y"] + place["height"] / 2
        for move in (figure.drag, figure.swipe):
            before = x()
            move(start, (start[0] - 40, start[1] + 20))
            assert x() != before
            start = start[0] - 40, start[1] + 20
        assert ask("w.x") == x()
    for button in ("shift it", "scale it", "to the bound"):
        before = x()
        figure.press(button)
        assert x() != before
        assert ask("w.x") == x()
    assert np.abs(ask("w.x_hat.tolist()")).max() == pytest.approx(np.sqrt(2))
    figure.choose("x̂₃")
    assert figure.says().startswith("∇x̂₃ = (")
    figure.box.locator("input[name=x3]").focus()
    figure.page.keyboard.press("Home")
    assert ask("w.x[2]") == -10
    ask("0", "w.x = [1, 2, 6]")
    figure.box.locator("input[name=x3][data-value='6']").wait_for()
    assert x() == [1, 2, 6]


def test_jacobian(figure):
    figure, ask = figure("Jacobian(x=[2, 4, 6, 8])")

    def agrees():
        shown = figure.values("svg[role=img] text[data-value]")
        size = figure.row().size
        assert ask("w.x") == figure.row().tolist()
        assert shown[: size * size] == pytest.approx(standardize_jacobian(figure.row()).ravel(), abs=1e-9)

    assert figure.tab_through() == (figure.controls(), [])
    figure.try_bar(1, lambda: None)
    agrees()
    figure.press("reset")
    figure.press("×10")
    assert "went from 0.1342 to 0.01342" in figure.says()
    agrees()
    for button in ("÷10", "+100", "one outlier"):
        figure.press(button)
        agrees()
    ask("0", "w.x = [1, 2, 6]")  # another length
    figure.bar(4).wait_for(state="detached")
    assert figure.row().tolist() == [1, 2, 6]
    agrees()
    figure.bar(3).focus()
    figure.page.keyboard.press("ArrowUp")
    agrees()


def test_batch_size(figure):
    figure, ask = figure("BatchSize()")

    def agrees():
        pair = figure.values(".nl-pair > div:nth-child(3) text").reshape(-1, 2).T
        assert ask("w.x[0]") == figure.row().tolist()
        assert ask("w.outputs['training'].tolist()") == pytest.approx(pair[0])
        assert ask("w.outputs['inference'].tolist()") == pytest.approx(pair[1])

    assert figure.tab_through() == (figure.controls(), [])
    for size in (1, 2, 8):
        figure.choose(str(size))
        assert ask("w.size") == size
        agrees()
    figure.try_bar(4, lambda: None)
    figure.press("the others ×10")
    agrees()
    ask("0", "w.size = 2")
    figure.box.locator("input[value='2']:checked").wait_for()
    agrees()


def test_arrow_keys_stay_in_the_figure(figure):
    figure, _ = figure("Explorer(x=[2, 4, 6, 8])")
    for control in (figure.bar(1), figure.box.locator("input[name=gamma]")):
        control.focus()
        for key in ("ArrowDown", "ArrowUp", "PageDown", "Home", "End"):
            figure.page.keyboard.press(key)
            assert control.evaluate("(element) => element === document.activeElement")


def test_self_check(show):
    _, box, _ = show('self_check("2.1")')
    fields = box.locator("form input")
    fields.first.wait_for()
    for field, text in zip(fields.all(), ("5", "6.6667", "-1.3416, -0.4472, 0.4472, 1.3416"), strict=True):
        field.press_sequentially(text)  # each key: JupyterLab has shortcuts for many of them
    box.get_by_role("button", name="Check", exact=True).press("Enter")
    box.get_by_text("(ddof=1)").wait_for()
    fields.nth(1).fill("5")
    fields.nth(1).press("Enter")
    box.get_by_text("3 of 3 right").wait_for()


def test_sliders(show):
    page, box, ask = show("sliders((2, 4, 6, 8))")
    handles = box.get_by_role("slider")
    handles.first.wait_for()
    keys = ["ArrowLeft"] * 6 + ["End"]  # the last is ε: only a large one is seen
    for handle, key in zip(handles.all(), keys, strict=True):
        before = ask("[w.children[-1].value]")
        handle.focus()
        page.keyboard.press(key)
        assert ask("[w.children[-1].value]") != before
    before = ask("[w.children[-1].value]")
    box.get_by_role("combobox").select_option("RMSNorm")
    assert ask("[w.children[-1].value]") != before
    assert ask("[child.value for child in w.children[:4]]") != [2, 4, 6, 8]


@pytest.mark.parametrize("theme", ["Light", "Dark"])
def test_figures_are_readable_in_each_theme(figure, theme):
    explorer, _ = figure("Explorer(x=[2, 4, 6, 8])")
    page = explorer.page
    page.get_by_role("menuitem", name="Settings", exact=True).click()
    page.locator(".lm-Menu-item", has_text="Theme").first.hover()
    page.locator(".lm-Menu-item", has_text=f"JupyterLab {theme}").first.click()
    page.locator(f"body[data-jp-theme-light={str(theme == 'Light').lower()}]").wait_for(state="attached")
    assert explorer.box.locator("svg text").count() == 16
    assert unreadable(page) == []
    for code in ("Circle()", "Jacobian()", "BatchSize()"):
        page = figure(code)[0].page
        assert page.locator("body").get_attribute("data-jp-theme-light") == str(theme == "Light").lower()
        assert unreadable(page) == []
