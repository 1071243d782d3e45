"""Making the released notebooks again: nobody's answers are lost."""

import nbformat

from grading.course import STEMS, Course
from grading.release import release

L2 = STEMS[1]


def test_answers_that_stand_in_a_released_notebook_are_put_aside(tmp_path):
    course = Course(tmp_path)
    path = tmp_path / "exercises" / L2 / f"{L2}.ipynb"
    assert list(release(course, [L2])) == [L2]
    clean = path.read_bytes()
    assert list(release(course, [L2])) == [L2]
    for number in (1, 2):
        notebook = nbformat.reads(clean.decode(), as_version=4)
        next(cell for cell in notebook.cells if cell.id == "ex-2-1-answer").source = f"mean = {number}"
        nbformat.write(notebook, path)
        told = list(release(course, [L2]))[1]
        aside = tmp_path / "answers" / f"{L2}-{number}.ipynb"
        assert str(aside) in told
        assert f"mean = {number}" in aside.read_text()
        assert path.read_bytes() == clean


def test_a_damaged_released_notebook_is_put_aside_too(tmp_path):
    course = Course(tmp_path)
    path = tmp_path / "exercises" / L2 / f"{L2}.ipynb"
    path.parent.mkdir(parents=True)
    path.write_text("{")
    assert len(list(release(course, [L2]))) == 2
    assert (tmp_path / "answers" / f"{L2}-1.ipynb").read_text() == "{"
