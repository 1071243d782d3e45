"""A live figure, on a page or in JupyterLab: what it shows, hands to move it with, and eyes."""

import numpy as np

FOCUS_SHOWS = """() => {
  const element = document.activeElement;
  const parts = [element, element.closest("label"), element.querySelector(".nl-hit")].filter(Boolean);
  return parts.map((part) => getComputedStyle(part)).some(
    (style) => style.outlineStyle === "solid" || (style.stroke !== "none" && style.strokeWidth === "1.5px"));
}"""


def on_page(page, name, index=0):
    """Where one of the live figures of a page is, unfolded."""
    page.evaluate("document.querySelectorAll('details').forEach((details) => { details.open = true; })")
    return page.locator(f".normlib-{name}").nth(index)


class Figure:
    """A live figure that stands in a part of a page."""

    def __init__(self, page, box):
        self.page = page
        self.box = box
        box.locator(".nl-live").wait_for()
        box.scroll_into_view_if_needed()

    def values(self, selector):
        """The numbers that the parts stand for, in full precision."""
        found = self.box.locator(selector).evaluate_all("(all) => all.map((each) => each.dataset.value)")
        return np.array([float(number) for text in found for number in text.split(",")])

    def row(self):
        return self.values("[role=slider] text")

    def says(self):
        return self.box.locator("[role=status]").text_content()

    def press(self, name):
        self.box.get_by_role("button", name=name, exact=True).click()

    def choose(self, name):
        self.box.get_by_label(name, exact=True).check()

    def bar(self, feature):
        return self.box.get_by_role("slider", name=f"feature {feature}")

    def place(self, feature, height):
        """Where a bar's panel is at a height: 0 is its bottom, 1 its top."""
        box = self.bar(feature).bounding_box()
        return box["x"] + box["width"] / 2, box["y"] + (1 - height) * box["height"]

    def drag(self, *places):
        """Press the mouse at the first place, move through the others, and let go."""
        self.page.mouse.move(*places[0])
        self.page.mouse.down()
        for place in places[1:]:
            self.page.mouse.move(*place, steps=4)
        self.page.mouse.up()

    def swipe(self, start, end):
        """Drag with a finger; the page must not scroll meanwhile."""
        before = self.page.evaluate("scrollY")
        touch = self.page.context.new_cdp_session(self.page)
        middle = [(a + b) / 2 for a, b in zip(start, end, strict=True)]
        steps = [("touchStart", [start]), ("touchMove", [middle]), ("touchMove", [end]), ("touchEnd", [])]
        for kind, places in steps:
            points = [dict(zip("xy", place, strict=True)) for place in places]
            touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        self.page.evaluate("new Promise(requestAnimationFrame)")
        assert self.page.evaluate("scrollY") == before

    def try_bar(self, feature, agrees):
        """Move a bar by each key, by mouse and by finger: the bar follows, no other does, and the numbers agree."""
        bar = self.bar(feature)
        bar.focus()
        others = np.arange(self.row().size) != feature - 1
        start = self.row()[others]
        moves = {"ArrowUp": 1, "ArrowRight": 1, "ArrowDown": -1, "ArrowLeft": -1, "PageUp": 1, "PageDown": -1}
        for key, direction in moves.items():
            before = self.row()[feature - 1]
            self.page.keyboard.press(key)
            after = self.row()[feature - 1]
            assert np.sign(after - before) == direction
            assert float(bar.get_attribute("aria-valuenow")) == after
            assert bar.get_attribute("aria-valuetext")
            agrees()
        for key, name in (("Home", "aria-valuemin"), ("End", "aria-valuemax")):
            self.page.keyboard.press(key)
            assert float(bar.get_attribute(name)) == self.row()[feature - 1]
            agrees()
        assert bar.evaluate("(element) => document.activeElement === element")
        self.drag(self.place(feature, 0.5), self.place(feature, 0.9), self.place(feature, 0.2))
        low = self.row()[feature - 1]
        assert low < 0
        agrees()
        self.page.mouse.move(*self.place(feature, 0.9))
        assert self.row()[feature - 1] == low  # nothing moves after the button is up
        self.swipe(self.place(feature, 0.5), self.place(feature, 0.9))
        assert self.row()[feature - 1] > 0
        agrees()
        assert self.row()[others].tolist() == start.tolist()

    def controls(self):
        """Everything that can be moved; radio buttons of a group count as one."""
        return self.box.locator("[role=slider], input[type=range], button, input[type=radio]:checked").count()

    def tab_through(self):
        """Go through the figure by keyboard alone: how many controls are reached, and which of them hide it."""
        self.box.evaluate("(box) => { box.tabIndex = -1; box.focus(); }")
        count, hidden = 0, []
        inside = "(box) => box !== document.activeElement && box.contains(document.activeElement)"
        while self.page.keyboard.press("Tab") or self.box.evaluate(inside):
            count += 1
            if not self.page.evaluate(FOCUS_SHOWS):
                hidden.append(self.page.evaluate("document.activeElement.outerHTML.slice(0, 200)"))
        return count, hidden


# The text in the pictures, with its colour and what it stands on. Axe does not look into SVG.
DRAWN = """() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const paint = (...layers) => {
    for (const [color, opacity] of layers) {
      canvas.globalAlpha = opacity;
      canvas.fillStyle = color;
      canvas.fillRect(0, 0, 1, 1);
    }
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  return [...document.querySelectorAll(".nl-live text")].filter((text) => text.textContent).map((text) => {
    const style = getComputedStyle(text);
    let paper = text;
    while (getComputedStyle(paper).backgroundColor === "rgba(0, 0, 0, 0)") paper = paper.parentElement;
    const under = [[getComputedStyle(paper).backgroundColor, 1]];
    if (text.matches(".nl-cell")) {
      const cell = getComputedStyle(text.previousSibling);
      under.push([cell.fill, cell.fillOpacity * cell.opacity]);
    }
    return [text.textContent, paint(...under, [style.fill, style.fillOpacity * style.opacity]), paint(...under)];
  });
}"""


def contrast(*colors):
    """The ratio of WCAG 2.1."""

    def luminance(color):
        linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in np.array(color) / 255]
        return np.dot(linear, [0.2126, 0.7152, 0.0722])

    low, high = sorted(luminance(color) for color in colors)
    return (high + 0.05) / (low + 0.05)


def unreadable(page):
    """The texts in live figures that stand out less than WCAG's AA asks for."""
    return [text for text, *colors in page.evaluate(DRAWN) if contrast(*colors) < 4.5]
