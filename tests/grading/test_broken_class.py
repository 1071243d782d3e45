"""A class of odd, broken and hostile hand-ins at once: nobody's score depends on what the others handed in."""

import copy
import shutil
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell

from grading import run, sample
from grading.course import STEMS, Course
from grading.mend import is_answer, is_test
from grading.release import release

sys.path.insert(0, str(Path(__file__).parent))
from test_attacks import ENDING, FOOLING

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the sandbox needs Linux"),
    pytest.mark.xdist_group("broken"),
    pytest.mark.filterwarnings("ignore:Object of type"),  # nbgrader's own
]
L2 = STEMS[1]
TEST = "ex-2-1-test-row"  # one of 2 points
HOSTILE = (
    *("exit", "kill everybody", "kill one's group", "crash", "memory", "fork bomb", "disk", "inodes", "stop oneself"),
    *("descriptors closed", "left running", "everything deleted", "memory of a thread's child", "output"),
    *("patched allclose and assert", "messages forged on the channel", "exceptions swallowed by a hook"),
    *("cells rewritten before they run", "normlib replaced", "the sending replaced", "outputs that are no outputs"),
    *("a message that is announced and never comes", "replies that are no replies", "things to do after a cell"),
)


def cell(notebook, name):
    return next(cell for cell in notebook.cells if cell.id == name)


def changed(right, change):
    """A copy of the right notebook with a change."""
    notebook = copy.deepcopy(right)
    change(notebook)
    return notebook


def first_answer(source):
    """A change that puts a program before the student's first answer."""

    def change(notebook):
        answer = next(cell for cell in notebook.cells if is_answer(cell) and cell.cell_type == "code")
        answer.source = source + "\n" + answer.source

    return change


def split(notebook):
    place = next(n for n, cell in enumerate(notebook.cells) if is_answer(cell) and "def " in cell.source)
    lines = notebook.cells[place].source.split("\n")
    where = next(n for n, line in enumerate(lines) if line.startswith("def "))
    second = new_code_cell("\n".join(lines[where:]), metadata=copy.deepcopy(notebook.cells[place].metadata))
    notebook.cells[place].source = "\n".join(lines[:where])
    notebook.cells.insert(place + 1, second)


def twice(notebook):
    place = next(n for n, cell in enumerate(notebook.cells) if cell.id == TEST)
    notebook.cells.insert(place, copy.deepcopy(notebook.cells[place]))


def unknown(notebook):
    mark = {"grade": True, "grade_id": "of-last-year", "locked": True, "points": 99, "schema_version": 3}
    mark |= {"solution": False, "task": False}
    notebook.cells.append(new_code_cell("assert True", metadata={"nbgrader": mark}))


def stripped(notebook):
    for one in notebook.cells:
        one.metadata = {}


def as_solution(notebook):
    cell(notebook, TEST).metadata.nbgrader |= {"grade": False, "solution": True, "locked": False}
    cell(notebook, TEST).source = "pass"


def skipped(notebook):
    for one in notebook.cells:
        if is_test(one):
            one.metadata["tags"] = ["skip-execution"]


def without(wanted):
    def change(notebook):
        notebook.cells = [cell for cell in notebook.cells if not wanted(cell)]

    return change


def kernel(spec):
    return lambda notebook: notebook.metadata.update(kernelspec=spec) if spec else notebook.metadata.clear()


SIGNS = "# σ² ₀ ≤ 日本語 🎓\nprint('σ² ₀ ≤ 日本語 🎓')"
NOISE = "import sys, warnings\nwarnings.warn('careful')\nprint('a word', file=sys.stderr)"
# Row of the list of faults: what is done to the right notebook; the score it must get
ODD = {
    "A1-test-twice": (twice, 25),
    "A1-answer-split": (split, 25),
    "A2-unknown-cell": (unknown, 25),
    "A3-test-deleted": (without(lambda one: one.id == TEST), 25),
    "A3-tests-deleted": (without(is_test), 25),
    "A3-answers-deleted": (without(is_answer), 0),
    "A3-all-deleted": (without(lambda one: True), 0),
    "A4-stripped": (stripped, 25),
    "A5-test-as-solution": (as_solution, 25),
    "A6-endless-loop": (lambda n: n.cells.append(new_code_cell("while True: pass", id="loop")), 25),
    "A7-exit-at-the-end": (lambda n: n.cells.append(new_code_cell("import os; os._exit(0)", id="exit")), 25),
    "A7-sys-exit": (lambda n: n.cells.append(new_code_cell("import sys; sys.exit(0)", id="exit")), 25),
    "A12-signs": (first_answer(SIGNS), 25),
    "A13-unknown-kernel": (kernel({"name": "sage", "display_name": "Sage"}), 25),
    "A13-python2": (kernel({"name": "python2", "display_name": "Python 2", "language": "python"}), 25),
    "A13-no-kernel": (kernel(None), 25),
    "A15-noise": (first_answer(NOISE), 25),
    "F2-skipped": (skipped, 25),
    "extra-text": (lambda n: n.cells.insert(0, new_markdown_cell("My notes", id="notes")), 25),
}


