"""More of the same: statements and steps for every exercise, friendly numbers, and checks that know them."""

from __future__ import annotations

import re
import statistics

import numpy as np
import pytest

from normlib import practice
from normlib.catalogue import EXERCISES
from normlib.checking import evaluate, find
from normlib.practice import STATEMENTS, STEPS, friendly, latex


def test_every_exercise_has_a_statement_and_steps_for_answers_it_asks_for():
    assert list(STATEMENTS) == list(STEPS) == list(EXERCISES)
    for exercise, steps in STEPS.items():
        assert set(steps) <= {quantity.name for quantity in find(exercise).quantities if not quantity.calls}


@pytest.mark.parametrize("exercise", EXERCISES)
@pytest.mark.parametrize("seed", [1, 2])
def test_an_exercise_is_stated_solved_and_checked(exercise, seed):
    more = practice(exercise, seed)
    statement, solution = more._repr_markdown_(), more.solution._repr_markdown_()
    assert not re.search(r"[{]\w+[}](?<!begin.pmatrix.)(?<!end.pmatrix.)", re.sub(r"\\\w+{\w+}", "", statement))
    assert statement.count("$") % 2 == 0
    assert solution.count("$$") == 2 * len(STEPS[exercise])
    right = {name: evaluate(find(exercise)[name].right, more.given) for name in STEPS[exercise]}
    assert more.check(**right)
    for name, value in right.items():
        assert not more.check(**{name: np.nan_to_num(np.asarray(value, dtype=float)) + 1})
        assert latex(value) in solution


def test_rows_of_exercise_2_1_are_friendly_and_worked_out_by_hand_rightly():
    for seed in range(1, 6):
        more = practice("2.1", seed)
        row = [int(v) for v in more.given["x"]]
        assert friendly(more)
        assert sum(row) % 4 == 0
        deviation = statistics.pstdev(row)
        assert deviation == round(deviation)
        assert more.check(mean=statistics.fmean(row), variance=statistics.pvariance(row))
        assert f"{sum(row) // 4}\n   $$" in str(more.solution)
        assert more.check(variance=statistics.variance(row)).lines[0].misconception == "ddof-1"


def test_a_seed_gives_the_same_numbers_again_and_another_one_others():
    assert str(practice("4.2", 7)._repr_markdown_()) == practice("4.2", 7).statement
    assert practice("2.1", 1).statement != practice("2.1", 2).statement


def test_what_does_not_exist_is_named():
    with pytest.raises(ValueError, match="There is no exercise"):
        practice("6.1")
    with pytest.raises(ValueError, match="it asks for"):
        practice("2.1").check(median=1)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (5.0, "5"),
        (1e-5, r"1 \cdot 10^{-5}"),
        (np.nan, r"\text{NaN}"),
        (-0.0, "0"),
        ([1.5, -2], r"(1.5,\; -2)"),
        ([[1, 2], [3, 4]], r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}"),
    ],
)
def test_numbers_are_written_in_latex(value, text):
    assert latex(value) == text
