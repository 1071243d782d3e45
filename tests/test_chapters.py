"""The book, the assignments and the catalogue say the same: exercises, cards, points, sections and every number."""

from __future__ import annotations

import re
from pathlib import Path

import jupytext
import numpy as np
import pytest

from normlib import (
    batch_norm,
    instance,
    layer_norm,
    layer_norm_backward,
    numerical_gradient,
    rms_norm,
    standardize,
    standardize_jacobian,
)
from normlib.catalogue import EXERCISES
from normlib.checking import evaluate
from normlib.misconceptions import IDEAS, MISCONCEPTIONS, message

ROOT = Path(__file__).parent.parent
STEMS = {
    "1": "level-1-recognition",
    "2": "level-2-application",
    "3": "level-3-analysis",
    "4": "level-4-synthesis",
    "5": "level-5-mastery",
}
CHAPTERS = {stem: (ROOT / "chapters" / f"{stem}.md").read_text("utf-8") for stem in STEMS.values()}
ASSIGNMENTS = {stem: (ROOT / "solutions" / stem / f"{stem}.md").read_text("utf-8") for stem in STEMS.values()}

STATEMENT = re.compile(r"^`{3,}\{exercise\} (.+)\n:label: (\S+)\n\n(.+)\n", re.MULTILINE)
SOLUTION = re.compile(r"^`{3,}\{solution-start\} (\S+)\n:label: (\S+)\n:class: dropdown\n`{3,}\n", re.MULTILINE)
HINT = re.compile(r"^`{3,}\{admonition\} Hint (\d): \S.*\n:class: dropdown\n", re.MULTILINE)

every_exercise = pytest.mark.parametrize("exercise", EXERCISES.values(), ids=lambda exercise: exercise.id)


def label(exercise):
    return f"ex-{exercise.id.replace('.', '-')}"


def chapter_of(exercise):
    return CHAPTERS[STEMS[exercise.id[0]]]


def assignment_of(exercise):
    return ASSIGNMENTS[STEMS[exercise.id[0]]]


def card(exercise):
    stars = "★" * exercise.difficulty + "☆" * (3 - exercise.difficulty)
    return f"{stars} · {exercise.minutes} minutes · {exercise.points} points"


def headings(text):
    return re.findall(r"^#{2,3} (.+)$", text, re.MULTILINE)


def graded_cells(text):
    cells = jupytext.reads(text, fmt="md:myst").cells
    return [cell for cell in cells if cell.metadata.get("nbgrader", {}).get("grade")]


# Exercises


@every_exercise
def test_a_chapter_states_each_exercise_once_with_its_title_and_card(exercise):
    found = [
        (stem, title, first_line)
        for stem, text in CHAPTERS.items()
        for title, name, first_line in STATEMENT.findall(text)
        if name == label(exercise)
    ]
    assert found == [(STEMS[exercise.id[0]], exercise.title, card(exercise))]


@every_exercise
def test_hints_then_self_check_then_solution_all_folded(exercise):
    text, name = chapter_of(exercise), label(exercise)
    start = next(match.end() for match in STATEMENT.finditer(text) if match[2] == name)
    solutions = [match for match in SOLUTION.finditer(text) if match[1] == name]
    assert [match[2] for match in solutions] == [name.replace("ex-", "sol-")]
    between = text[start : solutions[0].start()]
    hints = [int(number) for number in HINT.findall(between)]
    assert len(hints) >= 2
    assert hints == list(range(1, len(hints) + 1))
    assert f'self_check("{exercise.id}")\n```' in between.split("Hint")[-1]


@pytest.mark.parametrize("stem", CHAPTERS)
def test_every_solution_that_opens_also_closes(stem):
    starts = [match.start() for match in re.finditer(r"\{solution-start\}", CHAPTERS[stem])]
    ends = [match.start() for match in re.finditer(r"\{solution-end\}", CHAPTERS[stem])]
    assert len(starts) == len(ends) == 3
    assert sorted(starts + ends) == [place for pair in zip(starts, ends, strict=True) for place in pair]


@every_exercise
def test_the_assignment_repeats_title_and_card(exercise):
    text = assignment_of(exercise)
    assert text.count(f"\n## {exercise.id} {exercise.title}\n\n{card(exercise)} · chapter section") == 1


@every_exercise
def test_the_assignment_points_to_sections_that_exist(exercise):
    """Where a card names a level, the sections after it are that level's."""
    line = re.search(rf"^## {re.escape(exercise.id)} .+\n\n.+ points · (chapter .+)$", assignment_of(exercise), re.M)[1]
    level = exercise.id[0]
    for number, section in re.findall(r"level (\d)|“(.+?)”", line):
        level = number or level
        assert not section or section in headings(CHAPTERS[STEMS[level]]), section


@every_exercise
def test_graded_cells_add_up_to_the_points_of_the_catalogue(exercise):
    points = [
        cell.metadata["nbgrader"]["points"]
        for cell in graded_cells(assignment_of(exercise))
        if cell.metadata["nbgrader"]["grade_id"].startswith(f"{label(exercise)}-")
    ]
    assert sum(points) == exercise.points
    assert all(point > 0 for point in points)


