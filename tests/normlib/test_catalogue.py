"""Every exercise: its right answers are right, and each wrong path is told apart and named, on any numbers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from normlib import checking, instance
from normlib.catalogue import EXERCISES
from normlib.checking import evaluate
from normlib.misconceptions import IDEAS, MISCONCEPTIONS, message

CASES = [
    pytest.param(exercise.id, quantity, seed, id=f"{exercise.id}-{quantity.name}-{seed}")
    for exercise in EXERCISES.values()
    for quantity in exercise.quantities
    for seed in (None, *range(1, 9))
]


def judge(quantity, given, path):
    """The lines about an answer made by one of the catalogue's own paths (which may call normlib)."""
    answer = path if quantity.calls else evaluate(path, given)
    return list(checking._lines(replace(quantity, own=False), given, answer))


@pytest.mark.parametrize(("exercise", "quantity", "seed"), CASES)
def test_right_is_right_and_every_mistake_gets_its_name(exercise, quantity, seed):
    given = instance(exercise, seed)
    for path in (quantity.right, *quantity.also):
        assert [line.rung for line in judge(quantity, given, path)] == ["right"]
    for name, path in quantity.wrong_paths():
        wrong = [line.misconception for line in judge(quantity, given, path) if line.rung != "right"]
        assert set(wrong) == {name}


def test_fifteen_exercises_on_five_levels():
    assert list(EXERCISES) == [f"{level}.{number}" for level in range(1, 6) for number in range(1, 4)]


@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=lambda exercise: exercise.id)
def test_each_exercise_knows_at_least_three_misconceptions(exercise):
    assert len({name for quantity in exercise.quantities for name in quantity.wrong}) >= 3


def test_every_name_is_explained_and_every_explanation_used():
    used = {name for e in EXERCISES.values() for q in e.quantities for name in q.wrong}
    assert used == set(MISCONCEPTIONS)
    assert {idea for _, idea in MISCONCEPTIONS.values()} == set(IDEAS)


@pytest.mark.parametrize("name", MISCONCEPTIONS)
def test_messages_are_short_and_say_where_to_read(name):
    assert len(message(name)) <= 240
    assert "See level " in message(name)


def test_fresh_numbers_are_fresh_and_reproducible():
    assert repr(instance("2.1", 5)) == repr(instance("2.1", 5))
    assert repr(instance("2.1", 5)) != repr(instance("2.1", 6))
