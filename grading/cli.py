"""The `grade` command: release, grade, feed back and export whole classes."""

from __future__ import annotations

import atexit
import json
import logging
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from distributed.deploy.spec import close_clusters
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from grading import run as running
from grading import sample as sampling
from grading import validating
from grading.course import HERE, STEMS, CannotGrade, Course
from grading.export import export as export_grades
from grading.feedback import pages as write_pages
from grading.release import release as make_release
from grading.run import Report
from grading.sandbox import SandboxMissing, hidden

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Grade a class with nbgrader.")
console = Console(soft_wrap=True)

CORES = os.cpu_count() or 1
Folder = Annotated[Path, typer.Option("--course", help="The class's folder.", file_okay=False)]
Assignment = Annotated[str, typer.Argument(help=f"One of {', '.join(STEMS)}.")]
Workers = Annotated[int, typer.Option(min=1, help="Processes at work at the same time, on this machine.")]
Students = Annotated[list[str] | None, typer.Option("--student", help="Only this student; may be repeated.")]


@app.callback()
def at_home(context: typer.Context) -> None:
    """Grade a class with nbgrader."""
    if context.invoked_subcommand != "check" and not Course().sources():
        print(
            "There is no solutions/ beside this program, so all it can do is `grade check`. "
            "For the rest, use a clone of the course, set up with `make setup`.",
            file=sys.stderr,
        )
        sys.exit(2)


@app.command()
def release() -> None:
    """Make the students' notebooks in exercises/ from the authored solutions/."""
    for name in make_release(Course()):
        console.print(name)


@app.command()
def check(
    notebook: Annotated[Path, typer.Argument(help="A notebook of exercises/.", exists=True, dir_okay=False)],
) -> None:
    """Validate a notebook before it is handed in; the exit status is 1 if something in it fails."""
    found = validating.findings(notebook)
    print("\n".join(found) or validating.PASSED)
    sys.exit(bool(found))


@app.command()
def run(
    assignment: Assignment,
    course: Folder = HERE,
    student: Students = None,
    *,
    workers: Workers = CORES,
    scheduler: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Let the workers of this Dask scheduler do it instead.")
    ] = "",
    force: Annotated[bool, typer.Option(help="Grade again what has not changed.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    trust_submissions: Annotated[
        bool,
        typer.Option(
            "--trust-submissions",
            help="No sandbox, no judge: submissions run as you, can do all that you can, and can fake their points.",
        ),
    ] = False,
) -> None:
    """Grade an assignment.

    The exit status is 1 if somebody should look at a submission, and 2 if nothing can be graded. A run that was stopped
    or killed goes on where it was when it is started again.
    """
    klass = released(course, assignment)
    students = known(klass, student)
    if not (trust_submissions or scheduler):
        contained(klass)
    if scheduler and not scheduler.startswith("tls://"):
        print("Without TLS, whoever reaches the scheduler's port can run programs as you.", file=sys.stderr)
    found = running.run(
        klass, [assignment], students, force=force, workers=workers, scheduler=scheduler, trust=trust_submissions
    )
    reports = followed(found, len(students))
    if as_json:
        print(json.dumps(rows_of(klass, reports), ensure_ascii=False, indent=1))
    else:
        show(klass, reports)
    astray = strays(klass, assignment, student)
    sys.exit(any(report.attention for report in reports) or bool(astray))


@app.command()
def feedback(assignment: Assignment, course: Folder = HERE, student: Students = None) -> None:
    """Write the feedback pages of an assignment."""
    klass = released(course, assignment)
    pairs = [(assignment, name) for name in known(klass, student)]
    pages = [page for page in write_pages(klass, pairs) if page]
    console.print(f"{len(pages)} pages in {course / 'feedback'}")


@app.command()
def export(course: Folder = HERE) -> None:
    """Write grades.csv, a row for each student and assignment, and totals.csv, a row for each student."""
    for path in export_grades(Course(course.resolve())):
        console.print(str(path))


@app.command()
def status(
    assignment: Annotated[str | None, typer.Argument(help="Only this one, with a line for whoever needs it.")] = None,
    course: Folder = HERE,
) -> None:
    """Say in a line for each assignment how far the grading is."""
    klass = Course(course.resolve())
    if not (students := klass.students()):
        console.print(f"Nobody has handed anything in; submissions belong into {klass.root / 'submitted'}.")
    for name in klass.assignments():
        reports = [running.load(klass, name, student) for student in students]
        if assignment == name:
            show(klass, reports)
        elif assignment is None and (line := summary(rows_of(klass, reports))):
            console.print(line)
    strays(klass, assignment)


