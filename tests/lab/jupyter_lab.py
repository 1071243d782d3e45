"""How to start JupyterLab, and hands for its notebooks."""

import contextlib
import os
import re
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


@contextlib.contextmanager
def serve(folder, settings):
    """Run `jupyter lab` in a folder, with nobody's settings, and give its address."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("JUPYTER", "IPYTHON"))}
    environment |= {"HOME": str(settings), "PATH": f"{Path(sys.executable).parent}:{environment['PATH']}"}
    options = ["--no-browser", "--allow-root", "--ServerApp.ip=127.0.0.1", "--ServerApp.port=0"]
    command = ["jupyter", "lab", *options, "--IdentityProvider.token=secret"]
    with subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True) as server:
        said = []
        try:
            for line in server.stderr:
                said.append(line)
                if found := re.search(r"(http://127\.0\.0\.1:\d+)/lab", line):
                    threading.Thread(target=server.stderr.read, daemon=True).start()  # or the server would wait
                    _wait_for(found[1])
                    yield found[1]
                    return
            pytest.fail("JupyterLab did not start:\n" + "".join(said[-20:]), pytrace=False)
        finally:
            server.terminate()


def _wait_for(address):
    """Jupyter says where it is a moment before it listens there."""
    deadline = time.monotonic() + 30
    while True:
        try:
            return urllib.request.urlopen(f"{address}/api").close()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def cell(page, text):
    return page.locator(".jp-Notebook .jp-Cell", has_text=text).first


def run(page, text):
    cell(page, text).locator(".cm-content").click()
    page.keyboard.press("Control+Enter")


def answer(page, text, source):
    """Type an answer over the cell that contains a text, and run it."""
    cell(page, text).locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(source)
    page.keyboard.press("Control+Enter")
