"""Grade the same hand-ins with nbgrader as it comes and with ``grade run``, and say what each of them took.

    make bench-grading

The hand-ins to level 2 are the sample class's, but for endless loops and the one at which nbgrader stops altogether,
and then all of them right; each is handed in as often as needed. nbgrader gets a course of its own without this
course's settings. ``otter run`` of Otter-Grader, in an environment of its own, grades some of the right ones, one by
one, with the same tests. Memory is the largest sum over all processes, shared pages counted once. At last 50,000
hand-ins pass through everything but the judging.
"""

import argparse
import asyncio
import json
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path

sys.path[0] = str(Path(__file__).parents[1])  # this file has the package's name

import nbformat  # noqa: E402
import psutil  # noqa: E402
from distributed import WorkerPlugin  # noqa: E402

from grading import gradebook, run, sample  # noqa: E402
from grading.course import HERE, STEMS, Course  # noqa: E402
from grading.mend import is_test  # noqa: E402
from grading.worker import Grader, HandIn, Outcome  # noqa: E402

NAME = STEMS[1]
PLAIN = "c = get_config()\nc.CourseDirectory.course_id = 'plain'\nc.ExecutePreprocessor.timeout = 10\n"


def hand_in(course: Course, count: int, which: Callable[[sample.HandIn], bool]) -> None:
    """Fill ``submitted/``, taking turns among some hand-ins of the sample class."""
    ones = [one for one in sample.hand_ins_of(sample.Sheet(course, NAME)) if which(one)]
    shutil.rmtree(course.root / "submitted", ignore_errors=True)
    for number in range(count):
        one = ones[number % len(ones)]
        folder = course.submission(f"{one.student}-{number}", NAME)
        folder.mkdir(parents=True)
        data = one.content if isinstance(one.content, bytes) else nbformat.writes(one.content).encode()
        (folder / (one.filename or f"{NAME}.ipynb")).write_bytes(data)
        (folder / "timestamp.txt").write_text(sample.TIMESTAMP)


def plain(root: Path, course: Course) -> Path:
    """Make a course for nbgrader alone, with the same hand-ins."""
    (root / "source" / NAME).mkdir(parents=True)
    shutil.copy(HERE / "solutions" / NAME / f"{NAME}.ipynb", root / "source" / NAME)
    (root / "nbgrader_config.py").write_text(PLAIN)
    subprocess.run([*NBGRADER, "generate_assignment", NAME], cwd=root, check=True, capture_output=True)
    shutil.copytree(course.root / "submitted", root / "submitted")
    return root


OTTER = HERE / ".venv-otter" / "bin"
NBGRADER = (sys.executable, "-m", "nbgrader")
GRADE = (str(Path(sys.executable).with_name("grade")), "run", NAME)


OTTER_TEST = """OK_FORMAT = False
from otter.test_files import test_case

name, points = {name!r}, {points}


@test_case()
def test(env):
    exec({source!r}, env)
"""


def otter(count: int) -> None:
    """Have ``otter run`` grade right hand-ins, one after the other, and print what one takes."""
    if not (OTTER / "otter").exists():
        print("\nOtter-Grader is not installed.")
        return
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        root, course = Path(folder, "otter"), sample.course(Path(folder, "ours"))
        hand_in(course, count, lambda one: one.student == "all-right")
        (root / "tests").mkdir(parents=True)
        for cell in nbformat.read(HERE / "solutions" / NAME / f"{NAME}.ipynb", 4).cells:
            if is_test(cell):
                marks = cell.metadata.nbgrader
                text = OTTER_TEST.format(name=marks.grade_id, points=marks.points, source=cell.source)
                (root / "tests" / f"{marks.grade_id}.py").write_text(text)
        environment = os.environ | {"PATH": f"{OTTER}:{os.environ['PATH']}", "PYTHONPATH": str(HERE)}
        call = partial(subprocess.run, cwd=root, env=environment, check=True, capture_output=True)
        call([OTTER / "otter", "generate", "-t", "tests", "-o", "tests.zip"])
        start, full = time.perf_counter(), 0
        for notebook in course.root.glob("submitted/*/*/*.ipynb"):
            call([OTTER / "otter", "run", notebook, "-a", "tests.zip", "-o", root])
            tests = json.loads((root / "results.json").read_text())["tests"]
            full += all(test.get("score") == test.get("max_score") for test in tests)
        each = (time.perf_counter() - start) / count
        print(
            f"\notter run: {each:.2f} s each, {full} of {count} with all points   load {os.getloadavg()[0]:.1f}",
            flush=True,
        )


