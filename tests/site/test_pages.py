"""Every page in a real browser, in both themes: quiet, self-contained, readable on a phone, accessible."""

import pytest
from pages import PAGES

pytestmark = pytest.mark.browser
THEMES = {"light": 1200, "dark": 360}  # and how wide the window is
UNFOLD = "document.querySelectorAll('details').forEach((details) => { details.open = true; })"


@pytest.fixture(params=[(page, theme) for page in PAGES for theme in THEMES], ids="-".join)
def visited(request, open_page):
    name, theme = request.param
    page = open_page(f"{name}.html", theme=theme, width=THEMES[theme])
    page.evaluate(UNFOLD)
    return page, theme


def test_is_quiet_and_self_contained(visited):
    page, theme = visited
    assert page.evaluate("document.documentElement.dataset.theme") == theme
    assert page.complaints == []
    assert page.strangers == set()


def test_has_no_accessibility_violation(visited):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    found = axe.run(visited[0], options={"runOnly": ["wcag2a", "wcag2aa", "wcag21aa"]})
    violations = [
        f"{violation['id']}: {node['html'][:200]} {node['failureSummary'][:300]}"
        for violation in found.response["violations"]
        for node in violation["nodes"]
    ]
    assert violations == []


@pytest.mark.parametrize("name", PAGES)
def test_does_not_scroll_sideways_on_a_phone(open_page, name):
    page = open_page(f"{name}.html", width=360)
    for unfold in ("0", UNFOLD):
        page.evaluate(unfold)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.parametrize("name", PAGES)
def test_every_figure_says_what_it_shows(open_page, name):
    page = open_page(f"{name}.html")
    texts = page.evaluate("""() =>
      [...document.querySelectorAll("article img, article svg")]
        .filter((figure) => !figure.closest(".katex, [aria-hidden=true], summary, button"))
        .map((figure) => figure.tagName === "IMG" ? figure.alt
          : figure.hasAttribute("role") ? figure.getAttribute("aria-label") ?? "" : "")""")
    assert [text for text in texts if len(text) < 8 or text.endswith((".png", ".svg"))] == []


def test_mathematics_is_set_in_its_own_fonts(open_page):
    page = open_page(f"{PAGES[0]}.html")
    assert page.locator(".katex").count() > 5
    assert page.evaluate("document.fonts.check('16px KaTeX_Main') && document.fonts.check('16px \"Course Serif\"')")
    loaded = page.evaluate("[...document.fonts].filter((font) => font.status === 'loaded').map((font) => font.family)")
    assert {"KaTeX_Main", "KaTeX_Math"} <= {family.strip('"') for family in loaded}


@pytest.mark.parametrize(("word", "pages"), [("epsilon", 1), ("RMSNorm", 3)])
def test_search_finds(open_page, word, pages):
    page = open_page(f"search.html?q={word}")
    page.wait_for_function(f"document.querySelectorAll('#search-results li a').length >= {pages}")
    assert page.strangers == set()


@pytest.mark.parametrize("scheme", THEMES)
def test_first_visit_takes_the_theme_of_the_system(open_page, scheme):
    page = open_page(f"{PAGES[0]}.html", theme=None, color_scheme=scheme)
    assert page.evaluate("document.documentElement.dataset.theme") == scheme
    assert page.complaints == []


def test_is_readable_without_javascript(open_page):
    page = open_page("chapters/level-2-application.html", java_script_enabled=False)
    assert page.locator("article .katex").first.is_visible()
    page.locator("details.solution > summary").first.click()
    assert page.locator("details.solution p").first.is_visible()


def test_theme_button_changes_the_theme(open_page):
    page = open_page(f"{PAGES[0]}.html", theme="light")
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    for _ in range(2):  # from light to dark, by way of what the system prefers
        page.locator(".theme-switch-button:visible").first.click()
        if page.evaluate("document.documentElement.dataset.theme") == "dark":
            break
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before


def test_folded_solution_opens_by_keyboard(open_page):
    page = open_page("chapters/level-2-application.html")
    details = page.locator("details.solution").first
    assert not details.evaluate("(element) => element.open")
    details.locator("> summary").focus()
    page.keyboard.press("Enter")
    assert details.evaluate("(element) => element.open")
