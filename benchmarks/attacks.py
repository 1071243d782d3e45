"""Every attack of ``tests/grading/test_attacks.py`` twice: on stock nbgrader, and on this course's judge.

``python benchmarks/attacks.py`` writes the table to ``chapters/attacks.md``. Stock nbgrader runs each attack in a
container that is thrown away: no network, nothing of this machine but the interpreter, files in capped
memory, limits on time, memory and processes. Both sides get the same cells and the same tests.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "grading")]

TABLE = ROOT / "chapters" / "attacks.md"
SECONDS = 45  # for one submission of stock nbgrader, with cells of at most 6 s
SCRATCH = 256 * 2**20
HELD = "held off"
SENTINEL = "sentinel-of-the-hidden-test"
LOST = {"exit": 0, "scores": None, "shown": ""}  # not even an error was left
STRANGER = 0x7000FFFF  # a user that owns nothing

# What can be reached: each prints "reached" when it succeeds, and gets no points for it
REACHING = {
    "read the grade book": "print('reached', len(open('../../../gradebook.db', 'rb').read()))",
    "write to the grade book": "open('../../../gradebook.db', 'ab').close(); print('reached')",
    "read the instructor's notebook": "print('reached', len(open('../../../source/a/a.ipynb').read()))",
    "read another student's submission": "print('reached', len(open('../../../submitted/eve/a/a.ipynb').read()))",
    "read the hidden tests in one's own notebook": "print('reached', 'sentinel' in open('a.ipynb').read())",
    "read the grader's environment": "import os\nassert 'GRADER_TOKEN' in os.environ; print('reached')",
    "look at the grader's processes": """
import os
assert any(b'nbgrader' in open(f'/proc/{n}/cmdline', 'rb').read() for n in os.listdir('/proc') if n.isdigit())
print('reached')""",
    "connect to a server on this machine": """
import socket
socket.create_connection(('127.0.0.1', 47123), 2); print('reached')""",
}


def cells_of(source: str, tests: list[str], locked: str) -> list[dict[str, Any]]:
    """The notebook that an attack is tried in, in the judge's form."""
    cells = [{"role": "locked", "source": locked, "points": 0}, {"role": "student", "source": source, "points": 0}]
    return [*cells, *({"role": "test", "source": test, "points": 1} for test in tests)]


def attacks() -> list[tuple[str, str, list[dict[str, Any]]]]:
    """All attacks: their kind, name and cells."""
    import test_attacks as suite  # noqa: PLC0415

    both = [suite.TEST_VALUE, suite.TEST_FUNCTION]
    found = [("fool", name, cells_of(source, both, suite.IMPORTS)) for name, source in suite.FOOLING.items()]
    found += [("fool", name, cells_of(source, [test], suite.LOCKED)) for name, (source, test) in suite.CARELESS.items()]
    found += [("end", name, cells_of(source, both, suite.IMPORTS)) for name, source in suite.ENDING.items()]
    return found + [("reach", name, cells_of(source, both, suite.IMPORTS)) for name, source in REACHING.items()]


# This course


def ours(cells: list[dict[str, Any]], service: Any) -> dict[str, Any]:
    """What the judge makes of an attack."""
    verdicts = service.judge(cells)
    shown = printed([verdict.outputs for verdict in verdicts])
    return {"scores": [int(not verdict.failed) for verdict in verdicts[2:]], "shown": shown}


def printed(outputs: list[list[dict[str, Any]]]) -> str:
    """What cells have printed."""
    return "".join("".join(output.get("text", "")) for cell in outputs for output in cell)


# Stock nbgrader; the part that runs inside the container


def notebook_of(cells: list[dict[str, Any]]) -> Any:
    """The same cells as an nbgrader notebook."""
    from nbformat import v4  # noqa: PLC0415

    made = []
    for number, cell in enumerate(cells):
        test, student = cell["role"] == "test", cell["role"] == "student"
        source = f"### BEGIN HIDDEN TESTS\n{cell['source']}\n### END HIDDEN TESTS" if test else cell["source"]
        mark = {"schema_version": 3, "grade_id": f"cell{number}", "grade": test, "solution": student, "task": False}
        mark |= {"locked": not student} | ({"points": 1} if test else {})
        made.append(v4.new_code_cell(source, id=f"cell{number}", metadata={"nbgrader": mark}))
    metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return v4.new_notebook(cells=made, metadata=metadata)


