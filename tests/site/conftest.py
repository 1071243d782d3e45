"""The built site, served on localhost, and how to look at it."""

import functools
import json
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from pages import HTML, PAGES

from normlib import widgets


@pytest.fixture(scope="session")
def html() -> Path:
    if not (HTML / f"{PAGES[0]}.html").exists():
        pytest.fail("There is no built site in _build/html: run `make site` first.", pytrace=False)
    return HTML


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture(scope="session")
def url(html):
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=html))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def open_page(browser, url):
    """Open a page in a fresh context; what it complains about and where it turns to is collected on the way."""
    contexts = []

    def open_page(path, *, theme="light", width=1200, **options):
        context = browser.new_context(viewport={"width": width, "height": 900}, reduced_motion="reduce", **options)
        contexts.append(context)
        if theme:
            modes = json.dumps(theme)
            context.add_init_script(f"localStorage.setItem('mode', {modes}); localStorage.setItem('theme', {modes});")
        page = context.new_page()
        page.complaints, page.strangers = [], set()
        page.on("console", lambda message: message.type == "error" and page.complaints.append(message.text))
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on("requestfailed", lambda request: page.complaints.append(f"failed: {request.url}"))
        page.on(
            "response", lambda reply: reply.status >= 400 and page.complaints.append(f"{reply.status}: {reply.url}")
        )
        own = (f"{url}/", "data:", "blob:")
        page.on("request", lambda request: request.url.startswith(own) or page.strangers.add(request.url))
        page.goto(f"{url}/{path}")
        page.wait_for_load_state("networkidle")
        return page

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def run_module(browser):
    """Import one of normlib's modules in the browser; an expression sees its exports as ``m``, and an argument."""
    page = browser.new_page()

    def run_module(name, expression, argument):
        source = widgets.source(name)
        script = f"""async ([source, argument]) => {{
          const m = await import("data:text/javascript," + encodeURIComponent(source));
          return {expression};
        }}"""
        return page.evaluate(script, [source, argument])

    yield run_module
    page.close()
