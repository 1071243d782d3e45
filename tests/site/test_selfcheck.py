"""The self-checks on the pages say what normlib.check says, to the numbers of the text and to new ones."""

import gzip
import math
import random
import re

import numpy as np
import pytest
from pages import PAGES

from normlib import check, practice
from normlib.catalogue import EXERCISES
from normlib.checking import evaluate, find, instance
from normlib.misconceptions import message
from normlib.practice import STEPS, as_html
from normlib.widgets import PREPARED, questions, self_check, source

JUDGE = """argument.map(([question, answer, sentences]) =>
  (question.kind === "names" ? m.judge : m.judgeText)(question, answer, sentences))"""


def sentences(asked):
    return {name: message(name) for question in asked for name, _ in question["wrongs"]}


def answers(exercise, asked, given):
    """(question, quantity, value) for the right answer, each known wrong one, and one that is just wrong."""
    for question in asked:
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


def sets():
    """Each exercise with the numbers of the text and with those that a page has prepared."""
    for exercise in EXERCISES:
        yield pytest.param(exercise, questions(exercise), instance(exercise), id=exercise)
        statements = {
            as_html(more.question): more.given for more in (practice(exercise, seed) for seed in range(1, 20))
        }
        for number, more in enumerate(self_check(exercise).more, 1):
            yield pytest.param(
                exercise, more["questions"], statements[more["statement"]], id=f"{exercise}-new-{number}"
            )


@pytest.mark.browser
@pytest.mark.parametrize(("exercise", "asked", "given"), list(sets()))
def test_judges_as_python_does(run_module, exercise, asked, given):
    tried = list(answers(exercise, asked, given))
    said = sentences(asked)
    verdicts = run_module(
        "selfcheck", JUDGE, [[question, written(question, value), said] for question, _, value in tried]
    )
    for (question, _, value), verdict in zip(tried, verdicts, strict=True):
        line = check(exercise, given, **{question["name"]: value}).lines[0]
        if line.rung == "shape" or (line.rung == "misconception" and verdict["rung"] == "right"):
            continue  # the page takes numbers only and knows no shapes
        assert verdict["rung"] == line.rung, (question["name"], value, verdict, line)
        if line.rung == "misconception":
            assert (verdict["name"], verdict["text"]) == (line.misconception, line.text)


UNREADABLE = "cannot be read"


@pytest.mark.browser
@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("5", [5]),
        ("(1, −2.5; 3e-4)", [1, -2.5, 3e-4]),
        ("[1 2\t3]", [1, 2, 3]),
        ("np.nan, NaN", [math.nan, math.nan]),
        ("five", UNREADABLE),
        ("1.0.3", UNREADABLE),
        ("1 (", UNREADABLE),
        ("3 + (1, 2)", UNREADABLE),
        ("(" * 100_000, UNREADABLE),
        ("", []),
        ("20/4", [5]),
        ("-3/√5", [-3 / 5**0.5]),
        ("√25", [5]),
        ("sqrt(5)", [5**0.5]),
        ("np.sqrt( 5 ), math.sqrt(4)", [5**0.5, 2]),
        ("2√5/5", [2 * 5**0.5 / 5]),
        ("(1 - 1/4 - 9/20)/√5", [(1 - 1 / 4 - 9 / 20) / 5**0.5]),
        ("1/2√5", "in two ways"),
        ("1/(2√5)", [1 / (2 * 5**0.5)]),
        ("(1/2)√5", [5**0.5 / 2]),
        ("−3/√5 −1/√5 1/√5 3/√5", [v / 5**0.5 for v in (-3, -1, 1, 3)]),
        ("(-3/sqrt(5), -1/sqrt(5), 1/sqrt(5), 3/sqrt(5))", [v / 5**0.5 for v in (-3, -1, 1, 3)]),
        ("np.array([1, 2.])", [1, 2]),
        ("[[4, 10], [-4, 10]]", [4, 10, -4, 10]),
        ("((4, 10), (−4, 10))", [4, 10, -4, 10]),
        ("1 -2", [1, -2]),
        ("1 - 2", [-1]),
        ("- 3, - 1", [-3, -1]),
        ("1, - 3/4", [1, -0.75]),
        ("1e−5 = 10^-5 = 10**-5", [1e-5]),
        ("2.5 · 10⁻⁶", [2.5e-6]),
        ("3 × 10^2", [300]),
        ("√5²", [5]),
        ("-2^2", [-4]),
        ("μ = 5", [5]),
        ("20/4 = 5", [5]),
        ("≈ 6.67", [6.67]),
        ("σ² ≈ 6.67", [6.67]),
        ("(768,)", [768]),
        ("+inf, -inf, ∞", [math.inf, -math.inf, math.inf]),
        ("1\u00a0\u20092", [1, 2]),
        (".5 5.", [0.5, 5]),
        ("1E3", [1000]),
    ],
)
def test_reads_numbers_as_people_write_them(run_module, text, numbers):
    read = run_module("selfcheck", "m.parse(argument)", text)
    if isinstance(numbers, str):
        assert numbers in read
    else:
        assert read == pytest.approx(numbers, rel=1e-14, nan_ok=True)


