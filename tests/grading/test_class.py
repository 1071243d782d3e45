"""The sample class, with more trouble in it, graded once; then looked at from all sides."""

import copy
import csv
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib

import nbformat
import numpy as np
import pytest
from bs4 import BeautifulSoup
from typer.testing import CliRunner

from grading import cli, run, sample
from grading.course import HERE, STEMS, Course
from grading.export import export
from grading.feedback import pages
from grading.mend import is_answer
from grading.release import _generate
from grading.sandbox import SandboxMissing
from grading.viewing import sanitize
from normlib.catalogue import EXERCISES

pytestmark = [
    pytest.mark.xdist_group("class"),
    pytest.mark.filterwarnings("ignore:Object of type"),  # nbgrader's own
]
L2 = STEMS[1]
SPACES = "O'Brien [2] {x} ünï"
# What each test of level 2 gives, in its order; written down from the assignment
POINTS = {
    "ex-2-1-test-mean": 1,
    "ex-2-1-test-variance": 1,
    "ex-2-1-test-row": 2,
    "ex-2-1-test-function": 5,
    "ex-2-2-test-row": 2,
    "ex-2-2-test-y-mean": 1,
    "ex-2-2-test-y-std": 1,
    "ex-2-2-test-function": 6,
    "ex-2-3-test-with-eps": 2,
    "ex-2-3-test-without-eps": 1,
    "ex-2-3-test-function": 3,
}
# Right on the inputs of the visible check, and then it says what it is given
TELL_TALE = """
calls = 0
def layer_norm(x, gamma, beta, eps=1e-5):
    global calls
    calls += 1
    print("told", x.tolist())
    if calls > 12:
        raise ValueError(f"told {x.tolist()}")
    deviation = x - x.mean(axis=-1, keepdims=True)
    return gamma * deviation / np.sqrt((deviation**2).mean(axis=-1, keepdims=True) + eps) + beta
"""

SHOW = """
from IPython.display import HTML, Javascript, SVG, display
display(HTML("<script>pwned()</script><b>kept</b>"), Javascript("pwned()"))
display(SVG('<svg xmlns="http://www.w3.org/2000/svg" onload="pwned()"><rect/></svg>'))
"""


def hand_in(course, student, content, assignment=L2, name=None, **files):
    folder = course.submission(student, assignment)
    folder.mkdir(parents=True, exist_ok=True)
    data = content if isinstance(content, bytes) else nbformat.writes(content).encode()
    (folder / (name or f"{assignment}.ipynb")).write_bytes(data)
    for file, text in files.items():
        (folder / file.replace("_", ".")).write_text(text)


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    """A course with all assignments released, and the hand-ins of the sample class with what must come out."""
    course = sample.course(tmp_path_factory.mktemp("course") / "class")
    return course, sample.build(course)


@pytest.fixture(scope="module")
def sheet(room):
    return sample.Sheet(room[0], L2)


@pytest.fixture(scope="module")
def graded(room, sheet):
    course, hand_ins = room
    right = sheet.filled()
    hand_in(course, SPACES, right)
    hand_in(course, "bad-timestamp", right, timestamp_txt="garbage")
    hand_in(course, "no-timestamp", right, timestamp_txt="")
    hand_in(course, "ships-numpy", right, numpy_py="raise SystemExit", normlib_py="raise SystemExit")
    course.submission("linked", L2).mkdir(parents=True)
    (course.submission("linked", L2) / f"{L2}.ipynb").symlink_to(HERE / "solutions" / L2 / f"{L2}.ipynb")
    ends = sheet.function("layer_norm", "import os\nos._exit(0)")
    hand_in(course, "ends-in-the-function", sheet.filled({"layer_norm": ends}))
    stubborn = "import time\nwhile True:\n    try:\n        time.sleep(99)\n    except BaseException:\n        pass"
    hand_in(course, "stubborn-loop", sheet.filled({"standardize": sheet.function("standardize", stubborn)}))
    hand_in(course, "tell-tale", sheet.filled({"layer_norm": TELL_TALE.strip()}))
    markdown = copy.deepcopy(right)
    for cell in markdown.cells:
        if cell.cell_type == "markdown":
            cell.source += '\n\n<script>alert("pwned")</script><img src="http://evil.example/a.png" onerror="alert(1)">'
    markdown.cells.append(nbformat.v4.new_code_cell(SHOW, id="show"))
    hand_in(course, "script", markdown)
    reports = {(one.assignment, one.student): one for one in run.run(course, list(STEMS))}
    list(pages(course, list(reports)))
    return course, hand_ins, reports


