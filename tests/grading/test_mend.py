import copy
import json
import random

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from grading.course import Course
from grading.mend import Unreadable, find_notebook, is_answer, is_test, mend, read_notebook
from grading.preprocessors import settle

NAME = "level-1-recognition"
GOOD = nbformat.writes(new_notebook(cells=[new_code_cell("x = 1")]))


@pytest.fixture(scope="module")
def released():
    return Course().released(NAME)


@pytest.fixture
def notebook(released):
    return copy.deepcopy(released)


def named(notebook):
    return {cell.metadata.nbgrader.grade_id: cell for cell in notebook.cells if "nbgrader" in cell.metadata}


def place(notebook, name):
    return next(i for i, cell in enumerate(notebook.cells) if cell.get("id") == name)


def sources(notebook):
    return [cell.source for cell in notebook.cells]


def test_the_release_needs_no_mending(notebook, released):
    mended, notes = mend(notebook, released)
    assert notes == []
    assert sources(mended) == sources(released)
    assert named(mended) == named(released)


def test_answers_are_kept_and_the_submission_is_not_changed(notebook, released):
    named(notebook)["ex-1-1-answer"].source = "mine"
    named(notebook)["ex-1-1-reason"].source = "because"
    before = copy.deepcopy(notebook)
    mended, notes = mend(notebook, released)
    assert (named(mended)["ex-1-1-answer"].source, named(mended)["ex-1-1-reason"].source) == ("mine", "because")
    assert notes == []
    assert notebook == before


@pytest.mark.parametrize("deleted", ["imports", "ex-1-1-test-layer-norm-axis", "ex-1-3-test-function", "ex-1-1-check"])
def test_a_deleted_locked_cell_comes_back_in_its_place(notebook, released, deleted):
    del notebook.cells[place(notebook, deleted)]
    mended, notes = mend(notebook, released)
    assert list(named(mended)) == list(named(released))
    assert named(mended)[deleted].source == named(released)[deleted].source
    assert notes == [f"Missing cells, put back as released: {deleted}."]


def test_all_cells_deleted(released):
    mended, notes = mend(new_notebook(), released)
    assert list(named(mended)) == list(named(released))
    assert any("None of this assignment's answer cells" in note for note in notes)


def test_a_changed_test_comes_back(notebook, released):
    cell = named(notebook)["ex-1-1-test-layer-norm-axis"]
    cell.source = "pass"
    cell.metadata = {
        "nbgrader": {**cell.metadata.nbgrader, "solution": True, "points": 100},
        "tags": ["skip-execution"],
    }
    mended, notes = mend(notebook, released)
    assert named(mended)["ex-1-1-test-layer-norm-axis"] == {
        **named(released)["ex-1-1-test-layer-norm-axis"],
        "id": "ex-1-1-test-layer-norm-axis",
        "outputs": [],
        "execution_count": None,
    }
    assert notes == ["Locked cells that differed from the release, put back: ex-1-1-test-layer-norm-axis."]


def test_the_first_changed_copy_counts_and_the_others_run_where_they_stand(notebook, released):
    where = place(notebook, "ex-1-1-answer")
    second, third = copy.deepcopy(notebook.cells[where]), copy.deepcopy(notebook.cells[where])
    second.source, second["id"], third.source, third["id"] = "second = 2", "b", "third = 3", "c"
    notebook.cells[where + 1 : where + 1] = [second, third]
    mended, notes = mend(notebook, released)
    original = named(released)["ex-1-1-answer"].source
    assert sources(mended)[where : where + 3] == [original, "second = 2", "third = 3"]
    assert named(mended)["ex-1-1-answer"].source == "second = 2"
    assert len(named(mended)) == len(named(released))
    assert len(notes) == 1
    assert notes[0].startswith("Duplicate cells")


def test_a_split_answer_runs_as_a_whole(notebook, released):
    where = place(notebook, "ex-1-1-answer")
    head, tail = notebook.cells[where], copy.deepcopy(notebook.cells[where])
    head.source, tail.source, tail["id"] = "first = 1", "then = first + 1", "tail"
    notebook.cells.insert(where + 1, tail)
    mended, _ = mend(notebook, released)
    assert sources(mended)[where : where + 2] == ["first = 1", "then = first + 1"]


def test_cells_of_the_student_stay_between_the_cells_they_stood_between(notebook, released):
    notebook.cells.insert(place(notebook, "ex-1-1-answer"), new_code_cell("helper = 1", metadata={"tags": ["x"]}))
    mended, notes = mend(notebook, released)
    assert sources(mended)[place(mended, "ex-1-1-answer") - 1] == "helper = 1"
    assert mended.cells[place(mended, "ex-1-1-answer") - 1].metadata == {}
    assert notes == []


