"""A reader's progress: kept in the browser, shown on the first page and beside each exercise, taken away and back."""

import json
import re
from urllib.parse import urlsplit

import pytest
from pages import PAGES, ROOT

from normlib.catalogue import EXERCISES

pytestmark = pytest.mark.browser
INDEX, LEVEL = f"{PAGES[0]}.html", "chapters/level-2-application.html"
STORE = "layernorm-course-progress"
SELFCHECK = """([exercise, right]) => document.querySelector("article").dispatchEvent(
  new CustomEvent("selfcheck", { bubbles: true, detail: { exercise, right } }))"""


def kept(page):
    return json.loads(page.evaluate(f"localStorage.getItem('{STORE}')") or "null")


def keep(page, value):
    """Put something into the storage and come back."""
    page.evaluate("([key, text]) => localStorage.setItem(key, text)", [STORE, value])
    page.reload()


def box(page, exercise):
    return page.get_by_role("checkbox", name=f"Exercise {exercise} done")


def state(page, exercise):
    """What the box beside an exercise shows: "done", "begun" or ""."""
    show = "(box) => box.checked ? 'done' : box.indeterminate ? 'begun' : ''"
    return box(page, exercise).evaluate(show)


def dots(page):
    """The words of the first page for each exercise."""
    words = (text.split(",") for text in page.locator(".course-dots a").all_text_contents())
    return {re.sub(r"[^\d.]", "", name): said.strip() for name, said in words}


def total(page):
    return page.locator(".course-total").text_content()


def test_nothing_is_begun_at_first(open_page):
    page = open_page(INDEX)
    assert dots(page) == dict.fromkeys(EXERCISES, "not begun")
    assert total(page) == "0 of 15 exercises done"
    assert page.get_by_role("link", name="Start with level 1").count() == 1
    assert page.locator(".course-level").all_text_contents() == [""] * 5
    assert kept(page) is None  # looking leaves no trace


def test_a_self_check_counts_once_right_and_for_good(open_page):
    page = open_page(LEVEL)
    form = page.locator("form[aria-label='Self-check of exercise 2.1']")
    form.locator("#check-2-1-mean").fill("20")
    form.get_by_role("button", name="Check").click()
    assert kept(page) == {"2.1": "begun"}
    assert state(page, "2.1") == "begun"
    form.locator("#check-2-1-mean").fill("5")
    form.locator("#check-2-1-variance").fill("5")
    form.locator("#check-2-1-standardized").fill("-1.3416 −0.4472 0.4472 1.3416")
    form.get_by_role("button", name="Check").click()
    assert kept(page) == {"2.1": "done"}
    form.locator("#check-2-1-mean").fill("6")
    form.get_by_role("button", name="Check").click()
    assert state(page, "2.1") == "done"
    page.reload()
    assert [state(page, exercise) for exercise in ("2.1", "2.2", "2.3")] == ["done", "", ""]


def test_an_exercise_is_ticked_by_keyboard_and_announced(open_page):
    page = open_page(LEVEL)
    said = page.locator("article > [role=status]")
    box(page, "2.3").focus()
    page.keyboard.press("Space")
    assert kept(page) == {"2.3": "done"}
    assert said.text_content() == "Exercise 2.3 done. 1 of 15 exercises done."
    page.keyboard.press("Space")
    assert kept(page) == {}
    assert said.text_content() == "Exercise 2.3 not done. 0 of 15 exercises done."


def test_every_exercise_has_a_box(open_page):
    found = []
    for name in PAGES:
        if "level-" in name:
            page = open_page(f"{name}.html")
            labels = page.locator(".course-done .course-unseen").all_text_contents()
            cards = page.locator(".exercise").evaluate_all("(all) => all.map((card) => card.id)")
            assert [f"Exercise {card[3:].replace('-', '.')} done" for card in cards] == labels
            found += [label.split()[1] for label in labels]
    assert found == list(EXERCISES)