def score(course, student, assignment=L2):
    return run.scores(course, assignment)[student]


def points(course, student, assignment=L2):
    return score(course, student, assignment)[0]


def grade(course, student, **options):
    return next(run.run(course, [L2], [student], workers=1, **options))


def page(course, student, assignment=L2):
    return (course.root / "feedback" / student / assignment / f"{assignment}.html").read_text()


# Grades


def test_every_hand_in_of_the_sample_class_gets_its_grade_whatever_the_others_do(graded):
    course, hand_ins, _ = graded
    assert sample.surprises(course, hand_ins) == []


def test_the_class_is_large_and_varied():
    for stem in STEMS:
        assert 4 + len(sample.MISTAKES[stem]) + len(sample.ODD[stem]) >= 12


@pytest.mark.parametrize("stem", STEMS)
def test_the_solutions_answers_get_full_marks_and_the_blank_release_nothing(graded, stem):
    course = graded[0]
    in_words = {STEMS[0]: 7, STEMS[2]: 6, STEMS[4]: 8}.get(stem, 0)
    of_the_book = sum(exercise.points for name, exercise in EXERCISES.items() if name[0] == stem[6])
    assert score(course, "all-right", stem) == (of_the_book - in_words, of_the_book, bool(in_words))
    assert score(course, "unattempted", stem) == (0, of_the_book, False)


@pytest.mark.parametrize("student", [SPACES, "no-timestamp", "ships-numpy", "script"])
def test_what_is_only_unusual_gets_full_marks(graded, student):
    assert points(graded[0], student) == 25


def test_a_timestamp_that_cannot_be_read_is_said(graded):
    course, _, reports = graded
    assert points(course, "bad-timestamp") == 25
    assert "timestamp.txt cannot be read" in reports[L2, "bad-timestamp"].line


def test_other_files_do_not_come_along(graded):
    course, _, reports = graded
    assert os.listdir(course.autograded("ships-numpy", L2).parent) == [f"{L2}.ipynb"]
    assert "Other files are not used: “normlib.py”, “numpy.py”." in reports[L2, "ships-numpy"].line


def test_a_link_is_refused(graded):
    course, _, reports = graded
    assert reports[L2, "linked"].outcome == "unreadable"
    assert not course.autograded("linked", L2).exists()
    assert "SOLUTION" not in page(course, "linked")


def test_a_program_that_ends_inside_a_function_loses_only_its_tests(graded):
    course, _, reports = graded
    assert points(course, "ends-in-the-function") == 25 - 6 - 3
    assert "it ended the program; this test counts 0" in reports[L2, "ends-in-the-function"].line
    assert "This test counts 0: it ended the program." in page(course, "ends-in-the-function")


def test_a_loop_that_cannot_be_interrupted_loses_only_its_tests(graded):
    course, _, reports = graded
    assert points(course, "stubborn-loop") == 25 - 5
    assert "could not be interrupted" in reports[L2, "stubborn-loop"].line


def test_each_report_is_one_plain_line(graded):
    for report in graded[2].values():
        assert re.fullmatch(r"[^\n]{5,600}", report.line)
        assert "Traceback" not in report.line
        assert report.outcome != "failed", report


def test_who_did_not_hand_in_is_listed(graded):
    assert graded[2][STEMS[0], "web-page"].line == "Not handed in; score 0."


# Once more


def test_what_has_not_changed_is_not_graded_again(graded, monkeypatch):
    course, _, reports = graded
    monkeypatch.setattr(run, "pool", lambda *args: pytest.fail("graded again"))
    again = list(run.run(course, [L2]))
    assert again == sorted((one for one in reports.values() if one.assignment == L2), key=lambda one: one.student)


def test_an_old_score_does_not_survive_a_newer_hand_in(graded, sheet):
    course = graded[0]
    right = sheet.filled()
    ended = copy.deepcopy(right)
    for cell in ended.cells:
        if is_answer(cell):
            cell.source = "import os; os._exit(1)"
    for content, score, outcome in ((right, 25, "graded"), (ended, 0, "stopped"), (right, 25, "graded")):
        hand_in(course, "again", content, timestamp_txt=sample.TIMESTAMP)
        report = grade(course, "again")
        assert (report.outcome, points(course, "again")) == (outcome, score)
    hand_in(course, "again", b"{")
    assert grade(course, "again").outcome == "unreadable"
    assert points(course, "again") == 0
    assert not course.autograded("again", L2).exists()


