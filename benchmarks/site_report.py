"""Say what each page of the built website costs a reader, and whether it keeps within the limits.

    make site-report

Chromium gets every page anew, gzipped, over a link of 10 Mbit/s with a round trip of 40 ms, on a processor four times
slower than this one. Bytes and requests are counted on the wire, headers included, and have limits. First contentful
paint (FCP) and cumulative layout shift (CLS) are medians of five visits; run it alone, they depend on what else the
machine does. axe looks at the page in both themes with everything unfolded.
"""

import argparse
import functools
import gzip
import shutil
import statistics
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "site"))
from pages import HTML, PAGES  # noqa: E402

MOST_BYTES, MOST_REQUESTS = 400_000, 20
RULES = ["wcag2a", "wcag2aa", "wcag21aa", "best-practice"]
LINK = {"offline": False, "latency": 40, "downloadThroughput": 10e6 / 8, "uploadThroughput": 10e6 / 8}
SLOWER = 4
LATE = 700  # ms to wait after the page has loaded for what comes late
PACKED = {".html", ".css", ".js", ".svg", ".json", ".ipynb", ".md", ".txt", ".xml"}
WATCH = """
  window.shift = 0;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shift += entry.value;
  }).observe({ type: "layout-shift", buffered: true });
"""
PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
UNFOLD = "document.querySelectorAll('details').forEach((details) => { details.open = true; })"


@functools.cache
def packed(path: Path) -> bytes:
    return gzip.compress(path.read_bytes(), 6, mtime=0)


class Handler(SimpleHTTPRequestHandler):
    """Serves files as a host on the web does: texts gzipped."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        if path.suffix not in PACKED or not path.is_file():
            super().do_GET()
            return
        body = packed(path)
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(path))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


@contextmanager
def serve(folder: Path) -> Iterator[str]:
    """Serve a folder on localhost; gives its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=folder))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@dataclass
class Visit:
    """What one visit with an empty cache took."""

    requests: dict[str, int]  # bytes on the wire by address
    outside: set[str]
    paint: float  # ms
    shift: float

    @property
    def bytes(self) -> int:
        return sum(self.requests.values())


def visit(browser: Browser, url: str, name: str, *, slow: bool = True, width: int = 1280) -> Visit:
    """Open one page in a fresh context, as one with an empty cache does, and wait until it has settled."""
    context = browser.new_context(viewport={"width": width, "height": 900})
    try:
        page = context.new_page()
        page.add_init_script(WATCH)
        devtools = context.new_cdp_session(page)
        devtools.send("Network.enable")
        addresses, sizes = {}, {}
        devtools.on("Network.requestWillBeSent", lambda e: addresses.update({e["requestId"]: e["request"]["url"]}))
        devtools.on("Network.loadingFinished", lambda e: sizes.update({e["requestId"]: int(e["encodedDataLength"])}))
        if slow:
            devtools.send("Network.emulateNetworkConditions", LINK)
            devtools.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
        page.goto(f"{url}/{name}.html")
        paint = page.wait_for_function(PAINT).json_value()
        page.evaluate("document.fonts.ready.then(() => {})")
        page.wait_for_timeout(LATE)
        shift = page.evaluate("window.shift")
    finally:
        context.close()
    requests = {url: sizes.get(one, 0) for one, url in addresses.items() if not url.startswith(("data:", "blob:"))}
    return Visit(requests, {one for one in requests if not one.startswith(f"{url}/")}, paint, shift)


def violations(browser: Browser, url: str, name: str, theme: str) -> list[str]:
    """Let axe look at a page; gives its findings, one for each rule that is broken."""
    from axe_playwright_python.sync_playwright import Axe  # noqa: PLC0415, only this step needs it

    context = browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    try:
        context.add_init_script(f"localStorage.setItem('mode', '{theme}'); localStorage.setItem('theme', '{theme}');")
        page = context.new_page()
        page.goto(f"{url}/{name}.html")
        page.evaluate(UNFOLD)
        found = Axe().run(page, options={"runOnly": RULES}).response["violations"]
        return [f"{one['id']}: {one['nodes'][0]['html'][:120]}" for one in found]
    finally:
        context.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--html", type=Path, default=HTML, help="the built site")
    parser.add_argument("--visits", type=int, default=5, help="timed visits to each page")
    parser.add_argument("--details", action="store_true", help="list every request")
    parser.add_argument("--no-axe", action="store_true", help="leave accessibility out")
    parser.add_argument("pages", nargs="*", default=PAGES)
    options = parser.parse_args()
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        parser.error("Chromium is not installed: apt install chromium")
    heavy, findings = [], []
    print(f"{'page':<30}{'kB gz':>7}{'requests':>10}{'FCP ms':>8}{'CLS':>8}{'outside':>9}{'axe light':>11}{'dark':>6}")
    with serve(options.html) as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for name in options.pages:
            visits = [visit(browser, url, name) for _ in range(options.visits)]
            first = visits[0]
            paint, shift = (statistics.median(getattr(one, what) for one in visits) for what in ("paint", "shift"))
            found = {} if options.no_axe else {t: violations(browser, url, name, t) for t in ("light", "dark")}
            findings += [f"{name}, {theme}: {text}" for theme, texts in found.items() for text in texts]
            axe = "".join(f"{len(texts):>{width}}" for texts, width in zip(found.values(), (11, 6), strict=False))
            print(
                f"{name.removeprefix('chapters/'):<30}{first.bytes / 1000:>7.0f}{len(first.requests):>10}"
                f"{paint:>8.0f}{shift:>8.3f}{len(first.outside):>9}{axe}",
                flush=True,
            )
            if options.details:
                for address, size in sorted(first.requests.items(), key=lambda item: -item[1]):
                    print(f"{size:>10}  {address.removeprefix(url)}")
            if first.bytes > MOST_BYTES or len(first.requests) > MOST_REQUESTS:
                heavy.append(name)
        browser.close()
    print(*findings, sep="\n", end="\n" if findings else "")
    if heavy:
        print(f"Over {MOST_BYTES / 1000:.0f} kB or {MOST_REQUESTS} requests: {', '.join(heavy)}", file=sys.stderr)
    return 1 if heavy else 0


if __name__ == "__main__":
    sys.exit(main())