def test_the_first_page_shows_what_was_done_and_where_to_go_on(open_page):
    page = open_page(INDEX)
    keep(page, json.dumps({"1.1": "done", "1.2": "done", "1.3": "begun", "4.2": "done"}))
    assert total(page) == "3 of 15 exercises done, 1 begun"
    expected = dict.fromkeys(EXERCISES, "not begun") | {"1.1": "done", "1.2": "done", "1.3": "begun", "4.2": "done"}
    assert dots(page) == expected
    marks = page.locator(".course-level").all_inner_texts()
    assert [mark[:3] for mark in marks] == ["2/3", "", "", "1/3", ""]
    page.get_by_role("link", name="Go on with exercise 1.3").click()
    assert urlsplit(page.url).fragment == "ex-1-3"
    assert state(page, "1.3") == "begun"


def test_each_dot_leads_to_its_exercise(open_page):
    page = open_page(INDEX)
    links = page.locator(".course-dots a").evaluate_all("(all) => all.map((link) => link.getAttribute('href'))")
    assert [link.partition("#ex-")[2].replace("-", ".") for link in links] == list(EXERCISES)
    assert [re.findall(r"level-(\d)", link)[0] for link in links] == [exercise[0] for exercise in EXERCISES]


@pytest.mark.parametrize(
    "rubbish",
    [
        "",
        "{",
        "null",
        "7",
        '"done"',
        "[1, 2]",
        '{"1.1": "perfect", "9.9": "done", "1.2": ["done"]}',
        '{"__proto__": 1}',
    ],
)
def test_rubbish_in_the_storage_is_no_progress(open_page, rubbish):
    page = open_page(INDEX)
    keep(page, rubbish)
    assert total(page) == "0 of 15 exercises done"
    page.evaluate(SELFCHECK, ["1.1", True])
    assert kept(page) == {"1.1": "done"}
    assert page.complaints == []


def test_an_unknown_exercise_is_not_kept(open_page):
    page = open_page(INDEX)
    page.evaluate(SELFCHECK, ["9.9", True])
    assert total(page) == "0 of 15 exercises done"


BLOCKED = {
    "off": "Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('', 'SecurityError'); } });",
    "full": "Storage.prototype.setItem = () => { throw new DOMException('', 'QuotaExceededError'); };",
}


@pytest.mark.parametrize("reason", BLOCKED)
def test_without_storage_the_marks_last_as_long_as_the_page(browser, url, reason):
    context = browser.new_context()
    context.add_init_script(BLOCKED[reason])
    page = context.new_page()
    page.goto(f"{url}/{INDEX}")
    for exercise in ("1.1", "5.3"):
        page.evaluate(SELFCHECK, [exercise, True])
    assert total(page) == "2 of 15 exercises done"
    assert "until you leave" in page.locator(".course-progress").text_content()
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
    assert set(json.loads(download.value.path().read_text())["exercises"]) == {"1.1", "5.3"}
    context.close()


def test_export_and_import_bring_the_marks_to_another_browser(open_page):
    page = open_page(INDEX)
    keep(page, json.dumps({"1.1": "done", "2.2": "begun", "5.3": "done"}))
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
    assert download.value.suggested_filename.endswith(".json")
    file = download.value.path()
    assert json.loads(file.read_text())["exercises"] == {"1.1": "done", "2.2": "begun", "5.3": "done"}

    other = open_page(INDEX)
    keep(other, json.dumps({"1.1": "begun", "2.2": "done"}))
    with other.expect_file_chooser() as chooser:
        other.get_by_role("button", name="Import").click()
    chooser.value.set_files(file)
    other.get_by_text("Imported. 2 of 15").wait_for()
    assert kept(other) == {"1.1": "done", "2.2": "done", "5.3": "done"}  # what was done stays done
    assert total(other) == "3 of 15 exercises done"


OTHERS = [
    "",
    "no JSON",
    "null",
    "[]",
    '{"1.1": "done"}',
    '{"course": "x", "exercises": {"1.1": "done"}}',
    "x" * 200_000,
]


@pytest.mark.parametrize("text", OTHERS)
def test_another_file_is_refused(open_page, tmp_path, text):
    page = open_page(INDEX)
    file = tmp_path / "some.json"
    file.write_text(text)
    page.locator(".course-progress input[type=file]").set_input_files(file)
    page.get_by_text("Nothing was imported").wait_for()
    assert kept(page) is None