def stock(jobs: Path, first: int) -> None:
    """Try one attack after the other, each in a process, a home and a course of its own; print what came of each."""
    import nbgrader.apps.api  # noqa: F401, PLC0415  once, before the forks

    threading.Thread(target=listen, daemon=True).start()
    for number, cells in enumerate(json.loads(jobs.read_text())[first:], first):
        folder = Path(f"/scratch/{number}")
        folder.mkdir()
        print(json.dumps({"begun": number}), flush=True)
        if (child := os.fork()) == 0:
            with contextlib.suppress(BaseException):
                os.setsid()
                os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what it writes is not to be taken for a result
                one_of_stock(folder, cells)
            os._exit(0)
        end = time.monotonic() + SECONDS
        while time.monotonic() < end and not os.waitpid(child, os.WNOHANG)[0]:
            time.sleep(0.1)
        left = folder / "result.json"
        outcome = json.loads(left.read_text()) if left.exists() else LOST
        print(json.dumps({"done": number, **outcome}), flush=True)
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)  # all that is left of it, and not oneself
        time.sleep(0.2)
        for place in (folder, *Path("/tmp").iterdir()):
            shutil.rmtree(place, ignore_errors=True)


def listen() -> None:
    """Be a server on this machine."""
    server = socket.create_server(("127.0.0.1", 47123))
    while True:
        server.accept()


def one_of_stock(folder: Path, cells: list[dict[str, Any]]) -> None:
    """Release, hand in and autograde in a fresh course; leave a file with what came of it."""
    import nbformat  # noqa: PLC0415
    from nbgrader.apps.api import NbGraderAPI  # noqa: PLC0415
    from traitlets.config import Config  # noqa: PLC0415

    os.environ.update(HOME=str(folder), GRADER_TOKEN="x")
    os.chdir(folder)
    config = Config()
    config.CourseDirectory.root = str(folder)
    config.ExecutePreprocessor.timeout = 6
    config.ExecutePreprocessor.interrupt_on_timeout = True
    (folder / "source" / "a").mkdir(parents=True)
    nbformat.write(notebook_of(cells), folder / "source" / "a" / "a.ipynb")
    api = NbGraderAPI(config=config)
    api.generate_assignment("a")
    for student in ("mallory", "eve"):
        (folder / "submitted" / student / "a").mkdir(parents=True)
        released = nbformat.read(folder / "release" / "a" / "a.ipynb", as_version=4)
        released.cells[1].source = cells[1]["source"]
        nbformat.write(released, folder / "submitted" / student / "a" / "a.ipynb")
    (folder / "result.json").write_text(json.dumps(LOST | {"exit": 1}))
    with contextlib.suppress(BaseException):
        api.autograde("a", "mallory")
        (folder / "result.json").write_text(json.dumps(result(folder, len(cells))))


def result(folder: Path, count: int) -> dict[str, Any]:
    """The scores in the grade book and the outputs in the graded copy, if there are any."""
    from nbgrader.api import Gradebook, MissingEntry  # noqa: PLC0415

    graded = folder / "autograded" / "mallory" / "a" / "a.ipynb"
    if not graded.exists():
        return LOST | {"exit": 1}
    outputs = [cell["outputs"] for cell in json.loads(graded.read_text())["cells"]]
    with Gradebook(f"sqlite:///{folder}/gradebook.db") as book:
        try:
            notebook = book.find_submission_notebook("a", "a", "mallory")
        except MissingEntry:
            return LOST | {"exit": 1}
        scores = {grade.name: grade.auto_score for grade in notebook.grades}
    return {"exit": 0, "scores": [int(scores[f"cell{n}"] or 0) for n in range(2, count)], "shown": printed(outputs)}


def in_containers(jobs: list[list[dict[str, Any]]]) -> Iterator[dict[str, Any]]:
    """Run stock nbgrader on attacks; when one of them ends the container, the next one gets a fresh one."""
    number = 0
    while number < len(jobs):
        with tempfile.TemporaryDirectory() as folder:
            begun, first = -1, number
            for line in container(Path(folder), jobs, number):
                outcome = json.loads(line)
                begun = outcome.get("begun", begun)
                if outcome.get("done") == number:
                    yield outcome
                    number += 1
            if begun < first:
                raise RuntimeError("stock nbgrader does not start")
            if number < len(jobs):
                yield LOST
                number += 1


