"""What a student reads on the page: plain sentences and the exercise's number, and nothing that a hidden test tried."""

import re
import shutil
import subprocess
import sys

import nbformat
import pytest
from bs4 import BeautifulSoup
from nbformat.v4 import new_output

from grading import run, sample
from grading.course import STEMS, Course
from grading.feedback import feedback, told
from grading.judge import Service
from grading.release import release
from grading.sandbox import Limits

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the sandbox needs Linux"),
    pytest.mark.xdist_group("feedback"),
    pytest.mark.filterwarnings("ignore:Object of type"),  # nbgrader's own
]
L1, L2 = STEMS[:2]
SECRET = "271828"
DIRECT = f"assert f({SECRET}) == 1"
CHECKED = f"""
import normlib
normlib.check("2.2", {{**normlib.instance("2.2", 7), "gamma": 1}}, layer_norm=lambda *a: f({SECRET})).require()"""
OF_A_CHECK = "import normlib\nnormlib.check('2.2', y=f({0})).require()"
UNDEFINED = "is not defined. Was its cell deleted, or did it stop with an error?"
# What f does with the hidden number, and a part of what the student must read
TOLD = {
    "raises": ("raise ValueError(x)", DIRECT, "Stopped with ValueError. What it says is not shown"),
    "raises its own": ("raise type(f'E{x}', (Exception,), {})(x)", DIRECT, "Stopped with an exception of your own."),
    "raises in a check": ("raise type(f'E{x}', (Exception,), {})(x)", CHECKED, "an exception of your own for a row"),
    "asserts": ("raise AssertionError(x)", DIRECT, "What this test looks at is not right."),
    "like a missing name": (f"raise NameError(f'`x{{x}}` {UNDEFINED}')", DIRECT, "Stopped with NameError."),
    "like a check": (
        "raise type('CheckFailed', (Exception,), {})(x)",
        DIRECT,
        "Stopped with an exception of your own.",
    ),
    "like the judge": (
        "raise type('Objection', (Exception,), {})(x)",
        DIRECT,
        "Stopped with an exception of your own.",
    ),
    "a class called so": ("return type(f'E{x}', (), {})()", DIRECT, "A test cannot look into your answer (object"),
    "such a class checked": ("return type(f'E{x}', (), {})()", CHECKED, "this (an object of another kind) cannot be"),
    "a generator": ("return (i for i in range(x))", DIRECT, "your answer (generator). Give plain numbers"),
    "too large": ("return 'a' * 2**21", DIRECT, "A test cannot look into your answer (value that is too large"),
    "too large, checked": ("return 'a' * 2**21", CHECKED, "this (a value that is too large, too deeply nested or"),
    "a large shape": (
        "import numpy as np\n    return np.empty((0, x))",
        CHECKED,
        "the shape is not right; (4,) is asked",
    ),
    "a long text": ("return ['a' * x]", OF_A_CHECK.format(SECRET), "this is a list, not of real numbers."),
    "changes its input": ("x[0] = 1", "import numpy as np\nf(np.zeros(2))", "your function changed its input."),
    "is not there": ("return 1\ndel f", DIRECT, f"`f` {UNDEFINED}"),
}


@pytest.fixture(scope="module")
def judge():
    judge = Service(Limits(cell=10, call=5, total=60))
    yield judge
    judge.close()


@pytest.mark.parametrize("way", TOLD)
def test_the_student_reads_a_plain_sentence_and_not_the_hidden_number(judge, way):
    body, test, sentence = TOLD[way]
    cells = [{"role": "student", "source": f"def f(x):\n    {body}"}, {"role": "test", "source": test}]
    found = judge.judge([{"points": 1.0, **cell} for cell in cells])[1].outputs
    assert [output["output_type"] for output in found] == ["error"]
    shown = told(nbformat.from_dict(found[0]))
    assert sentence in shown.evalue
    assert shown.traceback == shown.evalue.splitlines()
    assert SECRET not in str(shown)


@pytest.mark.parametrize(
    ("name", "says", "shown"),
    [
        ("Stopped", "This test counts 0: it was killed.", "This test counts 0: it was killed."),
        ("NameError", "name 'y' is not defined", "name 'y' is not defined"),
        ("NameError", "name 'y' is not defined\nx = 3", "Stopped with NameError."),
        ("KeyboardInterrupt", "secret", "This test was stopped."),
        ("ZeroDivisionError", "", "Stopped with ZeroDivisionError."),
    ],
)
def test_other_errors(name, says, shown):
    found = told(new_output("error", ename=name, evalue=says, traceback=["secret"])).evalue
    assert found.startswith(shown)
    assert "secret" not in found