def measured(command: list[str], cwd: Path) -> tuple[float, float, float, int]:
    """Run a command; give its seconds, those to the first result, its peak memory in MB, and how many it graded."""
    start, first, peak, turns = time.perf_counter(), 0.0, 0.0, 0
    process = psutil.Popen(command, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None:
        time.sleep(0.05)
        if not first and next((cwd / "autograded").glob("*/*/*.ipynb"), None):
            first = time.perf_counter() - start
        if (turns := turns + 1) % 20 == 0:
            peak = max(peak, memory(process))
    return time.perf_counter() - start, first, peak, len(list((cwd / "autograded").glob("*/*/*.ipynb")))


def memory(process: psutil.Process) -> float:
    """The memory of a process and all that it started, in MB."""
    total = 0
    with suppress(psutil.Error):
        for one in (process, *process.children(recursive=True)):
            with suppress(psutil.Error):
                total += one.memory_full_info().pss
    return total / 2**20


def compare(title: str, counts: list[int], workers: list[int], which: Callable[[sample.HandIn], bool]) -> None:
    """Grade one kind of hand-ins in every way."""
    heads = ("total s", "each s", "first s", "peak MB", "graded", "ratio")
    print(f"\n{title}\n{'hand-ins':>8} {'graded by':22}" + "".join(f"{head:>9}" for head in heads))
    for count in counts:
        with tempfile.TemporaryDirectory(prefix="bench-") as folder:
            course = sample.course(Path(folder, "ours"))
            hand_in(course, count, which)
            stock = measured([*NBGRADER, "autograde", NAME], plain(Path(folder, "plain"), course))
            line(count, "nbgrader autograde", stock)
            for number in workers:
                for made in ("autograded", "reports"):
                    shutil.rmtree(course.root / made, ignore_errors=True)
                command = [*GRADE, "--course", str(course.root), "--workers", str(number)]
                line(count, f"grade run, {number} worker{'s' * (number > 1)}", measured(command, course.root), stock[0])


def line(count: int, what: str, numbers: tuple[float, float, float, int], stock: float = 0.0) -> None:
    """Print one measurement."""
    total, first, peak, graded = numbers
    ratio = f"{stock / total:9.1f}" if stock else ""
    print(
        f"{count:8} {what:22}{total:9.1f}{total / count:9.3f}{first:9.1f}{peak:9.0f}{graded:9}{ratio}"
        f"   load {os.getloadavg()[0]:.1f}",
        flush=True,
    )


# Where the time goes


def parts(count: int) -> None:
    """Do the steps of a run one by one, in this process, and print what each takes of processor and of wall time."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        course = sample.course(Path(folder, "ours"))
        hand_in(course, count, lambda one: one.student == "all-right")
        config, students = course.config(), course.students()
        with course.gradebook() as book:
            sheets = {NAME: gradebook.Sheet(book, NAME, config)}
            masters = {NAME: run.texts(sheets[NAME], course.released(NAME))}
            grader = Grader(masters, config)
            asyncio.run(grader.setup(None))
            print(f"\nWhere the time of a right hand-in goes, one after the other, {count} of them")
            jobs = step("read and compare", students, lambda one: run.look(course, masters, NAME, one, force=True))
            grader.grade(jobs[0].hand_in)
            back = step("worker, with the judge", jobs, lambda job: (job, grader.grade(job.hand_in)))
            grader.execute = lambda notebook: []
            step("worker, without it", jobs, lambda job: grader.grade(job.hand_in))
            fours = [slice(start, start + 4) for start in range(0, count, 4)]
            step("clear, by fours", fours, lambda four: run.enter(course, sheets, jobs[four], []), count)
            step("write points, by fours", fours, lambda four: run.enter(course, sheets, [], back[four]), count)
            step("write files, by fours", fours, lambda four: run.publish(course, back[four]), count)
            grader.teardown(None)


def step(what: str, things: Iterable, work: Callable, count: int = 0) -> list:
    """Do something with each thing, and print how long that took."""
    cpu, wall = time.process_time(), time.perf_counter()
    done = [work(thing) for thing in things]
    times = (time.process_time() - cpu, time.perf_counter() - wall)
    cpu, wall = (1000 * seconds / (count or len(done)) for seconds in times)
    print(f"{what:24}{cpu:8.1f} ms of this process{wall:9.1f} ms", flush=True)
    return done


# Many


class Recorded(WorkerPlugin):
    """Stands in for a grader: gives the same outcome for every hand-in, at once."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome

    def grade(self, hand_in: HandIn) -> Outcome:
        return self.outcome


def simulate(count: int, workers: int) -> None:
    """Send many hand-ins through everything but the judging, and print how fast that is as the class grows."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        course = sample.course(Path(folder, "ours"))
        hand_in(course, 1, lambda one: one.student == "all-right")
        one = course.submission("all-right-0", NAME)
        for number in range(1, count):
            shutil.copytree(one, course.submission(f"all-right-{number}", NAME), copy_function=os.link)
        with course.gradebook() as book:
            masters = {NAME: run.texts(gradebook.Sheet(book, NAME, course.config()), course.released(NAME))}
        grader = Grader(masters, course.config())
        asyncio.run(grader.setup(None))
        job = run.look(course, masters, NAME, "all-right-0", force=True)
        outcome = grader.grade(job.hand_in)
        grader.teardown(None)
        run.Grader = lambda masters, config: Recorded(outcome)
        sizes = len(pickle.dumps(job.hand_in)), len(pickle.dumps(outcome))
        print(f"\n{count} hand-ins of {sizes[0]} bytes and results of {sizes[1]}, {workers} workers that do not judge")
        part, here, done = max(1, count // 10), psutil.Process(), 0
        start = cpu = 0.0
        for done, _ in enumerate(run.run(course, [NAME], workers=workers)):
            if done % part == 0:
                now, used = time.perf_counter(), time.process_time()
                if done:
                    rate, each = part / (now - start), 1000 * (used - cpu) / part
                    memory = here.memory_info().rss / 2**20
                    print(f"{done:8}{rate:8.1f}/s{each:8.2f} ms of this process each{memory:8.0f} MB", flush=True)
                start, cpu = now, used
        start = time.perf_counter()
        run.scores(course, NAME)
        print(f"reading all scores{time.perf_counter() - start:8.1f} s")
        start = time.perf_counter()
        list(run.run(course, [NAME], workers=workers))
        print(f"finding that all is graded{time.perf_counter() - start:8.1f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--hand-ins", type=int, nargs="*", default=[20, 200], help="how many, 20 200 if not given")
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2], help="1 2 if not given")
    parser.add_argument("--simulate", type=int, default=50_000, help="50000 if not given, 0 for none")
    options = parser.parse_args()
    print(f"Level 2, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    kinds = (
        ("A mix of right, wrong and odd ones", lambda one: one.student not in ("endless-loop", "duplicate-cells")),
        ("All right", lambda one: one.student == "all-right"),
    )
    for title, which in kinds if options.hand_ins else ():
        compare(title, options.hand_ins, options.workers, which)
    if options.hand_ins:
        otter(min(5, *options.hand_ins))
        parts(20)
    if options.simulate:
        simulate(options.simulate, max(options.workers))


if __name__ == "__main__":
    main()