@pytest.mark.parametrize("stem", ASSIGNMENTS)
def test_every_graded_cell_belongs_to_an_exercise_of_its_level_and_says_what_it_tests(stem):
    cells = graded_cells(ASSIGNMENTS[stem])
    names = [cell.metadata["nbgrader"]["grade_id"] for cell in cells]
    assert len(set(names)) == len(names)
    assert all(re.match(rf"ex-{stem[6]}-[123]-", name) for name in names)
    assert all(cell.source.startswith("# Tests ") for cell in cells if cell.cell_type == "code")


def test_the_six_statements_are_the_same_in_chapter_and_assignment():
    six = re.compile(r"^ *- \*\*([a-f])\*\* (.+)$", re.MULTILINE)
    exercise = EXERCISES["5.3"]
    assert six.findall(chapter_of(exercise)) == six.findall(assignment_of(exercise))
    assert [letter for letter, _ in six.findall(chapter_of(exercise))] == list("abcdef")


# Sections


@pytest.mark.parametrize("anchor", IDEAS)
def test_each_idea_is_a_section_with_its_anchor(anchor):
    stem, heading = IDEAS[anchor]
    assert CHAPTERS[stem].count(f"\n(idea-{anchor})=\n## {heading}\n") == 1


@pytest.mark.parametrize("name", MISCONCEPTIONS)
def test_each_message_is_short_and_leads_to_a_section_of_the_book(name):
    text = message(name)
    assert len(text) <= 240
    level, heading = re.search(r" See level (\d), “(.+)”\.$", text).groups()
    assert heading in headings(CHAPTERS[STEMS[level]])


@every_exercise
def test_each_misconception_of_an_exercise_is_reached_by_a_wrong_path(exercise):
    """`tests/normlib/test_catalogue.py` walks the paths; here each must have one, under a name that is explained."""
    for quantity in exercise.quantities:
        assert set(quantity.wrong) == {name for name, _ in quantity.wrong_paths()} <= set(MISCONCEPTIONS)


# Numbers


def answer(exercise, name):
    """What the catalogue holds for right."""
    return evaluate(EXERCISES[exercise][name].right, instance(exercise))


X = np.array([2.0, 4.0, 6.0, 8.0])
Y = layer_norm(X, np.full(4, 3.0), np.full(4, -2.0), eps=0)
GAMMA, DY, ROW = np.array([1, 2, 0.5, -1]), np.array([1, -2, 0.5, 3]), np.array([1.0, 2, 4, 7])
STANDARD = "-1.3416 -0.4472 0.4472 1.3416"
JACOBIAN, JACOBIAN_10 = standardize_jacobian(X), standardize_jacobian(10 * X)