# Pages


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The pages of four students: right, wrong, and two whose files cannot be graded."""
    course = Course(tmp_path_factory.mktemp("feedback") / "class", timeout=10)
    course.root.mkdir()
    list(release(course, [L1, L2]))
    right = sample.Sheet(course, L1).filled()
    hand_in(course, "right", L1, nbformat.writes(right))
    hand_in(course, "blank", L2, nbformat.writes(course.released(L2)))
    hand_in(course, "broken", L2, "{")
    list(run.run(course, [L1], ["right"], workers=1))
    list(run.run(course, [L2], ["blank", "broken"], workers=1))
    return course, {
        student: BeautifulSoup(feedback(course, assignment, student).read_text(), "html.parser")
        for student, assignment in (("right", L1), ("blank", L2), ("broken", L2))
    }


def hand_in(course, student, assignment, text):
    folder = course.submission(student, assignment)
    folder.mkdir(parents=True)
    (folder / f"{assignment}.ipynb").write_text(text)


def entries(page):
    return [line.get_text() for line in page.select("#toc li")]


def test_the_list_says_of_each_test_its_exercise_and_what_it_looks_at(pages):
    course, found = pages
    lines = [line for line in entries(found["blank"]) if not line.endswith("Comment")]
    released = [cell for cell in course.released(L2).cells if cell.metadata.get("nbgrader", {}).get("grade")]
    assert len(lines) == len(released)
    for line in ("2.1 Tests the standardized row of (2, 4, 6, 8)", "2.3 Tests the constant row without ε"):
        assert [entry for entry in lines if entry.startswith(f"{line} (Score: 0.0 / ")], line
    assert all(re.match(r"2\.[123] Tests .*\(Score: 0\.0 / [\d.]+\)$", line) for line in lines)
    assert not any("point" in line for line in lines), "they stand in the score"
    headings = [heading.get_text() for heading in found["blank"].select(".nbgrader-label")]
    assert {heading.partition(" ")[2] for heading in headings} == {"Your answer", "Test"}
    assert {heading.partition(" ")[0] for heading in headings} == {"2.1", "2.2", "2.3"}


def test_an_answer_in_words_says_that_it_waits(pages):
    waiting = [line for line in entries(pages[1]["right"]) if "Written response" in line]
    assert len(waiting) == 3
    assert all(" (not graded yet; " in line and "Score" not in line for line in waiting)


def test_each_link_leads_to_a_cell(pages):
    for page in pages[1].values():
        for link in page.select("#toc a"):
            assert page.find("a", attrs={"name": link["href"].removeprefix("#")})


def test_the_page_of_a_file_that_cannot_be_graded_looks_like_the_rest_and_says_what_to_do(pages):
    page, other = pages[1]["broken"], pages[1]["blank"]
    assert page.h4.get_text() == other.h4.get_text() == f"{L2} (Score: 0.0 / 25.0)"
    assert [style.get_text() for style in page("style")] == [style.get_text() for style in other("style")]
    for part in (page, other):
        assert part.html["lang"] == "en"
        assert part.find("meta", attrs={"http-equiv": "Content-Security-Policy"})
        assert not part("script")
    assert "Hand it in again" in page.select_one(".panel-heading p").get_text()
    steps = [step.get_text() for step in page.select(".panel-body ol li")]
    assert len(steps) == 3
    assert f"Save it as {L2}.ipynb." in steps


def test_a_page_that_nbgrader_cannot_make_says_so_and_keeps_the_score(pages, tmp_path, capsys):
    course = Course(tmp_path / "class")
    shutil.copytree(pages[0].root, course.root)
    course.autograded("right", L1).write_text("{")
    page = BeautifulSoup(feedback(course, L1, "right").read_text(), "html.parser")
    assert page.h4.get_text() == pages[1]["right"].h4.get_text()
    assert "cannot be shown here" in page.get_text()
    assert f"{L1}, right: nbgrader cannot show the work" in capsys.readouterr().err


def test_formgrader_starts_without_dask():
    program = (
        "import sys, grading.viewing, grading.preprocessors; print(sorted({'dask', 'distributed'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