def test_without_any_marks_and_ids_everything_is_found(notebook, released):
    named(notebook)["ex-1-2-answer"].source = "learned = {'gamma'}"
    named(notebook)["ex-1-2-reason"].source = "my words"
    for cell in notebook.cells:
        cell.metadata = {}
        del cell["id"]
    mended, notes = mend(notebook, released)
    assert named(mended)["ex-1-2-answer"].source == "learned = {'gamma'}"
    assert named(mended)["ex-1-2-reason"].source == "my words"
    assert sources(mended) == [
        {"ex-1-2-answer": "learned = {'gamma'}", "ex-1-2-reason": "my words"}.get(cell["id"], cell.source)
        for cell in released.cells
    ]
    assert len(notes) == 1
    assert "found by their place" in notes[0]


def test_without_marks_cells_are_found_by_their_ids(notebook, released):
    named(notebook)["ex-1-2-reason"].source = "my words"
    for cell in notebook.cells:
        cell.metadata = {}
    mended, notes = mend(notebook, released)
    assert named(mended)["ex-1-2-reason"].source == "my words"
    assert notes == []


def test_cells_of_another_assignment_are_plain(notebook, released):
    stranger = new_code_cell("1 + 1", id="ex-9-9-test")
    stranger.metadata = {"nbgrader": {"grade": True, "grade_id": "ex-9-9-test", "points": 5}}
    notebook.cells.append(stranger)
    mended, notes = mend(notebook, released)
    assert mended.cells[-1].source == "1 + 1"
    assert mended.cells[-1].metadata == {}
    assert notes == ["Cells of another assignment, run as plain cells: ex-9-9-test."]


def test_a_cell_turned_into_text_is_turned_back(notebook, released):
    where = place(notebook, "ex-1-1-answer")
    cell = notebook.cells[where]
    notebook.cells[where] = new_markdown_cell("layer_norm_axis = -1", metadata=cell.metadata, id=cell.id)
    mended, _ = mend(notebook, released)
    assert named(mended)["ex-1-1-answer"].cell_type == "code"
    assert named(mended)["ex-1-1-answer"].source == "layer_norm_axis = -1"


def test_pasted_pictures_stay(notebook, released):
    cell = named(notebook)["ex-1-1-reason"]
    cell.source, cell.attachments = "![](attachment:a.png)", {"a.png": {"image/png": "AAAA"}}
    mended, _ = mend(notebook, released)
    assert named(mended)["ex-1-1-reason"].attachments == {"a.png": {"image/png": "AAAA"}}


@pytest.mark.parametrize("seed", range(40))
def test_any_shuffle_gives_the_released_form_and_mending_again_changes_nothing(notebook, released, seed):
    rng = random.Random(seed)
    cells = notebook.cells
    for _ in range(rng.randrange(1, 12)):
        kind, cell = rng.randrange(6), rng.choice(cells)
        if kind == 0 and len(cells) > 1:
            cells.remove(cell)
        elif kind == 1:
            cells.insert(rng.randrange(len(cells)), copy.deepcopy(cell))
        elif kind == 2:
            rng.shuffle(cells)
        elif kind == 3:
            cell.metadata = rng.choice([{}, {"nbgrader": None}, {"nbgrader": {"grade_id": 7}}, {"tags": "x"}])
        elif kind == 4:
            cell["id"] = f"n{rng.randrange(999)}"
        else:
            cell.source = rng.choice(["", "x = 1", cell.source[: rng.randrange(9)]])
    mended, _ = mend(notebook, released)
    nbformat.validate(mended)
    assert list(named(mended)) == list(named(released))
    for name, cell in named(released).items():
        assert named(mended)[name].metadata == cell.metadata
        assert is_answer(cell) or named(mended)[name].source == cell.source
    assert len({cell["id"] for cell in mended.cells}) == len(mended.cells)
    again, notes = mend(mended, released)
    assert (again, notes) == (mended, [])


# Files


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is an empty file"),
        (b" \n\n", "is an empty file"),
        (b"<!DOCTYPE html><html></html>", "is a web page"),
        (GOOD[: len(GOOD) // 2].encode(), "the file is cut off"),
        (GOOD[:-3].encode(), "the file is cut off"),
        (GOOD.replace(":", ";", 1).encode(), "its JSON is broken"),
        (b"[" * 100_000, "is not a notebook"),
        (b'{"a": 1}', "it is other JSON"),
        (b"[1, 2]", "it is other JSON"),
        (b'{"nbformat": 4, "nbformat_minor": 5, "cells": 3, "metadata": {}}', "its cells cannot be read"),
        (GOOD.replace("x = 1", "σ = 1").encode("latin-1", "replace").replace(b"?", b"\xfc"), "is not UTF-8 text"),
        (GOOD.encode("utf-16"), "is not UTF-8 text"),
    ],
)
def test_what_is_no_notebook_gets_one_plain_line(tmp_path, content, says):
    path = tmp_path / f"{NAME}.ipynb"
    path.write_bytes(content)
    with pytest.raises(Unreadable) as caught:
        read_notebook(path)
    line = str(caught.value)
    assert says in line
    assert line.endswith("score 0.")
    assert "\n" not in line
    assert path.name in line


@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf", b"\n  "])
def test_a_byte_order_mark_and_other_alphabets_are_read(tmp_path, start):
    path = tmp_path / "a.ipynb"
    path.write_bytes(start + GOOD.replace("x = 1", "σ² ₀ ≤ 日本語").encode())
    assert read_notebook(path).cells[0].source == "σ² ₀ ≤ 日本語"


