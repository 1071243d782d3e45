"""Whole classes: workers that are lost, runs that are killed, and what stands in the grade book then."""

import json
import os
import random
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
from contextlib import contextmanager
from datetime import datetime, timedelta

import nbformat
import psutil
import pytest
from distributed import LocalCluster
from nbgrader.api import Comment, Grade, SubmittedAssignment
from sqlalchemy import event
from typer.testing import CliRunner

from grading import cli, gradebook, run, sample
from grading.course import HERE, STEMS, CannotGrade, Course
from grading.release import release
from grading.sandbox import SandboxMissing
from grading.worker import Outcome

pytestmark = [pytest.mark.xdist_group("run"), pytest.mark.filterwarnings("ignore:Object of type")]  # nbgrader's own
L2 = STEMS[1]
KINDS = ("all-right", "half-done", "ddof-1", "renamed", "empty-file", "unattempted")
GRADE = [sys.executable, "-c", "from grading.cli import app; app()", "run", L2, "--course"]


@pytest.fixture(scope="module")
def hand_ins(tmp_path_factory):
    """Twelve hand-ins of a class, with what must come out."""
    course = Course(tmp_path_factory.mktemp("run") / "class", timeout=10)
    course.root.mkdir()
    list(release(course, [L2]))
    kinds = {one.student: one for one in sample.hand_ins_of(sample.Sheet(course, L2)) if one.student in KINDS}
    made = {f"{kind}-{number}": kinds[kind] for number in range(2) for kind in KINDS}
    for student, one in made.items():
        hand_in(course, student, one)
    return course, made


def hand_in(course, student, one, when=sample.TIMESTAMP):
    folder = course.submission(student, L2)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    content = one.content if isinstance(one.content, bytes) else nbformat.writes(one.content).encode()
    (folder / (one.filename or f"{L2}.ipynb")).write_bytes(content)
    (folder / "timestamp.txt").write_text(when)


@pytest.fixture
def fresh(hand_ins, tmp_path):
    """A class of its own for a test, not graded yet."""
    shutil.copytree(hand_ins[0].root, tmp_path / "class")
    return Course(tmp_path / "class", timeout=10)


@pytest.fixture(scope="module")
def graded(hand_ins, tmp_path_factory):
    """The class graded by one worker."""
    root = tmp_path_factory.mktemp("graded") / "class"
    shutil.copytree(hand_ins[0].root, root)
    course = Course(root, timeout=10)
    return course, list(run.run(course, [L2], workers=1))


def rows(course, students=None):
    """All that grading writes into the grade book, whatever the keys of the rows."""
    with course.gradebook() as book:
        found = {}
        for submission in book.db.query(SubmittedAssignment):
            student = submission.student.id
            notebook = submission.notebooks[0]
            found[student, "when"] = (submission.timestamp, notebook.late_submission_penalty)
            for one in book.db.query(Grade).filter(Grade.notebook_id == notebook.id):
                found[student, one.name] = (one.auto_score, one.manual_score, one.needs_manual_grade)
            for one in book.db.query(Comment).filter(Comment.notebook_id == notebook.id):
                found[student, "comment", one.name] = (one.auto_comment, one.manual_comment)
    return {key: value for key, value in found.items() if students is None or key[0] in students}


def points(course):
    return {student: score for student, (score, _, _) in run.scores(course, L2).items()}


def right(made):
    return {student: one.score for student, one in made.items()}


def notebooks(course):
    return {path.parent.parent.name: path.read_text() for path in (course.root / "autograded").glob("*/*/*.ipynb")}


def by_student(reports):
    return {one.student: one for one in reports}


# The same whoever grades


def test_each_hand_in_gets_the_points_and_outcome_that_it_must(hand_ins, graded):
    course, reports = graded
    assert points(course) == right(hand_ins[1])
    assert {one.student: one.outcome for one in reports} == {name: one.outcome for name, one in hand_ins[1].items()}


def test_two_processes_in_another_order_grade_the_same(graded, fresh):
    course, reports = graded
    students = list(by_student(reports))
    random.Random(5).shuffle(students)
    again = list(run.run(fresh, [L2], students, workers=2))
    assert by_student(again) == by_student(reports)
    assert rows(fresh) == rows(course)
    assert notebooks(fresh) == notebooks(course)