def write(course, student, content, name=f"{L2}.ipynb", when=sample.TIMESTAMP):
    folder = course.submission(student, L2)
    folder.mkdir(parents=True)
    (folder / name).write_bytes(content if isinstance(content, bytes) else nbformat.writes(content).encode())
    if when is not None:
        (folder / "timestamp.txt").write_text(when)


@pytest.fixture(scope="module")
def rooms(tmp_path_factory):
    """The class graded without the hostile ones and with them, and the scores that must come out."""
    calm = Course(tmp_path_factory.mktemp("calm") / "class", timeout=5)
    calm.root.mkdir()
    list(release(calm, [L2]))
    sheet = sample.Sheet(calm, L2)
    right, scores = sheet.filled(), {}
    for hand_in in sample.hand_ins_of(sheet):
        write(calm, hand_in.student, hand_in.content, hand_in.filename or f"{L2}.ipynb")
        scores[hand_in.student] = hand_in.score
    for student, (change, score) in ODD.items():
        write(calm, student, changed(right, change))
        scores[student] = score
    data = nbformat.writes(right).encode()
    for student, content, score in (
        ("A11-nothing", b"", 0),
        ("A11-cut-off", data[: len(data) // 2], 0),
        ("A11-a-list", b"[1, 2]", 0),
        ("A12-latin", data.replace(b"import", b"imp\xefrt", 1), 0),
    ):
        write(calm, student, content)
        scores[student] = score
    for student, name, when in (
        ("A10-copy", f"{L2} (1).ipynb", sample.TIMESTAMP),
        ("A10-case", f"{L2.title()}.ipynb", sample.TIMESTAMP),
        ("A16 O'Brien [2] ünï", f"{L2}.ipynb", sample.TIMESTAMP),
        ("A19-garbage", f"{L2}.ipynb", "garbage"),
        ("A19-empty", f"{L2}.ipynb", ""),
        ("A19-none", f"{L2}.ipynb", None),
    ):
        write(calm, student, right, name, when)
        scores[student] = 25
    wild = Course(tmp_path_factory.mktemp("wild") / "class", timeout=5)
    shutil.copytree(calm.root, wild.root)
    for number, name in enumerate(HOSTILE):
        program = {**FOOLING, **ENDING}[name].replace("import numpy as np", "")
        # before, among and after the others, in the order of grading
        write(
            wild,
            f"{'AMz'[number % 3]}-hostile-{number}",
            changed(right, first_answer("import numpy as np\n" + program)),
        )
    reports = [{one.student: one for one in run.run(course, [L2], workers=2)} for course in (calm, wild)]
    return (calm, wild), reports, scores


def test_the_class_is_large_enough(rooms):
    _, (calm, wild), _ = rooms
    assert len(wild) >= 60
    assert len(wild) - len(calm) == len(HOSTILE) >= 20


def test_nobodys_score_changes_by_a_point(rooms):
    courses, (calm, wild), _ = rooms
    before, after = (run.scores(course, L2) for course in courses)
    assert {student: after[student] for student in before} == before
    for student, report in calm.items():
        assert wild[student] == report


def test_everybody_gets_what_the_work_is_worth(rooms):
    courses, _, expected = rooms
    found = {student: score[0] for student, score in run.scores(courses[1], L2).items()}
    assert {student: found[student] for student in expected} == expected


def test_the_hostile_ones_are_graded_too(rooms):
    _, (_, wild), _ = rooms
    for student, report in wild.items():
        assert report.outcome not in ("failed", "missing"), (student, report)
        assert "\n" not in report.line
        assert "Traceback" not in report.line
