"""The self-check in JupyterLab: the page's own form, with as many new numbers as are wanted, by keyboard alone."""

import nbformat
import pytest
from jupyter_lab import run

from normlib import practice
from normlib.practice import as_html
from normlib.widgets import PREPARED

pytestmark = pytest.mark.browser


def test_new_numbers_by_keyboard_and_from_the_kernel(lab, course, open_lab):
    source = 'from normlib.widgets import self_check\nself_check("5.2")'
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(notebook, course / "exercises" / "practice.ipynb")
    page = open_lab(lab, "exercises/practice.ipynb")
    run(page, "self_check")
    form = page.get_by_role("form", name="Self-check of exercise 5.2")
    form.locator("#check-5-2-bound_at_4").fill("3")
    form.locator("#check-5-2-bound_at_4").press("Enter")
    form.get_by_text("This bounds the square. Take the root.").wait_for()
    more = form.get_by_role("button", name="New numbers")
    more.focus()
    for number in range(1, PREPARED + 3):  # two more than were prepared
        page.keyboard.press(("Enter", "Space")[number % 2])
        form.get_by_text(f"5.2 with new numbers, {number}", exact=True).wait_for()
        statement = form.locator("div[role=status]").text_content()
        assert statement in {as_html(practice("5.2", seed).question) for seed in range(1, 20)}
    width = int(statement.partition("H = ")[2].partition(" ")[0])
    page.keyboard.press("Tab")
    page.keyboard.type(f"√{width - 1}")
    page.keyboard.press("Tab")
    page.keyboard.type(f"sqrt({width})")
    page.keyboard.press("Enter")
    form.get_by_text("2 of 2 right.").wait_for()