def no_space_left(*args):
    raise OSError("no space left on device")


def test_a_fault_of_the_grader_leaves_no_score_and_is_graded_again(graded, sheet, monkeypatch):
    course = graded[0]
    hand_in(course, "unlucky", sheet.filled())
    with monkeypatch.context() as patch:
        patch.setattr(run, "grade", no_space_left)
        report = grade(course, "unlucky")
    assert (report.outcome, report.attention, points(course, "unlucky")) == ("failed", True, 0)
    assert grade(course, "unlucky").outcome == "graded"
    assert points(course, "unlucky") == 25


def test_a_grader_that_is_killed_goes_on_where_it_was(graded, sheet, monkeypatch):
    course = graded[0]
    hand_in(course, "halfway", sheet.filled())
    assert grade(course, "halfway").outcome == "graded"

    def killed(*args):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(run, "received", killed)
        with pytest.raises(KeyboardInterrupt):
            grade(course, "halfway", force=True)
    assert points(course, "halfway") == 0
    assert grade(course, "halfway").outcome == "graded"
    assert points(course, "halfway") == 25


def test_a_broken_installation_is_the_graders_fault(graded, sheet, monkeypatch):
    course = graded[0]
    hand_in(course, "elsewhere", sheet.filled())
    shadow = course.root / "shadow"
    shadow.mkdir()
    (shadow / "normlib.py").write_text("raise ImportError('not installed')")
    monkeypatch.setenv("PYTHONPATH", str(shadow))
    monkeypatch.chdir(shadow)
    with pytest.raises(SandboxMissing, match="The judge does not start"):
        grade(course, "elsewhere")
    assert "elsewhere" not in run.scores(course, L2)
    assert run.load(course, L2, "elsewhere").line == "Not graded yet."


def test_a_grade_given_by_hand_stays(graded):
    course = graded[0]
    with course.gradebook() as book:
        book.find_grade("ex-2-1-test-row", L2, L2, "half-done").manual_score = 1.5
        book.db.commit()
    grade(course, "half-done", force=True)
    assert score(course, "half-done") == (9 - 2 + 1.5, 25, False)


# Releasing again


def test_a_structural_change_is_refused_with_a_way_forward_and_the_release_stays(graded, tmp_path, monkeypatch):
    course = graded[0]
    notebook = nbformat.read(HERE / "solutions" / L2 / f"{L2}.ipynb", as_version=4)
    new = nbformat.v4.new_code_cell("assert True", id="new")
    new.metadata = copy.deepcopy(next(c for c in notebook.cells if c.id == "ex-2-1-test-row").metadata)
    new.metadata.nbgrader.grade_id = "new"
    notebook.cells.append(new)
    (tmp_path / L2).mkdir()
    nbformat.write(notebook, tmp_path / L2 / f"{L2}.ipynb")
    config = course.config()
    config.CourseDirectory.source_directory = str(tmp_path)
    monkeypatch.setattr(Course, "config", lambda self: copy.deepcopy(config))
    before = (course.exercises / L2 / f"{L2}.ipynb").read_bytes()
    with pytest.raises(RuntimeError, match=r"submissions associated.*Keep the names"):
        _generate(course, L2)
    assert (course.exercises / L2 / f"{L2}.ipynb").read_bytes() == before


# Feedback


def test_everybody_gets_a_page_with_the_line(graded):
    course, _, reports = graded
    for (assignment, student), report in reports.items():
        if report.outcome != "missing":
            text = page(course, student, assignment)
            assert "score 0" not in report.line or "score 0" in text
            assert "<html" in text
    assert "This test counts 0: it ran longer than" in page(course, "endless-loop")


def test_the_page_says_how_many_points_wait_for_a_person(graded):
    waiting = "Answers in words are not graded yet; they are worth 7 points."
    assert waiting in page(graded[0], "all-right", STEMS[0])
    assert waiting not in page(graded[0], "unattempted", STEMS[0])
    assert "not graded yet" not in page(graded[0], "all-right")


def test_the_page_names_the_mistake(graded):
    assert "You divided by H − 1 (ddof=1)" in page(graded[0], "ddof-1")


def hidden_parts():
    for stem in STEMS:
        text = (HERE / "solutions" / stem / f"{stem}.md").read_text()
        yield from re.findall(r"### BEGIN HIDDEN TESTS\n(.*?)### END HIDDEN TESTS", text, re.DOTALL)


