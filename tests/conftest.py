"""What several folders of tests use: a browser."""

import os
import shutil

import pytest


@pytest.fixture(scope="session")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api")
    names = ("chromium", "chromium-browser", "google-chrome")
    chromium = next(filter(None, map(shutil.which, names)), None)
    if chromium is None:
        reason = "Chromium is not installed (apt install chromium), so nothing was tried in a browser."
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)
    quiet = "--no-sandbox --disable-gpu --disable-background-networking --disable-component-update --disable-sync"
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=[*quiet.split(), "--no-first-run"])
        yield browser
        browser.close()
