import copy
import re

import nbformat
import pytest
from traitlets.config import Config
from typer.testing import CliRunner

from grading import cli
from grading.validating import PASSED, Validator, findings

LEVEL_1, LEVEL_2 = "level-1-recognition", "level-2-application"
DDOF = "mean = 5\nvariance = 20 / 3\nstandardized = np.array([-3, -1, 1, 3]) / 5**0.5"


@pytest.fixture
def say(write_notebook):
    """Validate a notebook and give all that is said about it."""

    def say(*args, **kwargs):
        said = "\n".join(findings(write_notebook(*args, **kwargs)))
        assert "Traceback" not in said
        assert "\x1b" not in said
        return said

    return say


def test_right_answers_leave_nothing_to_say(say):
    assert say(LEVEL_2, solved=True) == ""


def test_each_test_of_a_blank_notebook_is_named(write_notebook):
    path = write_notebook(LEVEL_2)
    tests = [cell.source for cell in nbformat.read(path, as_version=4).cells if cell.source.startswith("# Tests")]
    assert [found.partition("\n")[0] for found in findings(path)] == [
        test.partition("\n")[0].removeprefix("# ") for test in tests
    ]


def test_a_reason_that_was_not_given_is_named(say):
    assert "ex-1-1-reason: no answer yet" in say(LEVEL_1)


def test_the_mistake_is_said_in_one_line(say):
    assert re.fullmatch(
        r"Tests the variance.*\n +✗ Not yet – variance: .*ddof=1.*",
        say(LEVEL_2, {"ex-2-1-answer": DDOF}, solved=True),
    )


def test_an_answer_that_stops_is_the_first_reason(say):
    said = say(LEVEL_2, {"ex-2-1-answer": "mean = 1 / 0"}, solved=True)
    assert said.startswith("mean = 1 / 0\n    ZeroDivisionError: division by zero\nTests the mean (1 point).\n")


@pytest.mark.parametrize("kernel", [{"name": "python2", "display_name": "Python 2"}, None])
def test_an_unknown_kernel_changes_no_verdict(say, kernel):
    def change(notebook, cells):
        notebook.metadata.pop("kernelspec")
        notebook.metadata.update({"kernelspec": kernel} if kernel else {})

    assert say(LEVEL_2, solved=True, change=change) == ""


@pytest.mark.parametrize("name", ["ex-2-1-test-row", "ex-2-1-answer"])
def test_a_copied_cell_is_named_with_the_way_out(say, name):
    def change(notebook, cells):
        notebook.cells.append(copy.deepcopy(cells[name]))
        notebook.cells[-1].id = "copy"

    assert re.fullmatch(
        rf"{name}\n +This cell is there more than once\. .*delete.*", say(LEVEL_2, solved=True, change=change)
    )


def test_a_deleted_test_is_missed(say):
    said = say(LEVEL_2, solved=True, change=lambda notebook, cells: notebook.cells.remove(cells["ex-2-1-test-row"]))
    assert re.fullmatch(r"ex-2-1-test-row\n +Missing, and it gives points\. .*", said)


def test_a_changed_test_is_named(say):
    said = say(LEVEL_2, {"ex-2-1-test-row": "# Tests nothing\nTrue"}, solved=True)
    assert re.fullmatch(r"Tests nothing\n +This cell has changed, but it should not\. .*", said)


def test_a_test_that_is_told_not_to_run_runs(say):
    def change(notebook, cells):
        for cell in notebook.cells:
            cell.metadata.tags = ["skip-execution"]

    assert say(LEVEL_2, change=change) == say(LEVEL_2) != ""


def test_a_warning_is_no_mistake(say):
    source = (
        "import warnings\n\ndef standardize(x):\n    warnings.warn('careful')\n    d = x - x.mean(-1, keepdims=True)\n"
    )
    source += "    return d / np.sqrt((d**2).mean(-1, keepdims=True))"
    assert say(LEVEL_2, {"ex-2-1-answer-function": source}, solved=True) == ""


def test_a_cell_that_ends_python_is_named(say):
    said = say(LEVEL_2, {"ex-2-1-answer": "# mine\nimport os\nos._exit(0)"}, solved=True)
    assert re.fullmatch(r"mine\n +Python ended or hung in this cell\. .*", said)


def test_an_endless_cell_is_stopped_and_named(write_notebook):
    path = write_notebook(LEVEL_2, {"ex-2-1-answer": "while True: pass"}, solved=True)
    first = Validator(config=Config(Execute={"timeout": 2})).validate(str(path))["failed"][0]
    assert first["source"] == "while True: pass"
    assert first["raw_error"] == "This cell ran too long and was stopped."


def test_damaged_marks_are_one_sentence(say):
    said = say(LEVEL_2, change=lambda notebook, cells: cells["ex-2-1-test-row"].metadata.nbgrader.pop("points"))
    assert re.fullmatch(r"level-2-application\.ipynb\n +The marks of this notebook's cells are damaged\. .*", said)


def test_a_notebook_without_tests_did_not_pass(tmp_path):
    path = tmp_path / "scratch.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 + 1")]), path)
    assert len(findings(path)) == 1


@pytest.mark.parametrize("text", ["", "<html>", '{"cells": ['])
def test_another_file_is_one_sentence(tmp_path, text):
    path = tmp_path / "level-2-application.ipynb"
    path.write_text(text)
    assert re.fullmatch(r"level-2-application\.ipynb\n +This file cannot be read as a notebook\. .*", findings(path)[0])


def test_the_dialog_gets_escaped_text_in_short_lines(write_notebook):
    path = write_notebook(LEVEL_2, {"ex-2-1-answer": "raise ValueError('<b>' + 30 * ' word')"}, solved=True)
    error = Validator().validate(str(path))["failed"][0]["error"]
    assert error.startswith("ValueError: &lt;b&gt; word")
    assert max(map(len, error.splitlines())) < 100


def test_the_command_fails_when_the_notebook_does(write_notebook, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    bad = CliRunner().invoke(cli.app, ["check", write_notebook(LEVEL_2).name])
    good = CliRunner().invoke(cli.app, ["check", write_notebook(LEVEL_2, solved=True).name])
    assert (bad.exit_code, good.exit_code) == (1, 0)
    assert "mean: still empty" in bad.output
    assert good.output.strip() == PASSED
