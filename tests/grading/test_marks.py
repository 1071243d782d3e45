"""Points that a person gave: they always stay, and are asked for again only when the answer is another one."""

import copy
import shutil
import subprocess
import sys

import nbformat
import pytest

from grading import run, sample
from grading.course import HERE, STEMS, Course
from grading.mend import digests
from grading.release import release

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the sandbox needs Linux"),
    pytest.mark.xdist_group("marks"),
    pytest.mark.filterwarnings("ignore:Object of type"),  # nbgrader's own
]
L1 = STEMS[0]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A class with one hand-in, all right, and the names of an answer in words, of a test and of its answer."""
    course = Course(tmp_path_factory.mktemp("marks") / "class", timeout=10)
    course.root.mkdir()
    list(release(course, [L1]))
    notebook = sample.Sheet(course, L1).filled()
    marks = [cell.metadata.nbgrader for cell in notebook.cells if "nbgrader" in cell.metadata]
    words = next(mark.grade_id for mark in marks if mark.grade and mark.solution)
    test = next(mark.grade_id for mark in marks if mark.grade and not mark.solution)
    answer = next(mark.grade_id for mark in marks if mark.solution and not mark.grade)
    hand_in(course, notebook)
    list(run.run(course, [L1], workers=1))
    return course, notebook, (words, test, answer)


@pytest.fixture
def graded(written, tmp_path):
    """The same for one test alone, after a person gave points: 1 for the words, half a point for the test."""
    course = Course(tmp_path / "class", timeout=10)
    shutil.copytree(written[0].root, course.root)
    words, test, _ = written[2]
    assert grade_of(course, words) == (None, True)
    mark(course, words, 1.0)
    mark(course, test, 0.5)
    return course, written[1], written[2]


def hand_in(course, notebook):
    folder = course.submission("ada", L1)
    folder.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, folder / f"{L1}.ipynb")


def mark(course, name, points):
    """What formgrader does when a person types a number."""
    with course.gradebook() as book:
        grade = book.find_grade(name, L1, L1, "ada")
        grade.manual_score, grade.needs_manual_grade = points, False
        book.db.commit()


def grade_of(course, name):
    """A person's points, and whether they are asked for."""
    with course.gradebook() as book:
        grade = book.find_grade(name, L1, L1, "ada")
        return grade.manual_score, grade.needs_manual_grade


def changed(notebook, name):
    notebook = copy.deepcopy(notebook)
    next(cell for cell in notebook.cells if cell.id == name).source += "\n\n# more"
    return notebook


def again(course, force=False):
    (report,) = run.run(course, [L1], workers=1, force=force)
    return report


def test_points_for_the_same_answer_stay_final(graded):
    course, _, (words, test, _) = graded
    assert again(course, force=True).outcome == "graded"
    assert grade_of(course, words) == (1.0, False)
    assert grade_of(course, test) == (0.5, False)


def test_points_for_another_answer_stay_and_are_asked_for(graded):
    course, notebook, (words, test, answer) = graded
    hand_in(course, changed(notebook, words))
    again(course)
    assert grade_of(course, words) == (1.0, True)
    assert grade_of(course, test) == (0.5, True), "a test is about all that the student wrote"
    again(course, force=True)
    assert grade_of(course, words) == (1.0, True), "nobody has looked at it since"
    hand_in(course, changed(notebook, answer))
    again(course)
    assert grade_of(course, words) == (1.0, False), "the first answer, which has its points"
    assert grade_of(course, test) == (0.5, True)


def test_points_settled_anew_count_for_the_new_answer_only(graded):
    course, notebook, (words, _, _) = graded
    hand_in(course, changed(notebook, words))
    again(course)
    mark(course, words, 2.0)
    again(course, force=True)
    assert grade_of(course, words) == (2.0, False)
    hand_in(course, notebook)
    again(course)
    assert grade_of(course, words) == (2.0, True)


def test_a_run_that_is_killed_forgets_nothing(graded, monkeypatch):
    course, _, (words, _, _) = graded

    def killed(*args):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(run, "received", killed)
        with pytest.raises(KeyboardInterrupt):
            again(course, force=True)
    assert grade_of(course, words) == (1.0, True)
    again(course)
    assert grade_of(course, words) == (1.0, False)


def test_points_survive_a_hand_in_that_cannot_be_read(graded):
    course, notebook, (words, _, _) = graded
    (course.submission("ada", L1) / f"{L1}.ipynb").write_bytes(b"{")
    assert again(course).outcome == "unreadable"
    assert grade_of(course, words) == (1.0, True)
    hand_in(course, notebook)
    again(course)
    assert grade_of(course, words) == (1.0, False)


def test_nbgraders_own_command_keeps_them_too(graded):
    course, notebook, (words, test, _) = graded
    shutil.copy(HERE / "nbgrader_config.py", course.root)
    command = [sys.executable, "-m", "nbgrader", "autograde", L1, "--force"]
    for content, asked in ((notebook, False), (changed(notebook, words), True), (notebook, False)):
        hand_in(course, content)
        done = subprocess.run(command, cwd=course.root, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert grade_of(course, words) == (1.0, asked)
        assert grade_of(course, test) == (0.5, asked)


def test_points_are_for_the_text_its_pictures_and_what_it_is_worth(written):
    notebook, (words, test, answer) = written[1], written[2]
    before = digests(notebook)
    assert set(before) == set(notebook.metadata.graded)

    def differs(change):
        other = copy.deepcopy(notebook)
        change({cell.id: cell for cell in other.cells})
        return {name for name, digest in digests(other).items() if digest != before[name]}

    tests = {name for name in before if "test" in name}
    assert differs(lambda cells: cells[words].update(source="other words")) == {words, *tests}
    assert differs(lambda cells: cells[words].update(attachments={"a.png": {"image/png": "AA"}})) == {words, *tests}
    assert differs(lambda cells: cells[answer].update(source="1")) == tests
    assert differs(lambda cells: cells[test].update(source="assert True")) == set()
    assert differs(lambda cells: cells[words].metadata.nbgrader.update(points=9)) == {words}