def test_an_imported_file_is_not_trusted(open_page, tmp_path):
    page = open_page(INDEX)
    file = tmp_path / "some.json"
    strange = {"1.1": "done", "1.2": "<img src=x onerror=alert(1)>", "<b>": "done"}
    file.write_text(json.dumps({"course": "layer-normalization", "exercises": strange}))
    page.locator(".course-progress input[type=file]").set_input_files(file)
    page.get_by_text("Imported. 1 of 15").wait_for()
    assert kept(page) == {"1.1": "done"}


def test_reset_asks_first(open_page):
    page = open_page(INDEX)
    keep(page, json.dumps({"1.1": "done"}))
    reset = page.locator(".course-progress").get_by_role("button", name="Reset")
    dialog = page.get_by_role("dialog")
    reset.focus()
    page.keyboard.press("Enter")
    assert "cannot be undone" in dialog.text_content()
    page.keyboard.press("Escape")
    dialog.wait_for(state="hidden")
    assert reset.evaluate("(element) => document.activeElement === element")
    reset.click()
    dialog.get_by_role("button", name="Keep them").click()
    assert kept(page) == {"1.1": "done"}
    reset.click()
    dialog.get_by_role("button", name="Clear them").click()
    page.get_by_text("All marks are cleared.").wait_for()
    assert kept(page) == {}
    assert total(page) == "0 of 15 exercises done"
    keep(page, json.dumps({"1.1": "done"}))
    reset.click()
    page.keyboard.press("Escape")  # does not remember the last answer
    assert kept(page) == {"1.1": "done"}


def test_two_tabs_stay_in_step(open_page, url):
    index = open_page(INDEX)
    level = index.context.new_page()
    level.goto(f"{url}/{LEVEL}")
    box(level, "2.2").check()
    index.get_by_text("1 of 15 exercises done").first.wait_for()
    index.evaluate(SELFCHECK, ["2.1", True])
    level.wait_for_function("document.querySelector('#ex-2-1 input').checked")
    assert state(level, "2.2") == "done"
    index.evaluate("localStorage.clear()")
    level.wait_for_function("!document.querySelector('#ex-2-1 input').checked")


def test_without_javascript_there_is_no_progress_and_no_gap(open_page):
    page = open_page(INDEX, java_script_enabled=False)
    assert not page.locator(".course-progress").is_visible()
    assert page.get_by_role("link", name="Start with level 1").is_visible()
    assert page.locator("a[data-exercise]").count() == 15
    page = open_page(LEVEL, java_script_enabled=False)
    assert page.locator(".course-done").count() == 0


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 360)])
def test_is_accessible_in_every_state(open_page, theme, width):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = open_page(INDEX, theme=theme, width=width)
    keep(page, json.dumps({"1.1": "done", "1.2": "begun"}))
    for opened in (False, True):
        if opened:
            page.locator(".course-progress").get_by_role("button", name="Reset").click()
        tags = ["wcag2a", "wcag2aa", "wcag21aa", "best-practice"]
        found = axe.run(page, context=".course-progress", options={"runOnly": tags})
        assert [violation["id"] for violation in found.response["violations"]] == []
    level = open_page(LEVEL, theme=theme, width=width)
    keep(level, json.dumps({"2.1": "done", "2.2": "begun"}))
    found = axe.run(level, context=".exercise", options={"runOnly": tags})
    assert [violation["id"] for violation in found.response["violations"]] == []
    assert level.evaluate("document.documentElement.scrollWidth") <= width


def test_the_first_screen_says_it_all(open_page):
    page = open_page(INDEX, width=1280)
    page.set_viewport_size({"width": 1280, "height": 800})
    for part in (".landing", ".ways", ".nl-live"):
        place = page.locator(part).first.bounding_box()
        assert place["y"] + place["height"] <= 800
    ways = page.locator(".ways a").evaluate_all("(all) => all.map((link) => link.href.split('/').pop())")
    assert ways == ["level-1-recognition.html", "index.html#for-students", "instructors.html"]


def test_script_is_small_and_sends_nothing():
    source = (ROOT / "theme" / "static" / "progress.js").read_text(encoding="utf-8")
    assert len(source.encode()) < 12_000
    assert re.findall(r"fetch|XMLHttp|sendBeacon|WebSocket|EventSource|https?:", source) == []