def test_nbgraders_own_command_writes_the_same_into_the_grade_book(hand_ins, fresh, monkeypatch):
    """One in time, one late, one with an extension; being late costs everything."""
    students = {"all-right-0": 0, "all-right-1": 0, "half-done-0": 90, "unattempted-0": 0}
    usual = Course.config

    def strict(self):
        config = usual(self)
        config.LateSubmissionPlugin.penalty_method = "zero"
        return config

    monkeypatch.setattr(Course, "config", strict)
    hand_in(fresh, "all-right-0", hand_ins[1]["all-right-0"], "2026-03-02 10:00:00 UTC")
    with fresh.gradebook() as book:
        book.find_assignment(L2).duedate = datetime(2026, 3, 2, 11)
        for student, minutes in students.items():
            book.update_or_create_student(student)
            book.update_or_create_submission(L2, student)
            book.find_submission(L2, student).extension = timedelta(minutes=minutes)
        book.db.commit()
    own = shutil.copytree(fresh.root, fresh.root.with_name("own"))
    list(run.run(fresh, [L2], list(students), workers=1))
    settings = (HERE / "nbgrader_config.py").read_text() + "\nc.LateSubmissionPlugin.penalty_method = 'zero'\n"
    (own / "nbgrader_config.py").write_text(settings.replace('"solutions"', repr(str(HERE / "solutions"))))
    command = [sys.executable, "-m", "nbgrader", "autograde", L2, "--student", "[a-u]*-[01]"]
    for student in set(os.listdir(own / "submitted")) - set(students):
        shutil.rmtree(own / "submitted" / student)
    done = subprocess.run(command, cwd=own, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert rows(fresh, students) == rows(Course(own), students)
    assert points(fresh) == {"all-right-0": 25, "all-right-1": 0, "half-done-0": 9, "unattempted-0": 0}


def test_what_a_person_gave_stays(fresh):
    only = ["half-done-0"]
    list(run.run(fresh, [L2], only, workers=1))
    with fresh.gradebook() as book:
        book.find_grade("ex-2-1-test-row", L2, L2, only[0]).manual_score = 1.5
        book.find_comment("ex-2-1-answer", L2, L2, only[0]).manual_comment = "Look again."
        book.db.commit()
    list(run.run(fresh, [L2], only, workers=1, force=True))
    assert rows(fresh)[only[0], "ex-2-1-test-row"] == (2, 1.5, False)
    assert rows(fresh)[only[0], "comment", "ex-2-1-answer"] == (None, "Look again.")
    assert run.scores(fresh, L2)[only[0]] == (9 - 2 + 1.5, 25, False)


# Workers are lost


@contextmanager
def processes(*commands, **environment):
    """Start programs, and end them."""
    started = [
        subprocess.Popen(command, env=os.environ | environment, stderr=subprocess.DEVNULL) for command in commands
    ]
    try:
        yield started
    finally:
        for process in started:
            process.kill()
            process.wait()


def test_the_hand_ins_of_a_killed_and_of_a_hanging_worker_are_graded_by_another(hand_ins, graded, fresh, tmp_path):
    file = tmp_path / "scheduler.json"
    scheduler = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--no-dashboard", "--no-show"]
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", "--nthreads", "1", "--no-nanny", "--no-dashboard"]
    where = ["--scheduler-file", str(file), "--port", "0", "--host", "127.0.0.1"]
    with processes([*scheduler, *where], DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL="20s"):
        while not file.exists() or not file.read_text():
            time.sleep(0.1)
        address = json.loads(file.read_text())["address"]
        others = ["--local-directory", str(tmp_path), "--preload", "grading.worker"]
        with processes(*[[*worker, address, *others]] * 3) as (first, second, _):
            lost = {2: (first, signal.SIGKILL), 3: (second, signal.SIGSTOP)}
            reports = []
            for number, report in enumerate(run.run(fresh, [L2], scheduler=address)):
                reports.append(report)
                if number in lost:
                    process, how = lost[number]
                    process.send_signal(how)
    assert by_student(reports) == by_student(graded[1])
    assert rows(fresh) == rows(graded[0])


def test_nobody_without_the_run_s_own_key_can_reach_its_workers():
    """Whoever could would run programs as the grader."""
    with run.pool(2, "") as client:
        addresses = [client.scheduler.address, *client.scheduler_info()["workers"]]
        assert len(addresses) == 3
        for address in addresses:
            assert address.startswith("tls://127.0.0.1:")
            host, port = address.removeprefix("tls://").split(":")
            strangers = ssl.create_default_context()
            strangers.check_hostname, strangers.verify_mode = False, ssl.CERT_NONE
            with (
                socket.create_connection((host, int(port))) as plain,
                pytest.raises(OSError, match=r"(?i)certificate|reset"),
            ):
                strangers.wrap_socket(plain).recv(1)


def test_a_hand_in_that_ends_its_workers_fails_alone(hand_ins, fresh, monkeypatch):
    deadly = nbformat.writes(hand_ins[1]["ddof-1-0"].content).encode()

    def grade(hand_in, _):
        if hand_in.content == deadly:
            os.kill(os.getpid(), signal.SIGKILL)
        return Outcome(problem="Not looked at")

    monkeypatch.setattr(run, "grade", grade)
    students = ["all-right-0", "ddof-1-0", "half-done-0", "renamed-0"]
    reports = by_student(run.run(fresh, [L2], students, workers=2, trust=True))
    assert {student: one.outcome for student, one in reports.items()} == {
        "all-right-0": "unreadable",
        "ddof-1-0": "failed",
        "half-done-0": "unreadable",
        "renamed-0": "unreadable",
    }
    assert "it ended the worker again and again" in reports["ddof-1-0"].line


def test_a_judge_that_is_lost_is_replaced(hand_ins, fresh):
    """Whoever ends the judge between two hand-ins, the next one is graded."""
    reports = []
    for report in run.run(fresh, [L2], ["all-right-0", "all-right-1", "ddof-1-0"], workers=1):
        reports.append(report)
        if len(reports) == 1:
            for child in psutil.Process().children():
                if "grading.judge" in child.cmdline():
                    child.kill()
    assert sorted(one.outcome for one in reports) == ["graded"] * 3


def test_what_is_written_for_one_is_found_by_an_index_whatever_the_size_of_the_class(graded):
    plans = []
    with graded[0].gradebook() as book:
        sheet = gradebook.Sheet(book, L2, graded[0].config())
        connection = book.db.connection().connection

        def explain(_connection, _cursor, statement, values, _context, many):
            rows = connection.cursor().execute(f"EXPLAIN QUERY PLAN {statement}", values[0] if many else values)
            plans.extend(row[3] for row in rows)

        event.listen(book.db.get_bind(), "before_cursor_execute", explain)
        sheet.clear(["all-right-0", "ddof-1-0"])
        points, said = dict.fromkeys(sheet.graded, 1.0), dict.fromkeys(sheet.answers)
        one = Outcome(scores=points, comments=said, digests=dict.fromkeys(sheet.graded, "digest"))
        sheet.write([("all-right-0", datetime(2026, 1, 1), one)])
        book.db.rollback()
    assert len(plans) > 10
    assert [plan for plan in plans if plan.startswith("SCAN") and "CONSTANT" not in plan] == []


# Runs are stopped


def started(course, workers=2):
    """Start to grade the class anew, and wait until a part of it is done."""
    command = [*GRADE, str(course.root), "--workers", str(workers)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    until = time.monotonic() + 100
    while len(vouched(course)) < 3 and process.poll() is None and time.monotonic() < until:
        time.sleep(0.01)
    return process


def vouched(course):
    """The students whose report is there, and when it was written."""
    return {path.stem: path.stat().st_mtime_ns for path in (course.root / "reports" / L2).glob("*.json")}


def half_way(course, made):
    """Whoever has a report has the right points; who has none, the right ones or 0."""
    found = points(course)
    for student, one in made.items():
        score = found.get(student, 0)
        assert score == one.score if student in vouched(course) else score in (0, one.score)


def test_a_killed_run_leaves_no_wrong_points_and_no_process_and_goes_on(hand_ins, graded, fresh):
    made = hand_ins[1]
    process = started(fresh)
    family = psutil.Process(process.pid).children(recursive=True)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    before = vouched(fresh)
    assert 3 <= len(before) < len(made)
    half_way(fresh, made)
    _, alive = psutil.wait_procs(family, timeout=20)
    assert alive == []
    reports = list(run.run(fresh, [L2], workers=1))
    assert by_student(reports) == by_student(graded[1])
    assert rows(fresh) == rows(graded[0])
    assert before.items() <= vouched(fresh).items()


@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_says_how_to_go_on(workers, hand_ins, fresh):
    process = started(fresh, workers)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.startswith("Stopped after ")
    assert said.count("\n") == 1
    half_way(fresh, hand_ins[1])


def test_old_points_do_not_stay_under_a_new_hand_in(hand_ins, graded, fresh, monkeypatch):
    shutil.rmtree(fresh.root)
    shutil.copytree(graded[0].root, fresh.root)
    hand_in(fresh, "all-right-0", hand_ins[1]["ddof-1-0"])

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(run, "received", killed)
        with pytest.raises(KeyboardInterrupt):
            list(run.run(fresh, [L2], workers=1, trust=True))
    assert points(fresh) == right(hand_ins[1]) | {"all-right-0": 0}
    assert run.load(fresh, L2, "all-right-0").line == "Not graded yet."
    assert not fresh.autograded("all-right-0", L2).exists()


@pytest.mark.parametrize("step", range(5))
def test_a_kill_at_any_step_of_writing_leaves_nothing_that_vouches_for_wrong_points(hand_ins, fresh, monkeypatch, step):
    """The steps: points to 0, points, notebook, timestamp, report."""
    with fresh.gradebook() as book:
        full = gradebook.Sheet(book, L2, fresh.config()).points
    outcomes = [Outcome("{}", dict.fromkeys(full, 1.0)), Outcome("[]", dict(full))]
    for outcome in outcomes:
        monkeypatch.setattr(run, "grade", lambda hand_in, _, outcome=outcome: outcome)
        if outcome is outcomes[1]:
            hand_in(fresh, "ddof-1-0", hand_ins[1]["all-right-0"])
            with monkeypatch.context() as patch:
                left = iter(range(step + 1))
                for where, name in ((gradebook.Sheet, "clear"), (gradebook.Sheet, "write"), (run, "replace")):
                    patch.setattr(where, name, counted(getattr(where, name), left, step))
                with pytest.raises(KeyboardInterrupt):
                    list(run.run(fresh, [L2], ["ddof-1-0"], workers=1, trust=True))
            assert points(fresh)["ddof-1-0"] == (len(full), 0, 25, 25, 25)[step]
            assert run.load(fresh, L2, "ddof-1-0").line == "Not graded yet."
        [report] = run.run(fresh, [L2], ["ddof-1-0"], workers=1, trust=True)
        assert report.outcome == "graded"
        assert points(fresh)["ddof-1-0"] == sum(outcome.scores.values())
        assert fresh.autograded("ddof-1-0", L2).read_text() == outcome.notebook


def counted(work, left, last):
    """Do some work, if there is any, but end the run instead when it is the last turn's."""

    def step(*args):
        if args[-1] and next(left) == last:
            raise KeyboardInterrupt
        return work(*args)

    return step


# Who else is there


@pytest.mark.parametrize("workers", [1, 2])
def test_only_this_machine_can_reach_a_run(workers):
    with run.pool(workers, ""):
        here = psutil.Process()
        open_ports = [
            connection.laddr.ip
            for process in (here, *here.children(recursive=True))
            for connection in process.net_connections()
            if connection.status == psutil.CONN_LISTEN
        ]
    assert set(open_ports) == {"127.0.0.1"}


# Nothing is graded


def test_two_runs_do_not_write_at_once(fresh):
    with run.alone(fresh), pytest.raises(CannotGrade, match="Another `grade run`"):
        list(run.run(fresh, [L2]))


def test_without_a_sandbox_nothing_is_graded(graded, fresh, monkeypatch, tmp_path):
    before = rows(fresh)
    monkeypatch.setenv("PATH", str(tmp_path))
    result = CliRunner().invoke(cli.app, ["run", L2, "--course", str(fresh.root)])
    assert result.exit_code == 2
    assert result.stderr.startswith("Submissions are graded in a sandbox, which needs Linux and bubblewrap")
    assert result.stderr.count("\n") == 1
    with (
        LocalCluster(n_workers=1, processes=False, protocol="tcp://", dashboard_address=None) as cluster,
        pytest.raises(SandboxMissing, match="needs Linux and bubblewrap"),
    ):
        list(run.run(fresh, [L2], scheduler=cluster.scheduler_address))
    assert rows(fresh) == before
    assert vouched(fresh) == {}


def test_trust_is_the_only_way_round(graded, fresh, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    [report] = run.run(fresh, [L2], ["all-right-0"], workers=1, trust=True)
    assert report.outcome == "graded"
    assert points(fresh)["all-right-0"] == 25


def test_without_a_scheduler_nothing_is_graded(fresh, monkeypatch):
    monkeypatch.setattr(run, "PATIENCE", 1)
    command = ["run", L2, "--course", str(fresh.root), "--scheduler", "tcp://127.0.0.1:9"]
    result = CliRunner().invoke(cli.app, command)
    assert result.exit_code == 2
    assert "No Dask scheduler with workers answers at tcp://127.0.0.1:9" in result.stderr
    assert vouched(fresh) == {}


def test_an_older_release_in_the_grade_book_is_refused(fresh):
    path = fresh.exercises / L2 / f"{L2}.ipynb"
    notebook = nbformat.read(path, 4)
    next(cell for cell in notebook.cells if cell.id == "ex-2-1-answer").source = "# Another stub"
    nbformat.write(notebook, path)
    with pytest.raises(CannotGrade, match="not what the grade book holds"):
        list(run.run(fresh, [L2]))


def test_the_exit_status_says_whether_somebody_should_look(graded):
    course = graded[0]
    command = ["run", L2, "--course", str(course.root), "--json", "--student"]
    fine = CliRunner().invoke(cli.app, [*command, "all-right-0"])
    assert (fine.exit_code, json.loads(fine.stdout)[0]["score"]) == (0, 25)
    assert CliRunner().invoke(cli.app, [*command, "empty-file-0"]).exit_code == 1
