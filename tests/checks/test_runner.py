"""Every wrong answer is refused and named, every right one accepted: as a class is graded, hidden tests and all."""

from __future__ import annotations

import re
import sys
from collections import Counter

import numpy as np
import pytest
from mutants import LOOKED_UP, MUTANTS
from runner import PAGE, Figures, Grader, batches, cases, figures, page, problems, run

from grading.judge import Service
from normlib.catalogue import EXERCISES
from normlib.misconceptions import MISCONCEPTIONS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox needs Linux")
LARGE = ("layer_norm", "batch_norm_training", "rms_norm", "layer_norm_backward")


@pytest.fixture(scope="module")
def service():
    service = Service()
    yield service
    service.close()


@pytest.fixture(scope="module")
def found(service):
    return run(Grader(service), cases())


def test_there_are_enough_mutants_of_everything():
    for exercise in EXERCISES.values():
        for quantity in exercise.quantities:
            count = len(MUTANTS[int(exercise.id[0])][quantity.name])
            assert count >= (10 if quantity.name in LARGE else 4), quantity.name
    told = {told for level in MUTANTS.values() for rows in level.values() for _, told in rows}
    assert set(MISCONCEPTIONS) <= told, f"no mutant has {sorted(set(MISCONCEPTIONS) - told)}"


def test_mutants_are_refused_and_named_and_equivalents_accepted(found, capsys):
    with capsys.disabled():
        print()
        for exercise in EXERCISES:
            print(f"{exercise}: {figures(one for one in found if one.case.exercise == exercise)}")
        print(f"all: {figures(found)}")
    assert figures(found).good, "\n".join(problems(found))


def test_nothing_is_told_otherwise_than_meant(found):
    assert not problems(found)


def test_the_book_has_these_counts(found):
    assert PAGE.read_text("utf-8") == page(found), "run: python tests/checks/runner.py"


def test_answers_that_only_know_the_visible_inputs_fall_to_the_hidden_tests(found):
    looked_up = [one for one in found if one.case.code is LOOKED_UP]
    assert len(looked_up) == sum(bool(q.calls) for e in EXERCISES.values() for q in e.quantities)
    assert all(one.refused and not one.visible for one in looked_up)


def without_hidden_tests(source):
    return re.sub(r"### BEGIN HIDDEN TESTS[\s\S]*### END HIDDEN TESTS", "", source)


def with_tolerance(source):
    return f"import normlib.checking as c\nc._near = lambda a, b, _: np.abs(a - b) <= 0.1\nimport numpy as np\n{source}"


def without_values(source):
    return f"import normlib.checking as c\nc._agree = lambda a, b: getattr(a, 'shape', 0) == b.shape\n{source}"


def with_one_form_only(source):
    return f"import normlib.checking as c\nc.same = lambda a, b, decimals: str(a) == str(b)\n{source}"


@pytest.mark.parametrize("weaken", [without_hidden_tests, with_tolerance, without_values, with_one_form_only])
def test_a_weakened_check_is_noticed(service, found, weaken):
    of_level_2 = [case for case in cases() if case.level == 2]
    sample = [case for case in of_level_2 if case.answer in ("standardized", "y_std")]
    functions = [case for case in of_level_2 if case.answer == "layer_norm"]
    sample += [case for place, case in enumerate(functions) if case.code is LOOKED_UP or place % 6 == 0]
    assert figures(one for one in found if one.case in sample).good
    assert not figures(run(Grader(service, weaken), sample)).good


def test_figures_are_good_only_at_100_95_and_100_percent():
    assert Figures((20, 20), (19, 20), (20, 20), 0).good
    assert not Figures((19, 20), (19, 20), (20, 20), 0).good
    assert not Figures((20, 20), (18, 20), (20, 20), 0).good
    assert not Figures((20, 20), (20, 20), (19, 20), 0).good


def test_verdicts_are_the_same_twenty_times_in_any_order(service):
    grader = Grader(service)
    rows = [case for case in cases() if case.level == 2 and not case.mutant and "random" in case.code]
    assert rows, "answers that draw from the global generator"
    rows += [case for case in cases() if case.level == 2 and case.mutant][::30]
    verdicts = Counter()
    for repeat in range(20):
        rng = np.random.default_rng(repeat)
        for batch in batches([rows[i] for i in rng.permutation(len(rows))]):
            verdicts.update((one.case, one.refused, one.text) for one in grader.grade(batch, rng.shuffle))
    assert set(verdicts.values()) == {20}
    assert len(verdicts) == len(rows)