@pytest.mark.browser
@pytest.mark.parametrize(
    ("text", "count", "decimals", "numbers"),
    [
        ("6,6667", 1, 4, [6.6667]),
        ("−6,6667", 1, 4, [-6.6667]),
        ("-1,3416 -0,4472 0,4472 1,3416", 4, 4, [-1.3416, -0.4472, 0.4472, 1.3416]),
        ("-1,3416; -0,4472; 0,4472; 1,3416", 4, 4, [-1.3416, -0.4472, 0.4472, 1.3416]),
        ("(0,5, 1,5)", 2, 4, [0.5, 1.5]),
        ("1,5", 2, 4, [1, 5]),  # two are asked for
        ("1,536", 1, 0, [1, 536]),  # of an integer, it would be a thousand or so
        ("1,2,3", 1, 4, [1, 2, 3]),
        ("3,4/2", 1, 4, [1.7]),
        ("five", 1, 4, "this cannot be read as a number. Write it with a point, or as a fraction."),
        ("five", 2, 4, "this cannot be read as numbers. Write them with a point and separate them by commas."),
    ],
)
def test_a_decimal_comma_is_read_where_nothing_else_can_be_meant(run_module, text, count, decimals, numbers):
    assert run_module("selfcheck", "m.parse(...argument)", [text, {"count": count, "decimals": decimals}]) == numbers


@pytest.mark.browser
@pytest.mark.parametrize(
    ("decimals", "text", "says"),
    [
        (
            4,
            "1,5, 2",
            "these are 3 numbers, but 1 is asked for. A comma separates two numbers: write 1.5 with a point.",
        ),
        (0, "1,536", "these are 2 numbers, but 1 is asked for. A comma separates two numbers: write 1536 without one."),
        (4, "1, 2", "these are 2 numbers, but 1 is asked for."),
    ],
)
def test_says_how_a_comma_is_read(run_module, decimals, text, says):
    question = {"kind": "numbers", "decimals": decimals, "rights": [[7]], "wrongs": []}
    assert run_module("selfcheck", "m.judgeText(...argument)", [question, text, {}])["text"] == says


def expression(rng, depth=0):
    """A random calculation: as Python reads it, and as somebody might type it."""
    kind = rng.choice(["number"] * depth + ["+", "-", "*", "/", "root", "power", "minus"])
    if kind == "number":
        number = rng.choice(
            [f"{rng.randint(1, 99)}", f"{rng.uniform(0.1, 9):.3f}", f"{rng.randint(1, 9)}e-{rng.randint(1, 5)}"]
        )
        return number, number
    (a, typed), (b, also) = expression(rng, depth + 1), expression(rng, depth + 1)
    if kind == "root":
        return f"math.sqrt(({a})**2)", f"{rng.choice(['√', 'sqrt', '√ ', 'np.sqrt'])}(({typed})^2)"
    if kind == "power":
        return f"(({a})**2)", f"({typed}){rng.choice(['²', '^2', '**2', ' ^ 2'])}"
    if kind == "minus":
        return f"(-({a}))", f"({rng.choice('-−')}({typed}))"
    sign = rng.choice({"+": ["+", " + "], "-": ["-", " − "], "*": ["*", "·", " × "], "/": ["/", "÷", " / "]}[kind])
    return f"(({a}){kind}({b}))", f"(({typed}){sign}({also}))"