@app.command()
def sample(
    course: Annotated[Path, typer.Option("--course", help="Where to make it.")] = HERE / "build" / "sample-class",
    workers: Workers = CORES,
) -> None:
    """Make a sample class, grade it, write its feedback and grades; the exit status is 0 if all is as it must be."""
    klass = sampling.course(course.resolve())
    hand_ins = sampling.build(klass)
    everything = running.run(klass, klass.assignments(), workers=workers)
    reports = followed(everything, len(klass.assignments()) * len(klass.students()))
    pairs = [(hand_in.assignment, hand_in.student) for hand_in in hand_ins]
    pages = list(write_pages(klass, pairs, workers))
    for assignment in klass.assignments():
        show(klass, [report for report in reports if report.assignment == assignment])
    console.print(f"{len(pages)} feedback pages in {klass.root / 'feedback'}\nGrades in {export_grades(klass)[0]}")
    surprises = sampling.surprises(klass, hand_ins)
    for line in surprises:
        console.print(f"[red]Not as expected:[/] {line}")
    console.print(f"{len(hand_ins) - len(surprises)} of {len(hand_ins)} submissions graded as expected.")
    sys.exit(bool(surprises))


def followed(reports: Iterator[Report], total: int) -> list[Report]:
    """Wait for a run to end while a line shows how far it is; leave the program if it cannot go on."""
    done, attention = [], 0
    line = Progress(
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]:.1f}/s, ready in"),
        TimeRemainingColumn(),
        TextColumn("[yellow]{task.fields[attention]} need attention"),
        console=Console(stderr=True),
        disable=not sys.stderr.isatty(),
        transient=True,
    )
    for name in ("distributed", "tornado", "asyncio"):  # what they say of a run that ends early helps nobody
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        with line:
            task = line.add_task("", total=total, rate=0.0, attention=0)
            for report in reports:
                done.append(report)
                attention += report.attention
                rate = len(done) / (line.tasks[task].elapsed or 1.0)
                line.update(task, completed=len(done), rate=rate, attention=attention)
    except (CannotGrade, SandboxMissing) as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        atexit.unregister(close_clusters)  # the run has closed its own
        print(f"Stopped after {len(done)} of {total}. Run the same command again to go on.", file=sys.stderr)
        sys.exit(130)
    return sorted(done, key=lambda report: (report.assignment, report.student))


def strays(course: Course, assignment: str | None, students: list[str] | None = None) -> list[str]:
    """Say what stands in ``submitted/`` where grading does not look: of one assignment and of none, or all of it."""
    lines = [line for guess, line in course.misplaced() if assignment is None or guess in ("", assignment)]
    if students:
        lines = [line for line in lines if line.startswith(tuple(f"submitted/{name}/" for name in students))]
    for line in lines:
        print(line, file=sys.stderr)
    return lines


def contained(course: Course) -> None:
    """Leave the program if submissions could read this class's files."""
    try:
        hidden(course.root)
    except SandboxMissing as error:
        print(error, file=sys.stderr)
        sys.exit(2)


def released(course: Path, assignment: str) -> Course:
    """Open a class whose grade book holds the assignment; release it there if it does not yet."""
    if assignment not in STEMS:
        raise typer.BadParameter(f"There is no assignment {assignment!r}; there are {', '.join(STEMS)}.")
    klass = Course(course.resolve())
    if assignment not in klass.assignments():
        list(make_release(klass, [assignment]))
    return klass


def known(course: Course, students: list[str] | None) -> list[str]:
    """The students asked for, or the whole class; a name that nobody has is said."""
    everybody = course.students()
    for name in students or ():
        if name not in everybody:
            raise typer.BadParameter(f"There is no student {name!r} in {course.root / 'submitted'}.")
    return students or everybody


def rows_of(course: Course, reports: list[Report]) -> list[dict[str, Any]]:
    """Put reports on one assignment and the scores together."""
    scores = running.scores(course, reports[0].assignment) if reports else {}
    nothing = (0.0, next(iter(scores.values()), (0, 0.0))[1], False)
    names = ("score", "max_score", "needs_manual_grade")
    return [
        {**asdict(one), "attention": one.attention, **dict(zip(names, scores.get(one.student, nothing), strict=True))}
        for one in reports
    ]


def summary(rows: list[dict[str, Any]]) -> str:
    """One line about an assignment; empty if nobody has handed it in."""
    handed_in = [one for one in rows if one["outcome"] != "missing"]
    if not handed_in:
        return ""
    mean = sum(one["score"] for one in handed_in) / len(handed_in)
    by_hand = sum(one["needs_manual_grade"] for one in handed_in)
    attention = sum(one["attention"] for one in handed_in)
    return (
        f"{rows[0]['assignment']}: {len(handed_in)} handed in, mean {mean:.1f} of {handed_in[0]['max_score']:g}, "
        f"{by_hand} to grade by hand, {attention} to look at"
    )


def show(course: Course, reports: list[Report]) -> None:
    """Print one assignment: the summary, and a line for everybody who is not simply graded, the urgent ones first."""
    rows = rows_of(course, reports)
    if not (title := summary(rows)):
        return
    console.print(title)
    special = [one for one in rows if one["outcome"] not in ("graded", "missing")]
    special.sort(key=lambda one: not one["attention"])
    if console.is_terminal:
        table = Table("student", "score", "", "", box=None)
        for one in special:
            table.add_row(escape(one["student"]), f"{one['score']:g}", one["outcome"], escape(one["line"]))
        if special:
            console.print(table)
        return
    for one in special:  # for other programs, one line each
        print(one["student"], f"{one['score']:g}", one["outcome"], one["line"], sep="\t")


if __name__ == "__main__":
    app()