# Exercise, the numbers as they are printed, and what gives them. Worked out by hand or recorded from the source,
# corrected where the errata say so (4.3 and 5.1).
NUMBERS = [
    ("1.1", "-1 0", lambda: [answer("1.1", "layer_norm_axis"), answer("1.1", "batch_norm_axis")]),
    ("1.2", "1536", lambda: answer("1.2", "parameter_count")),
    ("1.2", "768", lambda: answer("1.2", "gamma_shape")),
    ("1.3", "0.003162", lambda: answer("1.3", "floor_inside")),
    ("1.3", "0.00001", lambda: answer("1.3", "floor_outside")),
    ("1.3", "-0.1562 0.1562", lambda: layer_norm([1e-3, 2e-3], eps=1e-5)),
    ("1.3", "-0.9804 0.9804", lambda: answer("1.3", "outside")),
    ("2.1", "5", lambda: answer("2.1", "mean")),
    ("2.1", "-3 -1 1 3", lambda: X - answer("2.1", "mean")),
    ("2.1", "9 1 1 9", lambda: (X - answer("2.1", "mean")) ** 2),
    ("2.1", "5", lambda: answer("2.1", "variance")),
    ("2.1", "2.2360679…", lambda: np.sqrt(answer("2.1", "variance"))),
    ("2.1", STANDARD, lambda: standardize(X)),
    ("2.1", STANDARD, lambda: answer("2.1", "standardized")),
    ("2.1", "0 1", lambda: [standardize(X).sum(), np.mean(standardize(X) ** 2)]),
    ("2.2", "-6.0249 -3.3416 -0.6584 2.0249", lambda: Y),
    ("2.2", "-6.0249 -3.3416 -0.6584 2.0249", lambda: answer("2.2", "y")),
    ("2.2", "-2 3", lambda: [Y.mean(), Y.std()]),
    ("2.2", "-2 3", lambda: [answer("2.2", "y_mean"), answer("2.2", "y_std")]),
    ("2.3", "0 0 0 0", lambda: layer_norm([7, 7, 7, 7])),
    ("2.3", "NaN NaN NaN NaN", lambda: standardize([7, 7, 7, 7], eps=0)),
    ("3.1", STANDARD, lambda: standardize(50 * X + 7)),
    ("3.1", "1.3416 0.4472 -0.4472 -1.3416", lambda: answer("3.1", "sign_flipped")),
    ("3.2", "2.2361 5", lambda: [answer("3.2", "gamma"), answer("3.2", "beta")]),
    ("3.2", "2 4 6 8", lambda: layer_norm(X, np.full(4, np.sqrt(5)), np.full(4, 5.0), eps=0)),
    ("3.3", "0.5 -1 0 3", lambda: batch_norm([X], beta=[0.5, -1, 0, 3])),
    ("3.3", "0.5 -1 0 3", lambda: answer("3.3", "training_output")),
    ("4.1", "30 5.4772", lambda: [answer("4.1", "rms") ** 2, answer("4.1", "rms")]),
    ("4.1", "0.3651 0.7303 1.0954 1.4606", lambda: rms_norm(X, eps=0)),
    ("4.1", "-1.3416", lambda: standardize(X)[0]),
    ("4.2", "50", lambda: answer("4.2", "factor")),
    ("4.2", STANDARD, lambda: standardize([100, 200, 300, 400])),
    ("4.2", STANDARD, lambda: answer("4.2", "standardized")),
    ("4.3", "4 10 -4 10", lambda: answer("4.3", "solutions")),
    ("4.3", "4.6334 8.2111 11.7889 15.3666", lambda: layer_norm(X, np.full(4, 4.0), np.full(4, 10.0), eps=0)),
    ("4.3", "4.6334 8.2111 11.7889 15.3666", lambda: answer("4.3", "y")),
    ("5.1", "0.1342 0.01342", lambda: [JACOBIAN[0, 0], JACOBIAN_10[0, 0]]),
    ("5.1", "0.1342 0.01342", lambda: [answer("5.1", "gradient"), answer("5.1", "gradient_scaled")]),
    ("5.1", "0.1342", lambda: numerical_gradient(lambda v: standardize(10 * v)[0], X)[0]),  # seen from the original x
    ("5.1", "0.75 0.45", lambda: [1 - 1 / 4, standardize(X)[0] ** 2 / 4]),
    ("5.1", "0.30 22.3607", lambda: [JACOBIAN[0, 0] * X.std(), 0.3 / JACOBIAN_10[0, 0]]),
    ("5.1", "0.134164347", lambda: standardize_jacobian(X, eps=1e-5)[0, 0]),
    ("5.1", "0.7066 -1.3327 0.8079 -0.1818", lambda: layer_norm_backward(DY, ROW, GAMMA)[0]),
    ("5.1", "-1.0911 1.3093 0.1091 4.5826", lambda: layer_norm_backward(DY, ROW, GAMMA)[1]),
    ("5.2", "1.7321", lambda: answer("5.2", "bound_at_4")),
    ("5.2", "1.7321", lambda: standardize([1, 0, 0, 0])[0]),
    ("5.2", "1.7320", lambda: layer_norm([1, 0, 0, 0])[0]),
    ("5.2", "1.3416", lambda: np.abs(standardize(X)).max()),
    ("5.2", "1.4142", lambda: standardize([1, 0, 0])[0]),
    ("5.2", "2", lambda: rms_norm([1, 0, 0, 0], eps=0)[0]),
    ("5.3", "1.3333 0", lambda: [answer("5.3", "batch_norm_gap"), answer("5.3", "layer_norm_gap")]),
]
every_number = pytest.mark.parametrize(
    ("exercise", "printed", "expression"),
    NUMBERS,
    ids=[f"{e}-{p.split()[0]}-{i}" for i, (e, p, _) in enumerate(NUMBERS)],
)


def tolerance(text):
    """Half a unit of the last digit where a number is rounded, a whole one where "…" cuts it off; 0.75 is exact."""
    digits = text.strip("-…")
    if "." not in digits or len(digits.replace(".", "").lstrip("0")) < 4:
        return 1e-9
    unit = 10.0 ** -len(digits.partition(".")[2])
    return unit if text.endswith("…") else 0.5001 * unit


@every_number
def test_normlib_gives_the_numbers_as_printed(exercise, printed, expression):
    values = np.ravel(expression())
    for text, value in zip(printed.split(), values, strict=True):
        assert value == pytest.approx(float(text.strip("…")), rel=0, abs=tolerance(text), nan_ok=True)


@every_number
def test_the_chapter_prints_them(exercise, printed, expression):
    text = chapter_of(EXERCISES[exercise]).replace("−", "-").replace("∓", "±").replace(r"\ldots", "…")
    for number in printed.split():
        sign, digits = ("[-±] ?", number[1:]) if number.startswith("-") else ("", number)
        assert re.search(rf"(?<![\d.]){sign}{re.escape(digits)}(?![\d]|\.\d)", text), number


def test_every_exercise_has_numbers():
    assert {exercise for exercise, _, _ in NUMBERS} == set(EXERCISES)