def value(python):
    try:
        return float(eval(python, {"math": math}))
    except ArithmeticError:  # JavaScript goes on where Python stops
        return None


@pytest.mark.browser
def test_calculates_as_python_does(run_module):
    rng = random.Random(5)
    known = [(value(python), typed) for python, typed in (expression(rng) for _ in range(900))]
    known = [pair for pair in known if pair[0] is not None]
    rows = [known[start : start + 3] for start in range(0, len(known), 3)]
    typed = [rng.choice([", ", "; ", " ", ","]).join(text for _, text in row) for row in rows]
    read = run_module("selfcheck", "argument.map((text) => m.parse(text))", typed)
    for row, text, numbers in zip(rows, typed, read, strict=True):
        assert numbers == pytest.approx([right for right, _ in row], rel=1e-9), text


@pytest.fixture
def form(open_page):
    page = open_page("chapters/level-2-application.html")
    page.evaluate("document.addEventListener('selfcheck', ({ detail }) => (window.told ??= []).push(detail))")
    return page.locator("form[aria-label='Self-check of exercise 2.1']")


def says(form, name):
    return form.locator(f"#check-2-1-{name}-says").text_content()


def press(form, name):
    form.get_by_role("button", name=name).click()


@pytest.mark.browser
def test_form_names_the_mistake_and_tells_the_page(form):
    press(form, "Check")
    assert "Fill in an answer first" in form.text_content()
    assert form.page.evaluate("window.told") is None
    form.locator("#check-2-1-mean").fill("20")
    form.locator("#check-2-1-variance").fill("6.6667")
    form.locator("#check-2-1-standardized").fill("1, 2, 3")
    form.locator("#check-2-1-standardized").press("Enter")
    assert "did not divide" in says(form, "mean")
    assert "H − 1" in says(form, "variance")
    assert "3 numbers" in says(form, "standardized")
    assert form.locator("[aria-invalid=true]").count() == 3
    form.locator("#check-2-1-mean").fill("20/4")
    form.locator("#check-2-1-variance").fill("5,000")
    form.locator("#check-2-1-standardized").fill("-3/√5 −1/√5 0.4472 1.3416")
    press(form, "Check")
    assert all(says(form, name) == "✓ Right." for name in ("mean", "variance", "standardized"))
    assert form.locator("[aria-invalid]").count() == 0
    assert form.page.evaluate("told") == [{"exercise": "2.1", "right": False}, {"exercise": "2.1", "right": True}]


@pytest.mark.browser
def test_form_says_once_what_it_reads_and_what_it_leaves_to_the_notebook(form):
    note = form.locator(".nl-note")
    assert note.text_content() == (
        "Numbers can be typed as −7/√2, 0.25 or 0,25; separate several by commas or spaces. "
        "Checked in the notebook only: standardize."
    )
    press(form, "New numbers")
    assert "notebook" not in note.text_content()  # they ask for no function


@pytest.mark.browser
def test_form_never_shows_the_right_value(form):
    for answer in ("1.2", "7, 8, 9, 10", "nan nan nan nan", "abc"):
        form.locator("#check-2-1-standardized").fill(answer)
        press(form, "Check")
        assert says(form, "standardized").startswith("✗ Not yet")
        assert "1.34" not in form.text_content()


def page_of(exercise):
    return next(page for page in PAGES if f"level-{exercise[0]}" in page)


