"""The self-checks on the pages say what normlib.check says."""

import json
import math

import pytest
from pages import PAGES, ROOT

from normlib import check
from normlib.catalogue import EXERCISES
from normlib.checking import evaluate, find, instance
from normlib.widgets import questions, self_check

SOURCE = (ROOT / "normlib" / "selfcheck.js").read_text(encoding="utf-8")
JUDGE = """argument.map(
  ([question, answer]) => m.judge(question, question.kind === "names" ? answer : m.parse(answer)))"""


def answers(exercise):
    """(question, quantity, value) for the right answer, each known wrong one, and one that is just wrong."""
    given = instance(exercise)
    for question in questions(exercise):
        quantity = find(exercise)[question["name"]]
        right = evaluate(quantity.right, given)
        values = [right, *(evaluate(path, given) for _, path in quantity.wrong_paths())]
        if question["kind"] == "numbers":
            values += [right + 0.777, right + 20 * 10.0**-quantity.decimals, right + 0.4 * 10.0**-quantity.decimals]
        else:
            values += [frozenset(question["names"])]
        for value in values:
            yield question, quantity, value


def written(question, value):
    if question["kind"] == "names":
        return sorted(value)
    flat = value.ravel().tolist() if hasattr(value, "ravel") else [value]
    return ", ".join(repr(float(v)) for v in flat)


@pytest.mark.browser
@pytest.mark.parametrize("exercise", EXERCISES)
def test_judges_as_python_does(run_module, exercise):
    tried = list(answers(exercise))
    verdicts = run_module("selfcheck", JUDGE, [[question, written(question, value)] for question, _, value in tried])
    for (question, _, value), verdict in zip(tried, verdicts, strict=True):
        line = check(exercise, **{question["name"]: value}).lines[0]
        if line.rung == "shape" or (line.rung == "misconception" and verdict["rung"] == "right"):
            continue  # the page takes numbers only and knows no shapes
        assert verdict["rung"] == line.rung, (question["name"], value, verdict, line)
        if line.rung == "misconception":
            assert verdict["text"] == line.text


@pytest.mark.browser
@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("5", [5]),
        ("(1, −2.5; 3e-4)", [1, -2.5, 3e-4]),
        ("[1 2\t3]", [1, 2, 3]),
        ("np.nan, NaN", [math.nan, math.nan]),
        ("five", None),
        ("1.0.3", None),
        ("", []),
    ],
)
def test_reads_numbers_as_people_write_them(run_module, text, numbers):
    read = run_module("selfcheck", "m.parse(argument)", text)
    assert read == (numbers if numbers is None else pytest.approx(numbers, nan_ok=True))


@pytest.fixture
def form(open_page):
    page = open_page("chapters/level-2-application.html")
    return page.locator("form[aria-label='Self-check of exercise 2.1']")


def says(form, name):
    return form.locator(f"#check-2-1-{name}-says").text_content()


@pytest.mark.browser
def test_form_names_the_mistake_and_remembers_success(form):
    form.get_by_role("button", name="Check").click()
    assert "Fill in an answer first" in form.text_content()
    form.locator("#check-2-1-mean").fill("20")
    form.locator("#check-2-1-variance").fill("6.6667")
    form.locator("#check-2-1-standardized").fill("1, 2, 3")
    form.locator("#check-2-1-standardized").press("Enter")
    assert "did not divide" in says(form, "mean")
    assert "H − 1" in says(form, "variance")
    assert "3 numbers" in says(form, "standardized")
    form.locator("#check-2-1-mean").fill("5")
    form.locator("#check-2-1-variance").fill("5")
    form.locator("#check-2-1-standardized").fill("-1.3416 −0.4472 0.4472 1.3416")
    form.get_by_role("button", name="Check").click()
    assert all(says(form, name) == "✓ Right." for name in ("mean", "variance", "standardized"))
    assert "✓ done" in form.text_content()
    form.page.reload()
    form.wait_for()
    assert "✓ done" in form.text_content()
    assert json.loads(form.page.evaluate("localStorage.getItem('layernorm-course-done')")) == ["2.1"]


@pytest.mark.browser
def test_form_never_shows_the_right_value(form):
    for answer in ("1.2", "7, 8, 9, 10", "nan nan nan nan", "abc"):
        form.locator("#check-2-1-standardized").fill(answer)
        form.get_by_role("button", name="Check").click()
        assert says(form, "standardized").startswith("✗ Not yet")
        assert "1.34" not in form.text_content()


@pytest.mark.parametrize("exercise", EXERCISES)
def test_every_exercise_has_its_form(html, exercise):
    stem = next(page for page in PAGES if f"level-{exercise[0]}" in page)
    assert f"{{&quot;exercise&quot;: &quot;{exercise}&quot;" in (html / f"{stem}.html").read_text(encoding="utf-8")


def test_module_is_small():
    assert len(SOURCE.encode()) < 10_000


def test_says_what_to_do_in_a_notebook():
    assert 'check("2.1", mean=…' in repr(self_check("2.1"))
    with pytest.raises(ValueError, match=r"9\.9"):
        self_check("9.9")