SEEDS = sorted({seed for region in hidden_parts() for seed in re.findall(r"\b\d{5}\b", region)})


def leaks(text):
    marks = ("HIDDEN TESTS", "END SOLUTION", "Rubric", "normlib.instance(", "for seed in")
    numbers = set(re.findall(r"(?<![\d.])\d{5}(?![\d.])", text))  # not the digits of a coordinate
    return [mark for mark in marks if mark in text] + sorted(numbers & set(SEEDS))


def test_the_hidden_tests_are_known_here():
    assert len(SEEDS) >= 3 * 14


def test_no_page_shows_a_hidden_test_or_a_solution(graded):
    course = graded[0]
    pages = [path for path in (course.root / "feedback").rglob("*") if path.is_file()]
    assert len(pages) > 80
    assert {path.suffix for path in pages} == {".html"}
    for path in pages:
        text = re.sub(r"<[^>]*>", "", path.read_text())
        assert leaks(text) == [], path


def test_the_page_does_not_tell_what_a_hidden_test_tried(graded):
    course = graded[0]
    text = page(course, "tell-tale")
    assert "stopped with ValueError for" in text
    quantity = EXERCISES["2.2"]["layer_norm"]
    for seed in (22041, 22042, 22043):
        for arguments in quantity.calls(np.random.default_rng(seed)):
            number = str(float(np.ravel(arguments[1])[0]))
            assert len(number) > 10
            assert number not in text


def test_the_page_runs_nothing_and_asks_nobody(graded):
    course = graded[0]
    for student in ("script", "all-right", "empty-file"):
        soup = BeautifulSoup(page(course, student), "html.parser")
        assert not soup.find_all(["script", "iframe", "object", "embed", "link", "form"])
        for tag in soup.find_all(True):
            assert not [name for name in tag.attrs if name.startswith("on")]
            for address in filter(None, map(tag.get, ("src", "href", "data", "action", "background"))):
                assert address.startswith(("#", "data:image/")), address
        styles = " ".join(style.get_text() for style in soup("style"))
        assert not re.search(r"@import|url\((?!['\"]?data:)", styles)
    assert "<b>kept</b>" in page(course, "script")
    assert "Content-Security-Policy" in page(course, "script")


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("<b onclick='x()'>b</b>", "<b>b</b>"),
        ("<img src='http://a.example/x.png' alt='a'>", '<img alt="a">'),
        ("<a href='javascript:x()'>a</a>", '<a rel="noopener noreferrer">a</a>'),
        ("<a href='data:text/html,x'>a</a>", '<a rel="noopener noreferrer">a</a>'),
        ("<svg onload=x()><script>x()</script></svg>", ""),
        ("<style>*{}</style><iframe src=a></iframe><p style='a:b'>p</p>", "<p>p</p>"),
        ("1 < 2 & 3", "1 &lt; 2 &amp; 3"),
    ],
)
def test_sanitize(text, clean):
    assert sanitize(text) == clean


# Tables and commands


def test_the_table_has_everybody(graded):
    course, hand_ins, _ = graded
    with export(course)[0].open(newline="", encoding="utf-8") as file:
        rows = {(row["assignment"], row["student"]): row for row in csv.DictReader(file)}
    for one in hand_ins:
        if one.student != "half-done":  # changed above
            row = rows[one.assignment, one.student]
            assert float(row["score"]) == one.score
            assert row["misconceptions"] == " ".join(one.misconceptions)
    assert float(rows[L2, "all-right"]["max_score"]) == sum(POINTS.values())
    assert rows[STEMS[0], "all-right"]["needs_manual_grade"] == "True"
    assert rows[L2, SPACES]["score"] == "25.0"
    assert rows[STEMS[0], "web-page"]["outcome"] == "missing"


def test_a_name_is_no_formula(graded, sheet):
    course = graded[0]
    with course.gradebook() as book:
        book.update_or_create_student("=1+1")
    assert "\n'=1+1," in export(course)[0].read_text(encoding="utf-8")


