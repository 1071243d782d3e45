"""Types wrong and right answers into the released notebooks, grades them as a class is graded, and counts.

``python tests/checks/runner.py`` prints the counts and writes them into the book.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import nbformat
from equivalents import EQUIVALENTS
from mutants import KINDS, LOOKED_UP, MUTANTS, TARGETS
from nbformat import NotebookNode

from grading.course import HERE, STEMS, Course
from grading.judge import Service
from grading.mend import is_answer, is_test, mend
from grading.preprocessors import judge_notebook
from grading.sample import Sheet
from normlib.catalogue import EXERCISES
from normlib.misconceptions import MISCONCEPTIONS, message

PAGE = HERE / "chapters" / "tried.md"
# 2.2 goes on from the x̂ of 2.1, which the tables change
APART = {2: {"y": "y = 3 * np.array([-3, -1, 1, 3]) / np.sqrt(5) - 2"}}


@dataclass(frozen=True)
class Case:
    """One answer to try: a mutant if it must be refused, else an equivalent."""

    exercise: str
    answer: str
    code: str
    mutant: bool
    told: str | None = None

    @property
    def level(self) -> int:
        return int(self.exercise[0])

    @property
    def target(self) -> str:
        """The variable or function that the code defines."""
        return TARGETS.get(self.answer, self.answer)


@dataclass(frozen=True)
class Found:
    """What grading made of a case: which part of the tests refused it, and what the student reads."""

    case: Case
    visible: bool
    refused: bool
    text: str

    @property
    def told_rightly(self) -> bool:
        told = self.case.told
        return told is None or (message(told) if told in MISCONCEPTIONS else told) in self.text


def cases() -> list[Case]:
    """Every case of both tables, and for every function one that has looked up the visible answers."""
    found = []
    for exercise in EXERCISES.values():
        level = int(exercise.id[0])
        for quantity in exercise.quantities:
            name = quantity.name
            wrong, right = MUTANTS[level].get(name, []), EQUIVALENTS[level].get(name, [])
            found += [Case(exercise.id, name, code, True, told) for code, told in wrong]
            found += [Case(exercise.id, name, code, False) for code in right]
            found += [Case(exercise.id, name, LOOKED_UP, True)] if quantity.calls else []
    return found


def batches(cases: Iterable[Case]) -> Iterator[list[Case]]:
    """Put cases that do not meet into one notebook."""
    open_: list[list[Case]] = []
    for case in cases:
        for batch in open_:
            first = batch[0]
            if (first.level, first.mutant) == (case.level, case.mutant) and case.target not in {
                c.target for c in batch
            }:
                batch.append(case)
                break
        else:
            open_.append([case])
    yield from open_


class Grader:
    """The released notebooks, the master's tests, and a judge.

    Parameters
    ----------
    judge : Service
        The judge.
    weaken : callable, optional
        Changes the source of every test before it runs.
    """

    def __init__(self, judge: Service, weaken: Callable[[str], str] = lambda source: source) -> None:
        self.judge, self.weaken = judge, weaken
        self.sheets = {level: Sheet(Course(), stem) for level, stem in enumerate(STEMS, 1)}
        masters = [nbformat.read(HERE / "solutions" / stem / f"{stem}.ipynb", as_version=4) for stem in STEMS]
        self.tests = {cell.id: cell.source for master in masters for cell in master.cells if is_test(cell)}

    def grade(self, batch: list[Case], order: Callable[[list[NotebookNode]], None] = lambda tests: None) -> list[Found]:
        """Grade the cases of one batch; `order` may shuffle the tests, which then run at the end."""
        sheet = self.sheets[batch[0].level]
        notebook, _ = mend(self.filled(sheet, batch), sheet.released)
        asks = re.compile(rf"\b({'|'.join(case.answer for case in batch)})=")
        notebook.cells = [cell for cell in notebook.cells if not is_checking(cell) or asks.search(cell.source)]
        tests = [cell for cell in notebook.cells if is_test(cell)]
        order(tests)
        notebook.cells = [cell for cell in notebook.cells if not is_test(cell)]
        for cell in tests:
            master = NotebookNode(cell, source=self.weaken(self.tests[cell.id]))
            notebook.cells += [NotebookNode(cell, source=self.weaken(cell.source)), master]
        judge_notebook(notebook, self.judge)
        for cell in notebook.cells:
            failed = is_answer(cell) and [output for output in cell.get("outputs", []) if output.output_type == "error"]
            assert not failed, (batch, failed[0].evalue)
        graded = [cell for cell in notebook.cells if is_test(cell)]
        return [self.found(case, graded[::2], graded[1::2]) for case in batch]

    def filled(self, sheet: Sheet, batch: list[Case]) -> NotebookNode:
        notebook = sheet.filled(APART.get(batch[0].level))
        for case in batch:
            defines = re.compile(rf"^(def )?{case.target}( =|\()", re.MULTILINE)
            cell = next(cell for cell in notebook.cells if is_answer(cell) and defines.search(cell.source))
            cell.source += "\n\n" + self.definition(sheet, case)
        return notebook

    def definition(self, sheet: Sheet, case: Case) -> str:
        if not sheet.quantities[case.answer][1].calls:
            return f"{case.target} = {case.code}"
        head = sheet.function(case.target, "pass").splitlines()[0]
        if case.code is LOOKED_UP:
            arguments = re.findall(r"(\w+)(?:=[^,]+)?(?:, |\))", head)
            words = {"head": head, "arguments": ", ".join(arguments), "otherwise": arguments[0]}
            return LOOKED_UP.format(exercise=case.exercise, name=case.answer, **words)
        if case.code.startswith(("def " + case.target, case.target + " =")):
            return case.code
        return head + "\n" + textwrap.indent(case.code, "    ")

    def found(self, case: Case, visible: list[NotebookNode], full: list[NotebookNode]) -> Found:
        asks = re.compile(rf"\b{case.answer}=")
        seen = [line for cell in visible if asks.search(cell.source) for line in lines(cell, case.answer)]
        told = [line for cell in full if asks.search(cell.source) for line in lines(cell, case.answer)]
        return Found(case, bool(seen), bool(told), " ".join(told))


def is_checking(cell: NotebookNode) -> bool:
    """Tell whether a cell is a test or a check."""
    return is_test(cell) or "-check" in cell.id


def lines(cell: NotebookNode, answer: str) -> list[str]:
    """What a test says about an answer; one that fails in another way speaks of all its answers."""
    text = "\n".join(output.evalue for output in cell.outputs if output.output_type == "error")
    marked = re.findall(r"^[✗○] (?:Not yet|Missing) – (\w+)(?: \([^)]*\))?: (.*)$", text, re.MULTILINE)
    return [line for name, line in marked if name == answer] if marked else [text] * bool(text)


@dataclass(frozen=True)
class Figures:
    """How many of how many: mutants refused, mutants told what they should be, equivalents accepted."""

    refused: tuple[int, int]
    named: tuple[int, int]
    accepted: tuple[int, int]
    hidden: int

    @property
    def good(self) -> bool:
        """Whether all mutants are refused, 95 % named, and all equivalents accepted."""
        return (
            self.refused[0] == self.refused[1]
            and self.named[0] >= 0.95 * self.named[1]
            and self.accepted[0] == self.accepted[1]
        )

    def __str__(self) -> str:
        parts = {"refused": self.refused, "named rightly": self.named, "equivalents accepted": self.accepted}
        return (
            ", ".join(f"{name} {a} of {b}" for name, (a, b) in parts.items()) + f", {self.hidden} by hidden tests only"
        )


def figures(found: Iterable[Found]) -> Figures:
    """Count."""
    found = list(found)
    mutants = [one for one in found if one.case.mutant]
    named = [one for one in mutants if one.case.told]
    equal = [one for one in found if not one.case.mutant]
    return Figures(
        (sum(one.refused for one in mutants), len(mutants)),
        (sum(one.refused and one.told_rightly for one in named), len(named)),
        (sum(not one.refused for one in equal), len(equal)),
        sum(one.refused and not one.visible for one in mutants),
    )


def page(found: Iterable[Found]) -> str:
    """The counts as Markdown: altogether, exercise by exercise, and answer by answer with what was tried."""
    found = list(found)
    all_ = figures(found)
    exercises = [(one, [f for f in found if f.case.exercise == one.id]) for one in EXERCISES.values()]
    rows = [f"| {one.id} {one.title} | {columns(of_one)} |" for one, of_one in exercises]
    answers = [
        f"| {one.id} `{quantity.name}` | {tried(f for f in of_one if f.case.answer == quantity.name)} |"
        for one, of_one in exercises
        for quantity in one.quantities
    ]
    lines = [
        "% Written by tests/checks/runner.py; do not edit.",
        "",
        f"- **{share(all_.refused)} wrong answers are refused.**",
        f"- **{share(all_.named)} typical mistakes are called by their name.** The other wrong answers have none.",
        f"- **{share(all_.accepted)} right answers of another form get full marks.**",
        "",
        "| Exercise | Wrong answers | Refused by the check | By the hidden test only | Named | Right ones accepted |",
        "|---|--:|--:|--:|--:|--:|",
        *rows,
        f"| **All** | {columns(found)} |",
        "",
        "```{admonition} Answer by answer: which mistakes were tried",
        ":class: dropdown",
        "",
        "| Answer | Wrong answers tried | Right answers tried |",
        "|---|---|--:|",
        *answers,
        "```",
    ]
    return "\n".join(lines) + "\n"


def share(of: tuple[int, int]) -> str:
    """How many of how many, for people."""
    return f"All {of[1]}" if of[0] == of[1] else f"{of[0]} of {of[1]}"


def columns(found: Iterable[Found]) -> str:
    """The columns of the table of exercises."""
    found = list(found)
    count = figures(found)
    visible = sum(one.visible for one in found if one.case.mutant)
    parts = [share(of).lower().replace(" ", "\N{NO-BREAK SPACE}") for of in (count.named, count.accepted)]
    return " | ".join([str(count.refused[1]), str(visible), str(count.hidden), *parts])


def tried(found: Iterable[Found]) -> str:
    """The kinds of wrong answers that were tried, how often, and the number of right ones."""
    found = list(found)
    kinds = Counter(kind(one.case) for one in found if one.case.mutant)
    names = ", ".join(name + f" × {count}" * (count > 1) for name, count in kinds.items())
    return f"{names} | {sum(not one.case.mutant for one in found)}"


def kind(case: Case) -> str:
    """What sort of wrong answer it is."""
    if case.code is LOOKED_UP:
        return "visible answers looked up"
    return f"`{case.told}`" if case.told in MISCONCEPTIONS else KINDS.get(case.told, "other")


def run(grader: Grader, cases: Iterable[Case]) -> list[Found]:
    """Grade all cases."""
    return [found for batch in batches(cases) for found in grader.grade(batch)]


def problems(found: Iterable[Found]) -> list[str]:
    """Say of each case that is not as it should be what came of it."""
    said = []
    for one in found:
        case = replace(one.case, code=one.case.code[-200:])
        if case.mutant and not one.refused:
            said.append(f"slipped through: {case}")
        elif case.mutant and not one.told_rightly:
            said.append(f"told otherwise: {case}\n    {one.text[:200]}")
        elif not case.mutant and one.refused:
            said.append(f"equivalent refused: {case}\n    {one.text[:200]}")
    return said


if __name__ == "__main__":
    service = Service()
    found = run(Grader(service), cases())
    service.close()
    print("\n".join([*problems(found), f"All: {figures(found)}"]))
    PAGE.write_text(page(found), encoding="utf-8")
    sys.exit(not figures(found).good)