@pytest.mark.browser
@pytest.mark.parametrize("exercise", EXERCISES)
def test_new_numbers_on_the_page_are_those_of_practice(open_page, exercise):
    page = open_page(f"{page_of(exercise)}.html")
    form = page.locator(f"form[aria-label='Self-check of exercise {exercise}']")
    instances = {as_html(one.question): one for one in (practice(exercise, seed) for seed in range(1, 20))}
    shown = set()
    for number in range(1, PREPARED + 1):
        press(form, "New numbers")
        assert form.text_content().startswith(f"{exercise} with new numbers, {number} of {PREPARED}")
        statement = page.evaluate("(form) => form.querySelector('div[role=status]').innerHTML", form.element_handle())
        one = instances[statement.replace("&nbsp;", "\u00a0")]
        shown.add(statement)
        fields = {name: form.locator(f"[id='check-{exercise.replace('.', '-')}-{name}']") for name in STEPS[exercise]}
        assert form.locator("input").count() == len(fields)
        for name, field in fields.items():
            field.fill(
                written({"kind": "numbers"}, np.asarray(evaluate(find(exercise)[name].right, one.given), dtype=float))
            )
        press(form, "Check")
        assert f"{len(fields)} of {len(fields)} right." in form.text_content()
        for name, field in fields.items():
            for mistake, path in find(exercise)[name].wrong_paths():
                field.fill(written({"kind": "numbers"}, np.asarray(evaluate(path, one.given), dtype=float)))
                field.press("Enter")
                said = page.locator(f"[id='{field.get_attribute('id')}-says']").text_content()
                assert said == f"✗ Not yet: {message(mistake)}", (name, one.given)
        solution = form.locator("details")
        assert not solution.evaluate("(details) => details.open")
        assert len(fields) == solution.locator("li").count()
    assert len(shown) == PREPARED
    press(form, "New numbers")
    assert f"new numbers, 1 of {PREPARED}" in form.text_content()


@pytest.mark.browser
def test_steps_shown_on_the_page_are_worked_out_rightly(form):
    press(form, "New numbers")
    row = [int(v.replace("−", "-")) for v in re.search(r"row \((.*?)\)", form.text_content())[1].split(", ")]
    form.get_by_text("Show the steps").click()
    mean = sum(row) / 4
    variance = sum((v - mean) ** 2 for v in row) / 4
    shown = [text.replace("−", "-") for text in form.locator("li > div").all_text_contents()]
    assert [float(shown[0]), float(shown[1])] == [mean, variance]
    numbers = [float(v) for v in shown[2].strip("()").split(", ")]
    assert numbers == pytest.approx([(v - mean) / variance**0.5 for v in row], abs=5e-5)


@pytest.mark.browser
def test_new_numbers_by_keyboard_alone_and_back(form):
    page = form.page
    form.locator("#check-2-1-mean").fill("20")
    form.locator("#check-2-1-mean").press("Enter")
    page.keyboard.press("Shift+Tab")
    assert page.evaluate("document.activeElement.textContent") == "New numbers"
    page.keyboard.press("Space")
    live = form.locator("div[role=status]")
    assert live.text_content().startswith("Standardize the row")
    assert form.locator("#check-2-1-mean").input_value() == ""
    page.keyboard.press("Tab")
    page.keyboard.type("1e9")
    page.keyboard.press("Enter")
    assert says(form, "mean") == "✗ Not yet: too large."
    described = page.evaluate("document.getElementById(document.activeElement.getAttribute('aria-describedby')).role")
    assert described == "status"
    for _ in range(5):  # past the two other fields and “Check”
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "Original numbers":
            break
    page.keyboard.press("Enter")
    assert live.text_content() == ""
    assert page.evaluate("document.activeElement.textContent") == "New numbers"
    assert form.locator("#check-2-1-mean").input_value() == "20"
    assert "did not divide" in says(form, "mean")
    press(form, "New numbers")
    assert form.locator("#check-2-1-mean").input_value() == "1e9"
    assert page.evaluate("told") == [{"exercise": "2.1", "right": False}]  # other numbers do not count


