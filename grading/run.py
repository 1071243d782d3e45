"""Grade a class: hand-ins go out to workers, what came of them comes back, and this process alone writes it down.

The order of writing makes every state a good one. Before a hand-in goes out, its report goes, then its points become 0.
When it comes back, its points are written, then the graded notebook, and last the report. So a report vouches for the
points of the content it names, and whatever has none is graded by the next run.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import cache, partial
from multiprocessing import forkserver
from pathlib import Path
from typing import Any

import dask
import nbformat
from distributed import Client, LocalCluster, as_completed
from distributed.scheduler import KilledWorker
from distributed.security import Security
from distributed.utils import get_mp_context
from nbgrader.utils import parse_utc

import normlib
from grading import gradebook, sandbox
from grading.course import CannotGrade, Course
from grading.gradebook import Sheet
from grading.mend import Unreadable, find_notebook, read_file
from grading.sandbox import SandboxMissing
from grading.worker import Grader, HandIn, Outcome, grade

PATIENCE = 30  # seconds to wait for a scheduler and its first worker
AHEAD = 3  # hand-ins for each worker, so that none waits while another one's result is written
LOCAL = {
    "distributed.worker.multiprocessing-method": "forkserver",
    "distributed.worker.profile.enabled": False,
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.scheduler.worker-ttl": "30s",  # a worker that hangs is replaced
    "distributed.scheduler.allowed-failures": 2,  # of the workers that one hand-in may end
}


@dataclass(frozen=True)
class Report:
    """What happened to one submission. Its score stands in the grade book, and nowhere else.

    Parameters
    ----------
    student, assignment : str
        Whose, and which.
    outcome : str
        "graded"; "mended": graded after something was put right; "stopped": graded, but a cell ran too long or ended
        the program; "unreadable": score 0; "failed": the grader's own fault, score 0 until it is run again;
        "missing": not handed in.
    line : str
        What happened and what to do, for the student.
    misconceptions : tuple of str
        The mistakes that the tests named.
    digest : str
        Of what was graded; the same content is not graded twice.
    """

    student: str
    assignment: str
    outcome: str
    line: str
    misconceptions: tuple[str, ...] = ()
    digest: str = ""

    @property
    def attention(self) -> bool:
        """Whether somebody should look at it."""
        return self.outcome in ("stopped", "unreadable", "failed")


@dataclass(frozen=True)
class Job:
    """A hand-in that must be graded.

    Parameters
    ----------
    student : str
        Whose it is.
    hand_in : HandIn
        What goes to a worker.
    digest : str
        Of the hand-in and of what it is graded against.
    notes : list of str
        What was put right already.
    time : datetime, optional
        When it was handed in, in UTC.
    """

    student: str
    hand_in: HandIn
    digest: str
    notes: list[str]
    time: datetime | None = None


def run(
    course: Course,
    assignments: list[str],
    students: list[str] | None = None,
    *,
    force: bool = False,
    workers: int = 2,
    scheduler: str = "",
    trust: bool = False,
) -> Iterator[Report]:
    """Grade assignments of a class, and report on each submission as it is done.

    Parameters
    ----------
    course : Course
        The class.
    assignments : list of str
        Which ones; they must be released.
    students : list of str, optional
        Only these.
    force : bool
        Grade again what has not changed since it was last graded.
    workers : int
        How many processes judge at the same time on this machine.
    scheduler : str
        The address of a Dask scheduler whose workers do it instead.
    trust : bool
        Run submissions without a sandbox and without a judge, as yourself: they can do all that you can.

    Yields
    ------
    Report
        In the order in which they are done; what need not be graded comes with its old report.

    Raises
    ------
    CannotGrade
        If submissions cannot be contained, there are no workers, or another run is at work on this class.
    """
    students = list(dict.fromkeys(students or course.students()))
    config = course.config()
    if trust:
        config.Run.trust_submissions = True
    if not (scheduler or config.Run.get("trust_submissions")):
        sandbox.command(0)  # before anything is started
    with alone(course), course.gradebook() as book, ExitStack() as stack:
        sheets = {name: Sheet(book, name, config) for name in assignments}
        masters = {name: texts(sheet, course.released(name)) for name, sheet in sheets.items()}
        pairs = [(name, student) for name in assignments for student in students]
        looked_at = (look(course, masters, *pair, force=force) for pair in pairs)
        done, jobs = take(looked_at, 1)
        yield from done
        if not jobs:
            return
        client = stack.enter_context(pool(min(workers, len(pairs)), scheduler))
        plugin = stack.enter_context(graders(client, Grader(masters, config), f"grading {course.root}"))
        results, sent, back = as_completed(with_results=True, raise_errors=False, loop=client.loop), {}, []
        while True:
            more, others = take(looked_at, AHEAD * sum(client.nthreads().values()) - len(sent) - len(jobs))
            jobs += others
            enter(course, sheets, jobs, back)
            for job in jobs:
                future = client.submit(grade, job.hand_in, plugin, pure=False, retries=2)
                sent[future.key] = job
                results.add(future)
            yield from [*more, *publish(course, back)]
            if not sent:
                return
            await_result(client, results)
            back = [(sent.pop(future.key), received(result)) for future, result in results.next_batch()]
            jobs = []


# Getting hand-ins out


@contextmanager
def alone(course: Course) -> Iterator[None]:
    """Keep other runs from writing this class's results; the lock goes with the process, however it ends."""
    import fcntl  # noqa: PLC0415  there is none on Windows, where this module is only imported

    (course.root / "reports").mkdir(exist_ok=True)
    with (course.root / "reports" / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise CannotGrade("Another `grade run` is at work on this class. Wait until it ends.") from None
        yield


def texts(sheet: Sheet, released: nbformat.NotebookNode) -> tuple[str, str]:
    """Give what workers need of an assignment: the released notebook, and the master's."""
    return nbformat.v4.writes(released), nbformat.v4.writes(sheet.master(released))


def look(
    course: Course, masters: dict[str, tuple[str, str]], assignment: str, student: str, *, force: bool
) -> Report | Job:
    """Look at what a student handed in, and whether there is anything to grade."""
    folder, old = course.submission(student, assignment), load(course, assignment, student)
    if not folder.is_dir():
        return Report(student, assignment, "missing", "Not handed in; score 0.")
    digest = hashlib.sha256("".join([fingerprint(folder), *masters[assignment], checks()]).encode()).hexdigest()
    if old.digest == digest and old.outcome != "failed" and not force:
        return old
    try:
        path, notes = find_notebook(folder, assignment)
        hand_in = HandIn(assignment, path.name, read_file(path))
    except Unreadable as error:
        return Job(student, HandIn(assignment, problem=str(error)), digest, [])
    time, complaint = timestamp(folder / "timestamp.txt")
    return Job(student, hand_in, digest, notes + complaint, time)


@cache
def checks() -> str:
    """A digest of normlib's sources: what the tests call decides about points as the tests do."""
    digest = hashlib.sha256()
    for path in sorted(Path(normlib.__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def fingerprint(folder: Path) -> str:
    """A digest of the files in a folder. Links are not read."""
    digest = hashlib.sha256()
    for path in [] if folder.is_symlink() or folder.parent.is_symlink() else sorted(folder.rglob("*")):
        if path.is_symlink():
            digest.update(f"{path.relative_to(folder)}\0link\0".encode("utf-8", "surrogateescape"))
        elif path.is_file():
            digest.update(f"{path.relative_to(folder)}\0".encode("utf-8", "surrogateescape"))
            with path.open("rb") as content:
                digest.update(hashlib.file_digest(content, "sha256").digest())
    return digest.hexdigest()


def timestamp(path: Path) -> tuple[datetime | None, list[str]]:
    """Read the time of the hand-in, in UTC; nbgrader stops at one that cannot be read."""
    if not path.exists() or path.is_symlink():
        return None, []
    try:
        text = path.read_text().strip()
        return (parse_utc(text) if text else None), []
    except (ValueError, OverflowError):
        return None, ["timestamp.txt cannot be read and was not used."]


def take(looked_at: Iterator[Report | Job], count: int) -> tuple[list[Report], list[Job]]:
    """Look at hand-ins until some that must be graded are found; give the reports on the others, too."""
    reports, jobs = [], []
    while len(jobs) < count and (found := next(looked_at, None)):
        (jobs if isinstance(found, Job) else reports).append(found)
    return reports, jobs


# Workers


@contextmanager
def pool(workers: int, scheduler: str) -> Iterator[Client]:
    """Connect to the workers: those of a scheduler, or some processes on this machine for the time being."""
    if scheduler:
        try:
            client = Client(scheduler, timeout=PATIENCE)
            client.wait_for_workers(1, timeout=PATIENCE)
        except (OSError, TypeError, ValueError):  # Dask's words for no connection, no keys, no such address
            line = f"No Dask scheduler with workers answers at {scheduler}. Check the address and the keys for TLS."
            raise CannotGrade(line) from None
        with client:
            yield client
        return
    with (
        dask.config.set(LOCAL),
        fork_server(),
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=workers > 1,
            memory_limit=None,
            # nobody else on this machine or its network is to look on or join in
            dashboard_address="127.0.0.1:0",
            worker_dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            security=Security.temporary() if workers > 1 else None,  # one worker is a thread of this process
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@contextmanager
def fork_server() -> Iterator[None]:
    """Start the process that local workers are forked from, with everything imported once.

    Ctrl-C is for this process alone, which ends the others; they say nothing about it.
    """
    get_mp_context().set_forkserver_preload(["distributed", "grading.cli"])  # Dask has set its own list now
    ours, terminal = signal.signal(signal.SIGINT, signal.SIG_IGN), os.dup(2)
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 2)
        forkserver.ensure_running()
        os.dup2(terminal, 2)
    os.close(terminal)
    signal.signal(signal.SIGINT, ours)
    yield


@contextmanager
def graders(client: Client, grader: Grader, name: str) -> Iterator[str]:
    """Let every worker, and each that joins later, hold a grader; they are dismissed in the end.

    Raises
    ------
    SandboxMissing
        If a worker cannot contain submissions.
    """
    client.register_plugin(grader, name=name)
    try:
        yield name
    finally:
        with suppress(Exception):  # the scheduler may be gone
            client.unregister_worker_plugin(name)


def await_result(client: Client, results: as_completed) -> None:
    """Wait until something has come back.

    Raises
    ------
    CannotGrade
        If there have been no workers for some time.
    """
    seen = asked = time.monotonic()
    while not results.has_ready():
        time.sleep(0.005)
        if (now := time.monotonic()) > asked + 1:
            asked, seen = now, now if client.nthreads() else seen
            if now > seen + PATIENCE:
                raise CannotGrade("No worker is left. Start some, and run the same command again to go on.")


def received(result: Any) -> Outcome:
    """What came of a task: a worker's result, or the error that Dask gives in its place.

    Raises
    ------
    SandboxMissing
        If a worker cannot contain submissions.
    CannotGrade
        If the scheduler is gone.
    """
    if isinstance(result, Outcome):
        return result
    if isinstance(result, BaseException):
        raise CannotGrade("The Dask scheduler is gone. Run the same command again to go on.") from result
    _, error, _ = result
    if isinstance(error, SandboxMissing):
        raise error
    if isinstance(error, KilledWorker):
        return Outcome(fault="it ended the worker again and again")
    return Outcome(fault=f"{type(error).__name__}: {error}")


# Writing down what came back


def withdraw(course: Course, jobs: list[Job]) -> None:
    """Take away what was made of older hand-ins: first their reports, so that nothing vouches for their points."""
    for job in jobs:
        _report_file(course, job.hand_in.assignment, job.student).unlink(missing_ok=True)
        shutil.rmtree(course.autograded(job.student, job.hand_in.assignment).parent, ignore_errors=True)


def enter(course: Course, sheets: dict[str, Sheet], jobs: list[Job], back: list[tuple[Job, Outcome]]) -> None:
    """Take new hand-ins into the grade book and write what came of others, in one transaction."""
    withdraw(course, jobs)
    for name, sheet in sheets.items():
        sheet.clear([job.student for job in jobs if job.hand_in.assignment == name])
        sheet.write([(job.student, job.time, one) for job, one in back if job.hand_in.assignment == name])
        sheet.book.db.commit()


def publish(course: Course, back: list[tuple[Job, Outcome]]) -> list[Report]:
    """Write the graded notebooks, and then the reports that vouch for them and for the points."""
    reports = []
    for job, outcome in back:
        if outcome.notebook:
            path = course.autograded(job.student, job.hand_in.assignment)
            replace(path, outcome.notebook)
            if job.time:
                replace(path.with_name("timestamp.txt"), f"{job.time} UTC")
        reports.append(report_on(job, outcome))
        save(course, reports[-1])
    return reports


def report_on(job: Job, outcome: Outcome) -> Report:
    """Say what happened to a hand-in."""
    report = partial(Report, job.student, job.hand_in.assignment, digest=job.digest)
    if outcome.problem:
        return report("unreadable", outcome.problem)
    if outcome.fault:
        return report("failed", f"The grader failed ({outcome.fault[:200]}). Grade it again.")
    notes = job.notes + outcome.notes
    kind = "stopped" if outcome.stops else "mended" if notes else "graded"
    return report(kind, " ".join([*outcome.stops, *notes]) or "Graded.", tuple(outcome.misconceptions))


def replace(path: Path, text: str) -> None:
    """Write a file in one step: nobody sees a part of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


# Reports are small files of their own, one a submission, so that a killed run resumes where it was


def _report_file(course: Course, assignment: str, student: str) -> Path:
    return course.root / "reports" / assignment / f"{student}.json"


def save(course: Course, report: Report) -> None:
    """Keep a report."""
    path = _report_file(course, report.assignment, report.student)
    replace(path, json.dumps(asdict(report), ensure_ascii=False, indent=1))


def load(course: Course, assignment: str, student: str) -> Report:
    """The report on a submission; "missing" if there is none."""
    try:
        fields = json.loads(_report_file(course, assignment, student).read_text(encoding="utf-8"))
    except FileNotFoundError:
        handed_in = course.submission(student, assignment).is_dir()
        line = "Not graded yet." if handed_in else "Not handed in; score 0."
        return Report(student, assignment, "missing", line)
    return Report(**{**fields, "misconceptions": tuple(fields["misconceptions"])})


def scores(course: Course, assignment: str) -> dict[str, tuple[float, float, bool]]:
    """Everybody's score, the maximum, and whether a person still has to grade something, from the grade book."""
    with course.gradebook() as book:
        return gradebook.scores(book, assignment)