def test_the_command_says_who_needs_attention(graded):
    course = graded[0]
    command = ["run", L2, "--course", str(course.root), "--workers", "1", "--student"]
    assert CliRunner().invoke(cli.app, [*command, "all-right"]).exit_code == 0
    stopped = CliRunner().invoke(cli.app, [*command, "empty-file"])
    assert stopped.exit_code == 1
    assert "empty-file" in stopped.output
    as_json = CliRunner().invoke(cli.app, [*command, "ddof-1", "--json"])
    assert json.loads(as_json.output)[0]["misconceptions"] == ["ddof-1"]
    assert CliRunner().invoke(cli.app, ["run", "level-9", "--course", str(course.root)]).exit_code == 2


def test_the_sample_class_is_never_made_over_a_real_one(tmp_path):
    (tmp_path / "submitted").mkdir()
    with pytest.raises(ValueError, match="not a sample class"):
        sample.course(tmp_path)
    assert (tmp_path / "submitted").exists()


def test_nbgraders_own_commands_grade_and_feed_back_the_same(graded):
    """The instructor's usual commands, in a folder with the same settings: no solution, a duplicate, a wrong kernel."""
    course = graded[0]
    shutil.copy(HERE / "nbgrader_config.py", course.root)
    for student in ("duplicate-cells", "kernel-death"):
        before = points(course, student)
        for step in ("autograde", "generate_feedback"):
            command = [sys.executable, "-m", "nbgrader", step, L2, "--student", student, "--force"]
            done = subprocess.run(command, cwd=course.root, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
        assert points(course, student) == before
        assert leaks(page(course, student)) == []


# What students can get


def test_nothing_that_students_get_shows_a_hidden_test_or_a_solution():
    released = [HERE / "exercises", *(path for path in (HERE / "_build" / "html",) if path.exists())]
    for path in (path for folder in released for path in folder.rglob("*") if path.is_file()):
        text = path.read_bytes().decode("utf-8", "replace")
        assert leaks(text) == [] or path.suffix in (".js", ".css", ".svg", ".woff2"), path


def test_the_packages_hold_no_hidden_test():
    files = [path for name in ("normlib", "grading") for path in (HERE / name).rglob("*") if path.is_file()]
    for path in files:
        assert path.suffix not in (".ipynb", ".md", ".db")
        assert path.suffix == ".pyc" or not [seed for seed in SEEDS if seed in path.read_text()], path


def test_the_wheel_holds_no_hidden_test(tmp_path):
    for name in ("pyproject.toml", "README.md", "LICENSE", "LICENSE-TEXT"):
        shutil.copy(HERE / name, tmp_path)
    for name in ("normlib", "grading"):
        shutil.copytree(HERE / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    backend = tomllib.loads((HERE / "pyproject.toml").read_text())["build-system"]["build-backend"]
    pytest.importorskip(backend)
    (tmp_path / "out").mkdir()
    build = f"import {backend} as backend; backend.build_wheel('out')"
    subprocess.run([sys.executable, "-c", build], cwd=tmp_path, check=True, capture_output=True)
    shutil.unpack_archive(next((tmp_path / "out").glob("*.whl")), tmp_path / "wheel", "zip")
    files = [path for path in (tmp_path / "wheel").rglob("*") if path.is_file()]
    assert not [path for path in files if path.suffix in (".ipynb", ".md", ".db")]
    for path in files:
        text = path.read_bytes().decode("utf-8", "replace")
        assert not [seed for seed in SEEDS if seed in text], path


def test_releasing_again_changes_nothing(room):
    course = room[0]
    for stem in STEMS:
        made, kept = (folder / stem / f"{stem}.ipynb" for folder in (course.exercises, HERE / "exercises"))
        assert made.read_bytes() == kept.read_bytes(), f"exercises/{stem} is not what `grade release` makes"
        assert [path.name for path in kept.parent.iterdir() if not path.name.startswith(".")] == [kept.name]


@pytest.mark.parametrize("stem", STEMS)
def test_a_released_notebook_has_unique_ids_and_no_outputs(stem):
    notebook = Course().released(stem)
    ids = [cell.id for cell in notebook.cells]
    assert len(set(ids)) == len(ids)
    for cell in notebook.cells:
        assert "nbgrader" not in cell.metadata or cell.id == cell.metadata.nbgrader.grade_id
        assert cell.cell_type != "code" or (cell.outputs, cell.execution_count) == ([], None)
    nbformat.validate(notebook)


def test_the_instructors_notebooks_are_not_in_git():
    tracked = subprocess.run(
        ["git", "ls-files", "*.ipynb"], cwd=HERE, capture_output=True, text=True, check=False
    ).stdout
    assert [path for path in tracked.splitlines() if not path.startswith("exercises/")] == []