@pytest.mark.browser
@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 360)])
@pytest.mark.parametrize("page_name", [page for page in PAGES if "level-" in page])
def test_open_forms_are_accessible_and_fit(open_page, page_name, theme, width):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = open_page(f"{page_name}.html", theme=theme, width=width)
    for form in page.locator("form.nl-check").all():
        press(form, "New numbers")
        form.locator("input").first.fill("1e9")
        press(form, "Check")
        form.get_by_text("Show the steps").click()
        assert form.evaluate("(form) => form.scrollWidth <= form.clientWidth")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.complaints == []
    tags = ["wcag2a", "wcag2aa", "wcag21aa", "best-practice"]
    found = axe.run(page, context=".nl-check", options={"runOnly": tags}).response
    assert [(violation["id"], violation["nodes"][0]["html"]) for violation in found["violations"]] == []


@pytest.mark.browser
def test_without_javascript_a_sentence_says_what_to_do(open_page):
    page = open_page("chapters/level-2-application.html", theme=None, java_script_enabled=False)
    texts = page.locator(".normlib-selfcheck").all_text_contents()
    assert [text.strip() for text in texts] == [
        f"With JavaScript, you can check your answers here; in a notebook with {self_check(exercise)!r}."
        for exercise in ("2.1", "2.2", "2.3")
    ]


@pytest.mark.parametrize("exercise", EXERCISES)
def test_every_exercise_has_its_form(html, exercise):
    assert f"{{&quot;exercise&quot;: &quot;{exercise}&quot;" in (html / f"{page_of(exercise)}.html").read_text(
        encoding="utf-8"
    )


@pytest.mark.parametrize("exercise", EXERCISES)
def test_new_numbers_are_asked_for_in_words_without_the_old_ones(exercise):
    for more in self_check(exercise).more:
        assert [question["name"] for question in more["questions"]] == list(STEPS[exercise]) == list(more["answers"])
        assert not any(
            re.search(r"2, 4, 6, 8|20, 40|768|H = 4|7, 7", question["says"]) for question in more["questions"]
        )


def test_modules_and_data_are_small():
    assert len(source("selfcheck").encode()) < 15_000
    for exercise in EXERCISES:
        page = self_check(exercise)._repr_mimebundle_()[0]["text/html"].replace(source("selfcheck"), "")
        data = re.search(r'data-state="(.*?)"', page)[1]
        assert len(gzip.compress(data.encode())) < 5_000


def test_python_makes_as_many_new_numbers_as_are_wanted():
    widget = self_check("2.1")
    statements = [one["statement"] for one in widget.more]
    for wanted in range(len(statements) + 1, len(statements) + 4):
        widget.wanted = wanted
        statements.append(widget.latest["statement"])
    assert all(len(set(some)) == len(some) for some in zip(statements, statements[1:], statements[2:], strict=False))
    assert as_html(practice("2.1", 1).question) == statements[0]


LAB = """(async () => {
  const state = argument, listeners = {}, el = document.createElement("div");
  const made = [...state.more];
  state.more = made.splice(0, 1);
  document.body.append(el);
  m.default.render({ el, model: {
    get: (key) => state[key], set: (key, value) => (state[key] = value), on: (event, act) => (listeners[event] = act),
    save_changes() { state.latest = made[state.wanted - 2]; listeners["change:latest"](); },
  } });
  const head = el.querySelector(".nl-head span"), statement = el.querySelector("div[role=status]");
  const read = () => `${head.textContent}: ${statement.innerHTML}`;
  const button = [...el.querySelectorAll("button")].find((one) => one.textContent === "New numbers");
  const seen = [1, 2, 3].map(() => (button.click(), read()));
  el.remove();
  return seen;
})()"""


@pytest.mark.browser
def test_the_module_asks_python_when_it_runs_out(run_module):
    widget = self_check("2.1")
    state = {
        name: getattr(widget, name)
        for name in ("exercise", "questions", "elsewhere", "sentences", "steps", "more", "live")
    }
    seen = run_module("selfcheck", f"await {LAB}", state)
    assert seen == [f"2.1 with new numbers, {n}: {one['statement']}" for n, one in enumerate(widget.more[:3], 1)]


def test_says_what_to_do_in_a_notebook():
    assert 'check("2.1", mean=…' in repr(self_check("2.1"))
    assert "application/vnd.jupyter.widget-view+json" in self_check("2.1")._repr_mimebundle_()[0]
    with pytest.raises(ValueError, match=r"9\.9"):
        self_check("9.9")
