"""The `grade` command around the grading itself: what stands in the wrong place, tables, and where it refuses."""

import csv
import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from grading import cli, run, sandbox
from grading.course import HERE, STEMS, Course, closest
from grading.export import export
from grading.mend import Unreadable, find_notebook
from grading.release import release
from grading.sandbox import SandboxMissing

pytestmark = pytest.mark.filterwarnings("ignore:Object of type")  # nbgrader's own
L1, L2 = STEMS[:2]
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox needs Linux")


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    root = tmp_path_factory.mktemp("cli") / "class"
    root.mkdir()
    list(release(Course(root), [L1, L2]))
    return root


@pytest.fixture
def course(released, tmp_path):
    return Course(Path(shutil.copytree(released, tmp_path / "class")))


def put(course, *paths):
    for path in paths:
        target = course.root / "submitted" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("{}")


# Hand-ins in the wrong place

WRONG = {
    f"ada/level2/{L2}.ipynb": (L2, f"submitted/ada/level2 is no assignment; did you mean {L2}?"),
    f"ada/Level-2-Application/{L2}.ipynb": (
        L2,
        f"submitted/ada/Level-2-Application is no assignment; did you mean {L2}?",
    ),
    "ada/holiday/trip.ipynb": ("", f"submitted/ada/holiday is no assignment; there are {', '.join(STEMS)}."),
    f"ada/ada/{L2}/{L2}.ipynb": (L2, f"submitted/ada/ada/{L2} is a folder too deep; move it to submitted/ada/{L2}."),
    f"ada/{L2}.ipynb": (
        L2,
        f"submitted/ada/{L2}.ipynb is a file where a folder should be; move it into submitted/ada/{L2}/.",
    ),
    "ada/hand-in.zip": ("", "submitted/ada/hand-in.zip is an archive; unpack it into submitted/ada/ASSIGNMENT/."),
    f"{L2}/ada/{L2}.ipynb": (L2, f"submitted/{L2} should be a student: submitted/STUDENT/{L2}."),
    "level2.ZIP": (L2, f"submitted/level2.ZIP is an archive; unpack it into submitted/STUDENT/{L2}/."),
    f"{L1}.ipynb": (
        L1,
        f"submitted/{L1}.ipynb is a file where a folder should be; move it into submitted/STUDENT/{L1}/.",
    ),
}


@pytest.mark.parametrize("path", WRONG)
def test_what_stands_in_the_wrong_place_is_named(tmp_path, path):
    put(Course(tmp_path), path)
    assert list(Course(tmp_path).misplaced()) == [WRONG[path]]


def test_what_stands_in_its_place_is_not(tmp_path):
    course = Course(tmp_path)
    put(
        course,
        f"ada/{L2}/{L2}.ipynb",
        f"ada/{L2}/timestamp.txt",
        f"ada/{L1}/renamed.ipynb",
        "students.csv",
        "ada/notes.txt",
    )
    put(course, ".DS_Store", "ada/.ipynb_checkpoints/x.ipynb", "ada/pictures/a.png")
    (tmp_path / "submitted" / "eve").mkdir()
    assert list(course.misplaced()) == []


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("level2", L2),
        ("Level 2", L2),
        ("hw_2", L2),
        ("level-2-aplication", L2),
        ("Application", L2),
        ("week12", ""),
        ("x", ""),
    ],
)
def test_the_assignment_that_was_meant(name, meant):
    assert closest(name) == meant


def test_run_and_status_say_what_is_misplaced(course):
    put(course, f"ada/level2/{L2}.ipynb", f"eve/level1/{L1}.ipynb")
    where = ["--course", str(course.root)]
    done = CliRunner().invoke(cli.app, ["run", L2, *where, "--workers", "1", "--json", "--trust-submissions"])
    assert done.exit_code == 1
    assert done.stderr == WRONG[f"ada/level2/{L2}.ipynb"][1] + "\n"
    assert {row["outcome"] for row in json.loads(done.stdout)} == {"missing"}
    put(course, f"bo/{L2}/{L2}.zip")
    other = CliRunner().invoke(cli.app, ["run", L1, *where, "--workers", "1", "--student", "bo"])
    assert (other.exit_code, other.stderr) == (0, ""), "it is about bo alone"
    status = CliRunner().invoke(cli.app, ["status", *where])
    assert status.stderr.splitlines() == [
        WRONG[f"ada/level2/{L2}.ipynb"][1],
        f"submitted/eve/level1 is no assignment; did you mean {L1}?",
    ]
    assert status.exit_code == 0


def test_an_assignments_own_folder_is_no_student(course):
    put(course, f"{L2}/ada/{L2}.ipynb", f"eve/{L2}/{L2}.ipynb")
    assert course.students() == ["eve"]


def test_a_notebook_a_folder_too_deep_is_taken_and_told(tmp_path):
    put(Course(tmp_path), f"ada/{L2}/draft/{L2}.ipynb")
    path, notes = find_notebook(Course(tmp_path).submission("ada", L2), L2)
    assert path.parent.name == "draft"
    assert notes == [
        f"“draft/{L2}.ipynb” was taken for {L2}.ipynb; keep the name next time, and put it right into the folder {L2}."
    ]


def test_an_archive_is_called_one(tmp_path):
    put(Course(tmp_path), f"ada/{L2}/{L2}.zip")
    with pytest.raises(
        Unreadable, match=r"“level-2-application\.zip” is an archive\. Unpack it and hand in the notebook"
    ):
        find_notebook(Course(tmp_path).submission("ada", L2), L2)


# Tables