@pytest.mark.parametrize("damage", ["source", "metadata", "cell_type", "outputs", "id"])
def test_a_notebook_with_damaged_cells_is_mended_or_refused_in_words(tmp_path, released, damage):
    for value in (None, 7, [], {}, ["a", 3]):
        content = json.loads(nbformat.writes(released))
        for cell in content["cells"][::2]:
            cell[damage] = value
        path = tmp_path / "a.ipynb"
        path.write_text(json.dumps(content))
        try:
            notebook = read_notebook(path)
        except Unreadable:
            continue
        mended, _ = mend(notebook, released)
        nbformat.validate(mended)
        assert list(named(mended)) == list(named(released))


def test_an_old_format_is_read(tmp_path):
    path = tmp_path / "a.ipynb"
    cell = {
        "cell_type": "code",
        "input": "x = 1",
        "language": "python",
        "outputs": [],
        "metadata": {},
        "collapsed": False,
    }
    content = {"nbformat": 3, "nbformat_minor": 0, "metadata": {"name": ""}, "worksheets": [{"cells": [cell]}]}
    path.write_text(json.dumps(content))
    assert read_notebook(path).cells[0].source == "x = 1"


def hand_in(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(GOOD)
    return folder


@pytest.mark.parametrize(
    ("names", "taken", "notes"),
    [
        ([f"{NAME}.ipynb"], f"{NAME}.ipynb", 0),
        (
            [f"{NAME}.ipynb", "timestamp.txt", ".DS_Store", f".ipynb_checkpoints/{NAME}-checkpoint.ipynb"],
            f"{NAME}.ipynb",
            0,
        ),
        ([f"{NAME} (1).ipynb"], f"{NAME} (1).ipynb", 1),
        (["Level-1-Recognition.IPYNB"], "Level-1-Recognition.IPYNB", 1),
        ([f"{NAME}/{NAME}.ipynb"], f"{NAME}.ipynb", 1),
        ([f"{NAME}.ipynb", "try.ipynb", "numpy.py"], f"{NAME}.ipynb", 1),
    ],
)
def test_the_notebook_is_found(tmp_path, names, taken, notes):
    path, said = find_notebook(hand_in(tmp_path, *names), NAME)
    assert path.name == taken
    assert len(said) == notes
    assert all("numpy.py" in note for note in said if "Other files" in note)


@pytest.mark.parametrize(
    ("names", "says"),
    [([], "There is no"), (["a.txt"], "There is no"), (["a.ipynb", "b.ipynb"], "“a.ipynb”, “b.ipynb”")],
)
def test_no_single_notebook(tmp_path, names, says):
    with pytest.raises(Unreadable, match=says):
        find_notebook(hand_in(tmp_path, *names), NAME)


def test_links_are_refused(tmp_path):
    secret = hand_in(tmp_path / "elsewhere", "secret.ipynb") / "secret.ipynb"
    linked_file, linked_folder = tmp_path / "ann", tmp_path / "bob"
    linked_file.mkdir()
    (linked_file / f"{NAME}.ipynb").symlink_to(secret)
    linked_folder.symlink_to(secret.parent)
    for folder in (linked_file, linked_folder, linked_folder / NAME):
        with pytest.raises(Unreadable, match="links are not followed"):
            find_notebook(folder, NAME)


def test_links_beside_the_notebook_are_not_used(tmp_path):
    folder = hand_in(tmp_path, f"{NAME}.ipynb")
    (folder / "leak.txt").symlink_to(__file__)
    assert find_notebook(folder, NAME)[0] == folder / f"{NAME}.ipynb"


# Scores


def test_cell(*outputs):
    cell = new_code_cell("test", outputs=list(outputs))
    cell.metadata = {"nbgrader": {"grade": True, "solution": False, "grade_id": "t", "points": 2}}
    assert is_test(cell)
    return cell


test_cell.__test__ = False


def points(cell):
    from nbgrader.utils import determine_grade

    return determine_grade(cell)[0]


def result(text):
    return new_output("execute_result", data={"text/plain": text}, execution_count=1)


@pytest.mark.parametrize(
    ("text", "score"), [("1.5", 1.5), ("0", 0), ("2", 2), ("nan", 0), ("-1", 0), ("3", 0), ("inf", 0), ("'x'", 0)]
)
def test_partial_credit_is_a_number_of_points_or_nothing(text, score):
    cell = test_cell(result(text))
    settle(cell, completed=True)
    assert points(cell) == score


def test_words_on_stderr_cost_nothing():
    cell = test_cell(new_output("stream", name="stderr", text="careful"))
    settle(cell, completed=True)
    assert points(cell) == 2


@pytest.mark.parametrize("outputs", [[], [result("2")], [new_output("stream", name="stdout", text="ok")]])
def test_what_did_not_run_to_its_end_counts_nothing(outputs):
    cell = test_cell(*outputs)
    settle(cell, completed=False)
    assert points(cell) == 0
    assert [output.output_type for output in cell.outputs] == ["error"]
