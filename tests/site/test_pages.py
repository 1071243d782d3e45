"""Every page in a real browser, in both themes and two widths: quiet, light, readable, accessible."""

import json
import sys

import pytest
from pages import PAGES, ROOT

sys.path.append(str(ROOT / "benchmarks"))  # last: it has a grading.py, too
import site_report

from normlib.figures import COLORS

pytestmark = pytest.mark.browser
THEMES = ("light", "dark")
WIDTHS = (1280, 360)
UNFOLD = site_report.UNFOLD
# The theme lets what scrolls be reached by keyboard a moment after the window's width has changed.
SETTLED = """[...document.querySelectorAll("pre, .cell_output > .output, .pst-scrollable-table-container")]
  .every((one) => one.scrollWidth <= one.clientWidth || one.tabIndex === 0)"""
SIDEWAYS = "document.documentElement.scrollWidth - innerWidth"


@pytest.fixture(scope="module")
def look(browser, url):
    """What there is to know of a page in one theme, from one visit: it is opened at one width and then narrowed."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    seen = {}

    def look(name, theme):
        if (name, theme) in seen:
            return seen[name, theme]
        context = browser.new_context(viewport={"width": WIDTHS[0], "height": 900}, reduced_motion="reduce")
        mode = json.dumps(theme)
        context.add_init_script(f"localStorage.setItem('mode', {mode}); localStorage.setItem('theme', {mode});")
        page = context.new_page()
        complaints, strangers, sideways, violations = [], set(), {}, []
        page.on("console", lambda message: message.type == "error" and complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("requestfailed", lambda request: complaints.append(f"failed: {request.url}"))
        page.on("response", lambda reply: reply.status >= 400 and complaints.append(f"{reply.status}: {reply.url}"))
        own = (f"{url}/", "data:", "blob:")
        page.on("request", lambda request: request.url.startswith(own) or strangers.add(request.url))
        page.goto(f"{url}/{name}.html", wait_until="networkidle")
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            sideways[width] = page.evaluate(SIDEWAYS)
            page.evaluate(UNFOLD)
            sideways[f"{width} unfolded"] = page.evaluate(SIDEWAYS)
            page.wait_for_function(SETTLED)
            for found in axe.run(page, options={"runOnly": site_report.RULES}).response["violations"]:
                node = found["nodes"][0]
                violations.append(f"{width}: {found['id']}: {node['html'][:200]} {node['failureSummary'][:300]}")
        shown = page.evaluate("document.documentElement.dataset.theme")
        context.close()
        seen[name, theme] = {
            "theme": shown,
            "complaints": complaints,
            "strangers": strangers,
            "sideways": sideways,
            "violations": violations,
        }
        return seen[name, theme]

    return look


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("name", [*PAGES, "search"])
class TestEveryPage:
    def test_is_quiet_and_self_contained(self, look, name, theme):
        page = look(name, theme)
        assert page["theme"] == theme
        assert page["complaints"] == []
        assert page["strangers"] == set()

    def test_has_no_accessibility_violation(self, look, name, theme):
        assert look(name, theme)["violations"] == []

    def test_does_not_scroll_sideways(self, look, name, theme):
        assert {width: by for width, by in look(name, theme)["sideways"].items() if by > 0} == {}


@pytest.fixture(scope="module")
def packed_url(html):
    with site_report.serve(html) as url:
        yield url


@pytest.mark.parametrize("name", PAGES)
def test_is_light(browser, packed_url, name):
    visit = site_report.visit(browser, packed_url, name, slow=False)
    assert visit.outside == set()
    assert 4 <= len(visit.requests) <= site_report.MOST_REQUESTS, visit.requests
    assert 30_000 < visit.bytes <= site_report.MOST_BYTES, visit.requests


@pytest.mark.parametrize("name", PAGES)
def test_every_figure_says_what_it_shows(open_page, name):
    page = open_page(f"{name}.html")
    texts = page.evaluate("""() =>
      [...document.querySelectorAll("article img, article svg")]
        .filter((figure) => !figure.closest(".katex, [aria-hidden=true], summary, button"))
        .map((figure) => figure.tagName === "IMG" ? figure.alt
          : figure.hasAttribute("role") ? figure.getAttribute("aria-label") ?? "" : "")""")
    assert [text for text in texts if len(text) < 8 or text.endswith((".png", ".svg"))] == []


@pytest.mark.parametrize("name", ["chapters/notation", "chapters/level-3-analysis", "chapters/level-5-mastery"])
def test_each_character_is_drawn_in_a_font_of_the_site(open_page, name):
    """The fonts are cut to the characters that pages use; one that was forgotten would come from the system."""
    page = open_page(f"{name}.html")
    page.evaluate(UNFOLD)
    marked = page.evaluate("""() => {
      const marked = new Map();
      for (const leaf of document.querySelectorAll("article .katex-html span, article p, article li")) {
        if (leaf.closest(".katex") ? leaf.children.length : leaf.querySelector("code, .katex")) continue;
        const text = leaf.textContent.replace(/[\\s\\u200b]/gu, "");
        if (!leaf.closest(".katex") && /[^!-~–—’“”−×·Α-ω]/u.test(text)) continue; // more than a text font has
        const key = leaf.closest(".katex") ? leaf.className + text : [...text].sort().join("");
        if (text && leaf.checkVisibility() && !marked.has(key)) marked.set(key, leaf);
      }
      [...marked.values()].forEach((leaf, i) => { leaf.dataset.leaf = i; });
      return [...marked.values()].map((leaf) => leaf.textContent);
    }""")
    assert len(marked) > 30
    devtools = page.context.new_cdp_session(page)
    devtools.send("DOM.enable")
    devtools.send("CSS.enable")
    root = devtools.send("DOM.getDocument")["root"]["nodeId"]
    strange = {}
    for node in devtools.send("DOM.querySelectorAll", {"nodeId": root, "selector": "[data-leaf]"})["nodeIds"]:
        fonts = devtools.send("CSS.getPlatformFontsForNode", {"nodeId": node})["fonts"]
        if others := [font["familyName"] for font in fonts if not font["isCustomFont"]]:
            text = devtools.send("DOM.getOuterHTML", {"nodeId": node})["outerHTML"]
            strange[text[:200]] = others
    assert strange == {}


@pytest.mark.parametrize(("word", "pages"), [("epsilon", 1), ("RMSNorm", 3)])
def test_search_finds(open_page, word, pages):
    page = open_page(f"search.html?q={word}")
    page.wait_for_function(f"document.querySelectorAll('#search-results li a').length >= {pages}")
    assert page.strangers == set()
    page.locator("#search-results li a").first.click()
    page.wait_for_load_state("networkidle")
    assert "/chapters/" in page.url
    assert word.lower() in page.locator("article").inner_text().lower()
    assert page.complaints == []


@pytest.mark.parametrize("scheme", THEMES)
def test_first_visit_takes_the_theme_of_the_system(open_page, scheme):
    page = open_page(f"{PAGES[0]}.html", theme=None, color_scheme=scheme)
    assert page.evaluate("document.documentElement.dataset.theme") == scheme
    assert page.complaints == []


def test_text_figures_formulas_and_folded_parts_work_without_javascript(browser, url):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    seen = {"formulas": 0, "figures": 0, "solutions": 0}
    for name in PAGES:
        page.goto(f"{url}/{name}.html")
        assert page.locator("article h1").is_visible()
        assert page.locator("article p").first.is_visible()
        for kind, selector in (("formulas", "article .katex"), ("figures", "article svg[role=img]")):
            if found := page.locator(f"{selector} >> visible=true").count():
                assert page.locator(f"{selector} >> visible=true").first.bounding_box()["height"] > 5
                seen[kind] += found
        if name.startswith("chapters/level"):
            solution = page.locator("details.solution").first
            assert not solution.locator("p").first.is_visible()
            solution.locator("> summary").click()
            assert solution.locator("p").first.is_visible()
            seen["solutions"] += 1
    context.close()
    assert seen["formulas"] > 200
    assert seen["figures"] >= 10
    assert seen["solutions"] == 5


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


@pytest.mark.parametrize("theme", THEMES)
def test_quantities_in_formulas_have_their_figures_hue_and_contrast_enough_to_read(open_page, theme):
    page = open_page("chapters/level-2-application.html", theme=theme)
    read = """(names) => {
      const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
      const rgb = (color) => {
        canvas.fillStyle = color;
        canvas.fillRect(0, 0, 1, 1);
        return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
      };
      const probe = document.body.appendChild(document.createElement("i"));
      const of = (value) => { probe.style.color = value; return rgb(getComputedStyle(probe).color); };
      const card = getComputedStyle(document.querySelector(".exercise.admonition")).backgroundColor;
      return {
        papers: [rgb(getComputedStyle(document.body).backgroundColor), rgb(card)],
        inks: Object.fromEntries(names.map((name) => [name, of(`var(--course-${name})`)])),
        used: [...document.querySelectorAll(".katex-display .q-mu")].map((one) => rgb(getComputedStyle(one).color)),
      };
    }"""
    found = page.evaluate(read, list(COLORS))

    def luminance(rgb):  # WCAG 2.2, relative luminance
        parts = [part / 255 for part in rgb]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    for name, ink in found["inks"].items():
        for paper in found["papers"]:
            dim, bright = sorted((luminance(ink), luminance(paper)))
            assert (bright + 0.05) / (dim + 0.05) >= 4.5, (name, ink, paper)
        figure = [int(COLORS[name][start : start + 2], 16) for start in (1, 3, 5)]
        assert sorted(range(3), key=lambda i: figure[i])[-1] == sorted(range(3), key=lambda i: ink[i])[-1], name
    assert found["used"]
    assert all(one == found["inks"]["mu"] for one in found["used"])


def test_nothing_moves_for_readers_who_asked_for_that(open_page):
    moving = """() => [...document.querySelectorAll("*")].filter((element) => {
      const style = getComputedStyle(element);
      return style.transitionDuration.split(", ").some((time) => time !== "0s") || style.animationName !== "none";
    }).length"""
    page = open_page(f"{PAGES[0]}.html")  # as somebody who prefers reduced motion
    assert page.evaluate(moving) == 0
    page.emulate_media(reduced_motion="no-preference")
    assert page.evaluate(moving) > 0


def test_paper_shows_title_solutions_and_figures_and_nothing_to_press(open_page):
    page = open_page("chapters/level-2-application.html", theme="dark", width=760)
    assert not page.locator("details.solution p").first.is_visible()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.locator("article h1").is_visible()
    assert page.locator("details.solution").first.evaluate("(one) => one.getBoundingClientRect().height") > 150
    assert page.locator("article figure svg").first.is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    for gone in (".bd-sidebar", ".bd-header-article", ".normlib-selfcheck", ".copybtn", ".search-button"):
        assert page.locator(f"{gone} >> visible=true").count() == 0, gone
    clipped = "[...document.querySelectorAll('pre')].filter((one) => one.scrollWidth > one.clientWidth + 1).length"
    assert page.evaluate(clipped) == 0
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