def container(folder: Path, jobs: list[list[dict[str, Any]]], first: int) -> Iterator[str]:
    """The lines that a container prints while it tries the attacks from a number on."""
    from grading.sandbox import readable  # noqa: PLC0415

    (folder / "jobs.json").write_text(json.dumps(jobs))
    (folder / "attacks.py").write_text(Path(__file__).read_text())
    folder.chmod(0o755)
    command = ["bwrap", "--die-with-parent", "--new-session", "--unshare-pid", "--unshare-net"]
    command += ["--unshare-ipc", "--unshare-uts", "--proc", "/proc", "--dev", "/dev"]
    for path in [*readable(), Path("/etc/passwd"), Path("/etc/group")]:
        for parent in reversed(path.parents):
            command += ["--perms", "0755", "--dir", str(parent)]
        command += ["--ro-bind", str(path), str(path)]
    for link in ("/bin", "/lib", "/lib64", "/sbin"):
        command += ["--symlink", os.readlink(link), link] if Path(link).is_symlink() else []
    for place in ("/scratch", "/tmp", "/dev/shm"):
        command += ["--size", str(SCRATCH), "--perms", "1777", "--tmpfs", place]
    command += ["--ro-bind", str(folder), "/given", "--remount-ro", "/", "--chdir", "/scratch"]
    if os.geteuid() == 0:
        command += ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--"]
        command += ["setpriv", f"--reuid={STRANGER}", f"--regid={STRANGER}", "--clear-groups", "--no-new-privs"]
    else:
        command += ["--unshare-user", "--"]
    command += [sys.executable, "/given/attacks.py", "--inside", "/given/jobs.json", str(first)]
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    with subprocess.Popen(
        command,
        env={"PATH": path, "HOME": "/scratch", "LANG": "C.UTF-8", "OPENBLAS_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        preexec_fn=limit,  # noqa: PLW1509  one thread
    ) as process:
        # an attack that stops everything, itself included, is ended from here
        watch = threading.Timer(SECONDS * 2, process.kill)
        for line in process.stdout:
            watch.cancel()
            watch = threading.Timer(SECONDS * 2, process.kill)
            watch.start()
            yield line
        watch.cancel()


def limit() -> None:
    """Hold the container's processes to what a small machine can bear."""
    for kind, value in (("AS", 3 * 2**30), ("NPROC", 150), ("FSIZE", SCRATCH), ("CPU", 2 * SECONDS), ("CORE", 0)):
        resource.setrlimit(getattr(resource, f"RLIMIT_{kind}"), (value, value))


# The table


def word(kind: str, outcome: dict[str, Any]) -> str:
    """What came of an attack, for people."""
    if outcome["scores"] is None:
        return "no grade" if outcome["exit"] else "grading stopped"
    if SENTINEL in outcome["shown"]:
        return "hidden test printed"
    if kind == "reach":
        return "succeeds" if "reached" in outcome["shown"] else HELD
    got, most = sum(outcome["scores"]), len(outcome["scores"])
    return HELD if got == 0 else "full marks" if got == most else f"{got} of {most} points"


HEADS = {
    "fool": "Wrong work that wants to be taken for right",
    "end": "A program that ends, never ends or takes too much",
    "reach": "Reaching for what is not the student's",
}


def title(name: str) -> str:
    """An attack's name at the beginning of a line."""
    return name[0].upper() + name[1:]


def table(rows: list[tuple[str, str, str, str]]) -> str:
    """The rows as Markdown, by kind."""
    parts = ["% Written by benchmarks/attacks.py; do not edit.\n"]
    for kind, head in HEADS.items():
        parts += [f"\n**{head}**\n\n| Attack | Stock nbgrader | This course |\n|---|---|---|\n"]
        parts += [f"| {title(name)} | {stock} | {ours} |\n" for k, name, stock, ours in rows if k == kind]
    return "".join(parts)


def main() -> None:
    """Run every attack on both and write the table."""
    from test_attacks import LIMITS  # noqa: PLC0415

    from grading.judge import Service  # noqa: PLC0415

    chosen, rows = sys.argv[1:], []
    tried = [attack for attack in attacks() if not chosen or attack[1] in chosen]
    service = Service(LIMITS)
    for (kind, name, cells), there in zip(tried, in_containers([cells for *_, cells in tried]), strict=True):
        rows.append((kind, name, word(kind, there), word(kind, ours(cells, service))))
        print(*rows[-1], sep=" | ", flush=True)
    service.close()
    held = [sum(row[column] == HELD for row in rows) for column in (2, 3)]
    print(f"{HELD}: stock {held[0]}, this course {held[1]} of {len(rows)}")
    if not chosen:
        TABLE.write_text(table(rows))


if __name__ == "__main__":
    stock(Path(sys.argv[2]), int(sys.argv[3])) if sys.argv[1:2] == ["--inside"] else main()
