"""JupyterLab as students and instructors use it: checks, Validate, authored notebooks, the formgrader."""

import os
import re
import shutil

import pytest
from jupyter_lab import answer, cell, run, serve

from grading.validating import PASSED

pytestmark = pytest.mark.browser

STEM = "level-2-application"
ANSWER = {  # by hand
    False: "mean = 5\nvariance = 20 / 3\nstandardized = None",
    True: "mean = 5\nvariance = 5\nstandardized = [-1.3416, -0.4472, 0.4472, 1.3416]",
}


def validate(page):
    """Press the button, and give what the dialog says."""
    page.get_by_role("button", name="Validate").click()
    dialog = page.get_by_role("dialog")
    said = dialog.locator(".jp-Dialog-body").inner_text()
    dialog.get_by_role("button", name="Ok").click()
    dialog.wait_for(state="detached")
    return said


def test_a_check_says_which_mistake_was_made_and_then_that_it_is_right(lab, open_lab):
    page = open_lab(lab, f"exercises/{STEM}/{STEM}.ipynb")
    run(page, "from normlib import check")
    answer(page, "mean = None", ANSWER[False])
    run(page, 'check("2.1", mean=mean')
    status = cell(page, 'check("2.1", mean=mean').get_by_role("status")
    status.get_by_text("You divided by H − 1 (ddof=1)").wait_for()
    assert "○ Missing – standardized: still empty." in status.inner_text()
    answer(page, "mean = 5", ANSWER[True])
    run(page, 'check("2.1", mean=mean')
    status.get_by_text("✓ Right – standardized: correct.").wait_for()
    assert "✗" not in status.inner_text()


def test_run_all_goes_on_after_a_failed_test_and_shows_no_traceback(lab, open_lab):
    page = open_lab(lab, f"exercises/{STEM}/{STEM}.ipynb")
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    cell(page, "# Tests your layer_norm of exercise 2.2").get_by_text("○ Missing – constant_rows").wait_for()
    assert page.get_by_text("Traceback").count() == 0


def test_validate_tells_wrong_answers_right_ones_and_none_apart(lab, course, open_lab, write_notebook):
    folder = course / "exercises" / "mine"
    folder.mkdir()

    def verdict(*args, **kwargs):
        shutil.copy(write_notebook(STEM, *args, **kwargs), folder)
        return validate(open_lab(lab, f"exercises/mine/{STEM}.ipynb"))

    blank = verdict()
    assert blank.count("The following cell failed:") == 11
    assert "mean: still empty. Give μ, one number." in blank
    assert "Traceback" not in blank
    wrong = verdict({"ex-2-1-answer": ANSWER[False]}, solved=True)
    assert "Tests the variance (1 point)." in wrong
    assert "Tests the mean (1 point)." not in wrong
    assert "You divided by H − 1 (ddof=1)" in wrong
    assert verdict(solved=True) == PASSED


@pytest.mark.parametrize("start", ["..", f"exercises/{STEM}"])
def test_validate_judges_alike_wherever_lab_was_started(course, open_lab, write_notebook, tmp_path, start):
    path = shutil.copy(write_notebook(STEM, solved=True), course / "exercises" / STEM)
    with serve(course / start, tmp_path) as address:
        page = open_lab(address, os.path.relpath(path, course / start))
        assert validate(page) == PASSED
        page.close()  # or it would complain that the server is gone


def test_validate_meets_a_split_cell_and_an_unknown_kernel_with_one_sentence(lab, course, open_lab, write_notebook):
    def change(notebook, cells):
        notebook.metadata.kernelspec = {"name": "python2", "display_name": "Python 2", "language": "python"}
        answer = cells["ex-2-1-answer"]
        half = answer.copy()
        half.update(id="half", source=answer.source.partition("\n")[2])
        answer.source = answer.source.partition("\n")[0]
        notebook.cells.insert(notebook.cells.index(answer) + 1, half)

    folder = course / "exercises" / "split"
    folder.mkdir()
    shutil.copy(write_notebook(STEM, solved=True, change=change), folder)
    page = open_lab(lab, f"exercises/split/{STEM}.ipynb")
    assert "Merge the parts of a split cell" in (said := validate(page))
    assert said.count("The following cell failed:") == 1
    cell(page, "x = np.array([2.0, 4.0, 6.0, 8.0])").locator(".jp-InputPrompt").click()
    page.keyboard.press("Shift+ArrowUp")
    page.keyboard.press("Shift+M")
    cell(page, re.compile(r"mean = None.*x = np\.array", re.DOTALL)).wait_for()
    assert validate(page) == PASSED


def test_an_instructor_opens_authored_markdown_as_a_notebook_and_the_formgrader(lab, open_lab):
    page = open_lab(lab, f"solutions/{STEM}")
    page.locator(".jp-DirListing-item", has_text=f"{STEM}.md").click(button="right")
    page.locator(".lm-Menu-item", has_text="Open With").hover()
    page.locator(".lm-Menu-item", has_text="Jupytext Notebook").click()
    cell(page, "### BEGIN SOLUTION").wait_for()
    page.get_by_role("menuitem", name="Nbgrader", exact=True).click()
    page.get_by_role("menuitem", name="Formgrader", exact=True).click()
    page.frame_locator("iframe").get_by_role("link", name=STEM, exact=True).wait_for()
    assert page.get_by_role("dialog").count() == 0
