"""Whatever an answer is, each test gives a finite number of points from 0 to its own; no answer buys another's."""

from __future__ import annotations

import math
import re
import sys

import nbformat
import pytest
from nbgrader.utils import determine_grade
from runner import TARGETS, Case, Grader

from grading.course import HERE, STEMS
from grading.judge import Service
from grading.mend import is_answer, is_test, mend
from grading.preprocessors import judge_notebook

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox needs Linux")
ODD = ("np.nan", "-1", "np.inf", "np.float64(0.0)", "True", "10**400", "1e308", "'2.0'", "[2.0]", "object()")
# Where such an answer is right: LayerNorm's axis, BatchNorm's, and LayerNorm's gap between training and inference
RIGHT = {
    "-1": {"ex-1-1-test-layer-norm-axis"},
    "np.float64(0.0)": {"ex-1-1-test-batch-norm-axis", "ex-5-3-test-layer-norm-gap"},
}


@pytest.fixture(scope="module")
def grader():
    service = Service()
    yield Grader(service)
    service.close()


def points_of(grader, level, notebook):
    """The points of each test when a notebook is graded as a class is graded."""
    notebook, _ = mend(notebook, grader.sheets[level].released)
    for cell in notebook.cells:
        cell.source = grader.tests[cell.id] if is_test(cell) else cell.source
    judge_notebook(notebook, grader.judge)
    return {
        cell.id: (determine_grade(cell)[0], cell.metadata.nbgrader.points)
        for cell in notebook.cells
        if is_test(cell) and not is_answer(cell)
    }


def definitions(sheet, value):
    """Every answer of a level as one value, every function as one that returns it."""
    names = {TARGETS.get(name, name): bool(quantity.calls) for name, (_, quantity) in sheet.quantities.items()}
    return {
        name: sheet.function(name, f"return {value}") if calls else f"{name} = {value}" for name, calls in names.items()
    }


@pytest.mark.parametrize("value", ODD)
@pytest.mark.parametrize("level", range(1, 6))
def test_an_odd_answer_gets_no_points(grader, level, value):
    sheet = grader.sheets[level]
    found = points_of(grader, level, sheet.filled(definitions(sheet, value)))
    assert len(found) >= 11
    for name, (score, most) in found.items():
        assert math.isfinite(score)
        assert score == (most if name in RIGHT.get(value, ()) else 0), name


@pytest.mark.parametrize(
    ("value", "score"),
    [
        *((value, 2 if value in ("1e308", "10**400") else 0) for value in ODD),
        *(("1.5", 1.5), ("2", 2), ("np.float32(0.5)", 0.5), ("3", 2), ("False", 0)),
    ],
)
def test_even_a_test_that_ends_in_the_students_value_gives_a_number_from_0_to_its_points(grader, value, score):
    cells = [nbformat.v4.new_code_cell(f"import numpy as np\nanswer = {value}"), nbformat.v4.new_code_cell("answer")]
    mark = {"grade_id": "t", "grade": True, "solution": False, "locked": True, "points": 2, "schema_version": 3}
    cells[1].metadata.nbgrader = mark
    notebook = nbformat.v4.new_notebook(cells=cells)
    judge_notebook(notebook, grader.judge)
    assert determine_grade(notebook.cells[1]) == (score, 2)


BACKWARD = """\
sigma = np.sqrt(x.var(axis=-1, keepdims=True) + eps)
x_hat = (x - x.mean(axis=-1, keepdims=True)) / sigma
g = dy * gamma
dx = (g - g.mean(-1, keepdims=True) - x_hat * (g * x_hat).mean(-1, keepdims=True)) / sigma
dgamma, dbeta = (dy * x_hat).sum(axis=0), dy.sum(axis=0)
"""


@pytest.mark.parametrize(
    ("change", "kept"),
    [
        ("", (4, 2, 1)),
        ("dx = g / sigma", (0, 2, 1)),
        ("dgamma = dgamma * gamma", (4, 0, 1)),
        ("dbeta = None", (4, 2, 0)),
        ("dx = dgamma = np.float64(0.0)", (0, 0, 1)),
        ("dx, dbeta = np.nan, -1", (0, 2, 0)),
        ("dx = dx[..., :1]", (0, 2, 1)),
        ("x -= 1", (0, 0, 0)),
        ("raise ValueError", (0, 0, 0)),
    ],
)
def test_each_gradient_has_points_of_its_own(grader, change, kept):
    body = f"{BACKWARD}{change}\nreturn dx, dgamma, dbeta"
    sheet = grader.sheets[5]
    found = points_of(grader, 5, sheet.filled({"layer_norm_backward": sheet.function("layer_norm_backward", body)}))
    assert tuple(found.pop(f"ex-5-1-test-{name}")[0] for name in ("dx", "dgamma", "dbeta")) == kept
    assert all(score == most for score, most in found.values())


BATCH_NORM = """\
mean, var = running
if training:
    center, spread = x.mean(axis=0), x.var(axis=0)
    new = (1 - momentum) * mean + momentum * center, (1 - momentum) * var + momentum * x.var(axis=0, ddof=1)
else:
    center, spread, new = mean, var, running
y = gamma * (x - center) / np.sqrt(spread + eps) + beta
"""


@pytest.mark.parametrize(
    ("change", "kept"),
    [
        ("", (2, 2, 3)),
        ("new = running", (2, 2, 0)),
        ("if not training:\n    new = mean + 1, var", (2, 2, 0)),
        ("if training:\n    y = y + 1", (2, 0, 3)),
        ("if not training:\n    y = x - x.mean(axis=0)", (0, 2, 3)),
        ("if not training:\n    raise ValueError", (0, 2, 0)),
        ("y = np.nan", (0, 0, 3)),
    ],
)
def test_training_inference_and_running_statistics_have_points_of_their_own(grader, change, kept):
    sheet = grader.sheets[3]
    function = sheet.function("batch_norm", f"{BATCH_NORM}{change}\nreturn y, new")
    found = points_of(grader, 3, sheet.filled({"batch_norm": function}))
    assert tuple(found.pop(f"ex-3-3-test-{name}")[0] for name in ("inference", "training", "running")) == kept
    assert all(score == most for score, most in found.values())


@pytest.mark.parametrize("level", range(1, 6))
def test_one_wrong_answer_costs_its_own_test_only(grader, level):
    sheet = grader.sheets[level]
    for name, (exercise, quantity) in sheet.quantities.items():
        if quantity.calls:
            continue
        found = points_of(grader, level, grader.filled(sheet, [Case(exercise, name, "'?'", mutant=True)]))
        assert len([test for test, (score, most) in found.items() if score < most]) == 1, name


@pytest.mark.parametrize("stem", STEMS)
def test_a_test_says_its_points(stem):
    notebook = nbformat.read(HERE / "exercises" / stem / f"{stem}.ipynb", as_version=4)
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    assert "gives all of its points or none" in text
    for cell in notebook.cells:
        if is_test(cell) and cell.cell_type == "code":
            said = re.match(r"# Tests .+ \((\S+) points?\)\.\n", cell.source)[1]
            assert float(said) == cell.metadata.nbgrader.points