@pytest.fixture
def points(course):
    """Three students: one with both levels, one who waits for a person, and one who handed in nothing."""
    with course.gradebook() as book:
        book.add_student("ada", first_name="Ada", last_name="=HYPERLINK(1)", email="@a")
        book.add_student("bo")
        book.add_student("-eve")
        for student, name, score, waits in (("ada", L1, 3.5, False), ("ada", L2, 20, False), ("bo", L2, 7, True)):
            book.add_submission(name, student)
            grades = list(book.find_submission_notebook(name, name, student).grades)
            for grade in grades:
                grade.auto_score, grade.needs_manual_grade = 0.0, False
            grades[0].manual_score, grades[-1].needs_manual_grade = score, waits
            run.save(course, run.Report(student, name, "graded", "Graded."))
        book.db.commit()
    return course


def rows(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_a_row_for_each_student_and_a_column_for_each_assignment(points):
    found = {row["student"]: row for row in rows(export(points)[1])}
    assert list(found["ada"]) == [
        *("student", "last_name", "first_name", "email"),
        *(L1, L2, "total", "max", "needs_manual_grade"),
    ]
    assert list(found) == ["'-eve", "ada", "bo"]
    assert list(found["ada"].values())[4:] == ["3.5", "20.0", "23.5", "44.0", "False"]
    assert list(found["bo"].values())[4:] == ["", "7.0", "7.0", "44.0", "True"]
    assert list(found["'-eve"].values())[4:] == ["", "", "0.0", "44.0", "False"]


def test_no_cell_of_a_table_is_a_formula(points):
    for path in export(points):
        for row in rows(path):
            assert not [cell for cell in row.values() if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
    assert rows(export(points)[1])[1]["last_name"] == "'=HYPERLINK(1)"


def test_an_assignment_that_nobody_handed_in_does_not_count(points):
    for student in ("ada", "bo"):
        run.save(points, replace(run.load(points, L2, student), outcome="missing"))
        with points.gradebook() as book:
            book.remove_submission(L2, student)
    (_, ada, *_), names = rows(export(points)[1]), rows(export(points)[1])[0]
    assert L2 not in names
    assert (ada["total"], ada["max"]) == ("3.5", "19.0")


def test_the_command_names_both_tables(points):
    done = CliRunner().invoke(cli.app, ["export", "--course", str(points.root)])
    assert done.stdout.split() == [str(points.root / "grades.csv"), str(points.root / "totals.csv")]


def test_who_needs_attention_comes_first_and_has_one_line(points, monkeypatch):
    long = "“a [red] file” " + "was taken " * 30
    run.save(points, run.Report("ada", L2, "mended", long))
    run.save(points, run.Report("bo", L2, "unreadable", "It is empty."))
    done = CliRunner().invoke(cli.app, ["status", L2, "--course", str(points.root)])
    title, *lines = done.stdout.splitlines()
    assert title == f"{L2}: 2 handed in, mean 13.5 of 25, 1 to grade by hand, 1 to look at"
    assert lines == ["bo\t7\tunreadable\tIt is empty.", f"ada\t20\tmended\t{long}"]
    monkeypatch.setattr(cli, "console", Console(force_terminal=True, width=100, color_system=None))
    table = CliRunner().invoke(cli.app, ["status", L2, "--course", str(points.root)]).stdout
    assert table.index("unreadable") < table.index("[red]")


# Where it refuses


def test_an_installation_without_solutions_says_so_and_touches_nothing(tmp_path):
    for name in ("normlib", "grading"):
        shutil.copytree(HERE / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(HERE / "nbgrader_config.py", tmp_path)
    before = sorted(tmp_path.iterdir())
    for command in (["run", L2], ["status"], ["export"], ["feedback", L2], ["release"]):
        program = "from grading.cli import app; app()"
        done = subprocess.run(
            [sys.executable, "-B", "-c", program, *command],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("There is no solutions/ beside this program")
        assert done.stderr.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == before


@LINUX
def test_an_environment_that_holds_the_course_is_refused(monkeypatch):
    sandbox.command(0)
    monkeypatch.setattr(sys, "prefix", str(HERE))
    with pytest.raises(
        SandboxMissing, match=r"^Submissions could read \S+, since they must read \S+, where Python.*`make"
    ):
        sandbox.command(0)


@LINUX
def test_a_class_inside_the_environment_is_refused(course, monkeypatch):
    put(course, f"ada/{L2}/{L2}.ipynb")
    monkeypatch.setattr(sys, "prefix", str(course.root.parent))
    done = CliRunner().invoke(cli.app, ["run", L2, "--course", str(course.root), "--workers", "1"])
    assert done.exit_code == 2
    assert done.stderr.startswith(f"Submissions could read {course.root}")
    assert run.load(course, L2, "ada").line == "Not graded yet."


@LINUX
def test_nbgraders_own_command_refuses_such_a_class_too(course, monkeypatch):
    from grading.preprocessors import Run

    monkeypatch.setattr(sys, "prefix", str(course.root))
    with pytest.raises(SandboxMissing, match="Submissions could read"):
        Run(config=course.config()).preprocess(course.released(L2), {})


@pytest.mark.parametrize(("status", "ends", "says"), [(0, 0, ""), (1, 0, "Graded. The lines above"), (2, 2, "")])
def test_make_grade_ends_in_a_plain_line_when_somebody_needs_attention(tmp_path, status, ends, says):
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    shutil.copy(HERE / "Makefile", tmp_path)
    program = tmp_path / ".venv" / "bin" / "grade"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho $*\nexit {status}\n")
    program.chmod(0o755)
    command = ["make", "--no-print-directory", "-o", "setup", "-o", "release", "grade", "ASSIGNMENT=x"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == ends
    assert done.stdout.splitlines()[0] == "run x"
    assert says in done.stdout
    assert ("***" in done.stderr) == (ends != 0)
