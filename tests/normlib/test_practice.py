"""More of the same: statements and steps for every exercise, friendly numbers, and checks that know them."""

from __future__ import annotations

import re
import statistics

import numpy as np
import pytest

from normlib import practice
from normlib.catalogue import EXERCISES
from normlib.checking import evaluate, find
from normlib.practice import STATEMENTS, STEPS, Practice, as_html, friendly, latex, telling


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
        assert latex(np.round(value, find(exercise)[name].decimals)) in solution


def test_rows_of_exercise_2_1_are_friendly_and_worked_out_by_hand_rightly():
    for seed in range(1, 6):
        more = practice("2.1", seed)
        row = [int(v) for v in more.given["x"]]
        assert friendly(more)
        assert sum(row) % 4 == 0
        mean = sum(row) // 4
        assert sum((v - mean) ** 2 for v in row) % 4 == 0
        assert more.check(mean=statistics.fmean(row), variance=statistics.pvariance(row))
        assert f"{mean}\n   $$" in str(more.solution)
        assert more.check(variance=statistics.variance(row)).lines[0].misconception == "ddof-1"


def test_rows_are_not_one_row_in_another_order():
    def kinds(exercises, seeds):
        return {tuple(sorted(abs(practice(id, seed).given["x"]))) for id in exercises for seed in seeds}

    exercises = [id for id in EXERCISES if np.ndim(practice(id).given.get("x")) == 1]
    assert len(kinds(["2.1"], range(1, 9))) >= 4
    assert len(kinds(exercises, [1])) >= len(exercises) / 2


@pytest.mark.parametrize("exercise", EXERCISES)
def test_every_mistake_can_be_told_from_the_right_answer(exercise):
    for seed in range(1, 7):
        more = practice(exercise, seed)
        assert friendly(more)
        assert telling(more)
        for name in STEPS[exercise]:
            for mistake, path in find(exercise)[name].wrong_paths():
                (line,) = more.check(**{name: evaluate(path, more.given)}).lines
                assert (line.rung, line.misconception) == ("misconception", mistake)


def test_rows_that_hide_a_mistake_are_not_telling():
    assert not telling(Practice("5.1", {"x": np.array([1.0, 7.0, -7.0, 3.0])}))  # x₁ is the mean: no variance term
    assert telling(Practice("5.1", {"x": np.array([2.0, 4.0, 6.0, 8.0])}))


@pytest.mark.parametrize("exercise", EXERCISES)
def test_the_answers_shown_are_right_as_they_stand(exercise):
    more = practice(exercise, 2)
    for name, text in more.answers.items():
        numbers = re.sub(r"10\^{(-?\d+)}", r"1e\1", text).replace(r"\text{NaN}", "nan").replace(r" \cdot 1e", "e")
        rows = [
            re.findall(r"nan|-?[\d.]+(?:e-?\d+)?", row)
            for row in re.sub(r"\\(begin|end){pmatrix}", "", numbers).split("\\\\")
        ]
        value = np.array(rows if "pmatrix" in text else rows[0], dtype=float)
        assert more.check(**{name: value if value.size > 1 else value.item()}), (name, text)


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
        (1e-5, r"10^{-5}"),
        (-2.5e-6, r"-2.5 \cdot 10^{-6}"),
        (np.nan, r"\text{NaN}"),
        (-0.0, "0"),
        ([1.5, -2], r"(1.5,\; -2)"),
        ([[1, 2], [3, 4]], r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}"),
    ],
)
def test_numbers_are_written_in_latex(value, text):
    assert latex(value) == text


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a row of 3 & <4>", "a row of 3 &amp; &lt;4&gt;"),
        (r"$\hat x = (x - \mu)/\sigma$ now", "x̂ = (x − μ)/σ now"),
        (r"$\partial \hat x_1 / \partial x_1$", "∂x̂₁ / ∂x₁"),
        (r"$\sqrt{\sigma^2 + \varepsilon}$ or $\sqrt H$", "√(σ² + ε) or √H"),
        (r"$2.5 \cdot 10^{-6}$", "2.5 · 10⁻⁶"),
        (r"$(1,\; -2)$ and $\text{NaN}$", "(1, −2) and NaN"),
        (r"$\frac1H$", '<span class="nl-formula"><math><mfrac><mtext>1</mtext><mtext>H</mtext></mfrac></math></span>'),
        (
            r"$\begin{pmatrix} 1 & -2 \end{pmatrix}$",
            "<math><mrow><mo>(</mo><mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>−2</mn></mtd></mtr></mtable><mo>)</mo></mrow></math>",
        ),
    ],
)
def test_markdown_is_written_as_html(text, written):
    assert as_html(text) == written


def test_latex_that_cannot_be_written_as_html_is_refused():
    with pytest.raises(ValueError, match="widehat"):
        as_html(r"$\widehat x$")


@pytest.mark.parametrize("exercise", EXERCISES)
def test_everything_said_can_be_written_as_html(exercise):
    more = practice(exercise)
    for text in (more.question, *STEPS[exercise].values(), *(f"${value}$" for value in more.answers.values())):
        assert not re.search(r"[\\${}]", as_html(text))
