"""The judge: runs the master's tests, and asks the student's process for the answers they need.

The master is the instructor's notebook, whose cells have been put into what a student handed in; ``theirs`` is what is
the student's. ``python -m grading.judge FD LIMIT=VALUE…`` is the service that a grading worker keeps. For every
submission it forks a process that runs the cells in the sandbox, and then the tests here. A test passes when it ran to
its end without an exception; nothing that the student's process says can stand for that.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import math
import os
import resource
import signal
import socket
import subprocess
import symtable
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from grading.sandbox import Launched, Limits, SandboxMissing, Zygote
from grading.student import ready_to_fork
from grading.wire import MAX_TEXT, MIME_TYPES, Channel, Gone, Late, WireError, decode, encode
from normlib.checking import CHANGED

MAX_RESTARTS = 6  # of a notebook's process, after it ended or had to be ended
GRACE = 1.5  # seconds that an interrupted cell has before its process is ended
PATIENCE = 60  # seconds over a submission's own limit; a judge that is silent for longer is ended
MAX_OUTPUT = 6 * MAX_TEXT  # characters that the cells of a submission may show altogether
MEMORY = 1536 * 2**20  # bytes that a submission's answers may take in the judge


class Stopped(BaseException):
    """The student's process did not answer; the message says why, as the end of a sentence.

    Like TestTimeout it ends the test: no ``except Exception`` in a test holds it up.
    """


class StudentError(Exception):
    """A student's function raised an exception."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


class Objection(TypeError):
    """The judge's own word on an answer: no text of the student's is in it, so that it can be shown to everybody."""


class TestTimeout(BaseException):
    """A test took too long altogether."""


# The student's process, seen from here


class Student:
    """One notebook's process in the sandbox, restarted when it ends or must be ended.

    Parameters
    ----------
    zygote : Zygote
        Where processes come from.
    limits : Limits
        How long to wait.
    files : list of (str, bytes)
        The assignment's own files.
    spare : tuple of socket, optional
        A process that was launched ahead.
    """

    def __init__(
        self, zygote: Zygote, limits: Limits, files: list[tuple[str, bytes]], spare: Launched | None = None
    ) -> None:
        self.zygote, self.limits, self.files, self.spare = zygote, limits, files, spare
        self.end = time.monotonic() + limits.total
        self.done: list[dict[str, Any]] = []  # what to ask for again after a restart
        self.restarts = -1
        self.room = MAX_OUTPUT
        self.channel: Channel | None = None
        self.number = self.objects = 0
        self.seed = int.from_bytes(os.urandom(4), "big")

    def start(self) -> None:
        """Start a process and bring it to where the last one was.

        Raises
        ------
        Stopped
            If it does not come up.
        """
        self.restarts += 1
        if self.restarts > MAX_RESTARTS:
            raise Stopped("the program had ended too often to be started again")
        channel, self.leash = self.spare or self.zygote.launch()
        self.spare = None
        self.channel = Channel(channel)
        self.ask({"op": "put", "files": self.files, "seed": self.seed}, self.limits.cell)
        for request in self.done:
            self.ask(request, self.limits.cell)

    def run(self, source: str) -> tuple[list[dict[str, Any]], bool]:
        """Run a cell; give its outputs, and whether it was interrupted.

        A cell that was interrupted or ended the process is left out when the process is started again.
        """
        request = {"op": "run", "source": source}
        reply = self.ask(request, self.limits.cell)
        interrupted = "interrupted" in reply
        if not interrupted:
            self.done.append(request)
        outputs, self.room = clean_outputs(reply.get("outputs"), self.room)
        return outputs, interrupted

    def mark(self, place: int, names: list[str]) -> tuple[dict[str, Any], list[str]]:
        """Remember a place of the notebook for :meth:`back`, and give the names that the student has defined there.

        Returns
        -------
        tuple of dict and list of str
            Names to plain data or stand-ins, and those with stand-ins, which a restart makes worthless.
        """
        reply = self.ask({"op": "mark", "mark": place, "names": names}, self.limits.call)
        self.done.append({"op": "mark", "mark": place, "names": []})
        return self.values(reply, names)

    def back(self, place: int, names: list[str]) -> dict[str, Any]:
        """Let all names stand for what they stood for at a place, and give those asked for."""
        reply = self.ask({"op": "back", "mark": place, "names": names}, self.limits.call)
        return self.values(reply, names)[0]

    def values(self, reply: dict[str, Any], names: list[str]) -> tuple[dict[str, Any], list[str]]:
        """Read the values in an answer; say which names have stand-ins in them."""
        values, theirs = {}, []
        for name in names:
            before = self.objects
            if name in reply.get("values", {}):
                try:
                    values[name] = decode(reply["values"][name], self.stand_in)
                except WireError:
                    values[name] = unreadable()
            elif name in reply.get("refused", {}):
                values[name] = unreadable()
            theirs += [name] if self.objects > before else []
        return values, theirs

    def call(self, number: int, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, bool, bool]:
        """Call a student's function.

        Returns
        -------
        tuple of object and two bool
            Its value, whether normlib's functions did the work, and whether it changed its arguments.
        """
        request = {"op": "call", "number": number, "args": encode(args, refuse), "kwargs": encode(kwargs, refuse)}
        reply = self.ask(request, self.limits.call)
        if "interrupted" in reply:
            raise Stopped(f"it ran longer than {self.limits.call:g} s")
        if "error" in reply:
            kind, text = (str(part)[:300] for part in reply["error"])
            raise student_error(kind, text)
        value = unreadable()
        if "refused_value" not in reply:
            with contextlib.suppress(WireError):
                value = decode(reply.get("value"), self.stand_in)
        return value, *(reply.get(key) is True for key in ("borrowed", "changed"))

    def stand_in(self, number: int, name: str, callable_: bool) -> Any:
        """Make what stands for an object of the student's."""
        self.objects += 1
        return class_called(name if name in KINDS else "object of another kind", callable_)(self, number, name)

    def ask(self, request: dict[str, Any], timeout: float) -> dict[str, Any]:
        """Send a request and wait for its answer.

        Raises
        ------
        Stopped
            If there is none in time, or not of the agreed form. The process is then gone and the next request
            starts another.
        """
        if self.channel is None:
            self.start()
        timeout = min(timeout, self.end - time.monotonic())
        if timeout <= 0:
            raise Stopped("the submission's time was used up")
        self.number += 1
        try:
            self.channel.send({"id": self.number, **request}, timeout)
            reply = self._wait(timeout)
            if type(reply) is not dict or reply.get("id") != self.number:
                raise WireError("it answered out of turn")
            return reply
        except Late:
            self.stop()
            raise Stopped("it ran too long and could not be interrupted") from None
        except Gone:
            raise Stopped(self._why_gone()) from None
        except WireError as error:
            self.stop()
            raise Stopped(str(error)) from None

    def _wait(self, timeout: float) -> Any:
        try:
            return self.channel.receive(timeout)
        except Late:
            # code that is only slow ends with KeyboardInterrupt, and what was defined so far is kept
            try:
                self.leash.sendall(b"i")
            except OSError as error:
                raise Gone("the other side is gone") from error
            reply = self.channel.receive(GRACE)
            return {**reply, "interrupted": True} if type(reply) is dict else reply

    def stop(self) -> None:
        """End the process and whatever it started."""
        if self.channel is not None:
            self.channel.close()
            self.leash.close()  # its end is what the supervisor waits for
            self.channel = None

    def _why_gone(self) -> str:
        """Ask the supervisor why a process ended, and end it if it only hung up."""
        self.leash.settimeout(0.5)
        reason = ""
        with contextlib.suppress(OSError):
            reason = self.leash.recv(200).decode(errors="replace")
        self.stop()
        return reason or "it closed its connection to the tests"


class Opaque:
    """Stands for an object of the student's that is not plain data: it can be passed on, and nothing else."""

    def __init__(self, student: Student, number: int, name: str) -> None:
        self._student, self._number, self.__name__ = student, number, name

    def _refuse(self, *_: Any, **__: Any) -> Any:
        kind = "function" if isinstance(self, StandIn) else type(self).__name__
        raise Objection(f"A test cannot look into your answer ({kind}). Give plain numbers or arrays.")

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __len__ = __iter__ = __getitem__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __float__ = _refuse
    __array__ = __contains__ = __abs__ = __neg__ = _refuse
    __hash__ = None


class StandIn(Opaque):
    """Stands for a student's function: calls go to the student's process and come back as plain data."""

    borrowed = changed = False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the student's function with plain data.

        Raises
        ------
        Objection
            If it changed that data. The test's own stays as it is: what the test compares with may be made of it.
        """
        value, borrowed, changed = self._student.call(self._number, self.__name__, args, kwargs)
        self.borrowed |= borrowed
        self.changed |= changed
        if changed:
            raise Objection(CHANGED)
        return value


@lru_cache(1000)
def class_called(name: str, callable_: bool) -> type[Opaque]:
    """The class of stand-ins for objects of a class with this name."""
    return type(name, (StandIn,) if callable_ else (Opaque,), {})


def unreadable() -> Opaque:
    """What stands for a value that could not be brought over."""
    return class_called("value that is too large, too deeply nested or of no known form", False)(None, -1, "")


ENDS = (StopIteration, StopAsyncIteration)
# Kinds of objects that are named to a student. A name of the student's own could tell what a hidden test tried
KINDS = {name for name, kind in vars(builtins).items() if isinstance(kind, type)}
KINDS |= {"function", "builtin_function_or_method", "generator", "module", "partial", "DataFrame", "Series"}
KINDS |= {"dict_keys", "dict_values", "dict_items"}


def student_error(kind: str, text: str) -> Exception:
    """The student's exception as one of the same name here, so that tests can expect it.

    An end of iteration is not: it would end a ``map`` over a function of the student's as if all had been seen.
    """
    base = getattr(builtins, kind, None)
    if isinstance(base, type) and issubclass(base, Exception) and not issubclass(base, ENDS):
        with contextlib.suppress(Exception):
            return base(text)
    return StudentError(f"{kind}: {text}")


def refuse(value: Any) -> dict[str, Any]:
    """What the judge sends for an argument that is not plain data: the student's own object back, or nothing."""
    if isinstance(value, Opaque):
        return {"t": "object", "v": [value._number, value.__name__, callable(value)]}
    raise WireError(f"a test passes a {type(value).__name__}, which is not plain data")


def clean_outputs(outputs: Any, room: int) -> tuple[list[dict[str, Any]], int]:
    """Rebuild outputs from what the student's process sent, by whitelist and as far as there is room for them.

    Returns
    -------
    tuple of list of dict and int
        The outputs, and the room that is left.
    """
    clean = []
    for output in outputs if type(outputs) is list else []:
        rebuilt = clean_output(output) if type(output) is dict else None
        if rebuilt is None or room < 0:
            continue
        room -= len(str(rebuilt))
        if room < 0:
            rebuilt = {"output_type": "stream", "name": "stderr", "text": "… the rest of the output was cut off\n"}
        clean.append(rebuilt)
    return clean, room


def clean_output(output: dict[str, Any]) -> dict[str, Any] | None:
    """Rebuild an output; None if it is of no known kind."""
    kind = output.get("output_type")
    if kind == "stream":
        name = "stderr" if output.get("name") == "stderr" else "stdout"
        return {"output_type": "stream", "name": name, "text": text_in(output, "text")}
    if kind == "error":
        lines = output.get("traceback")
        lines = [line for line in lines if type(line) is str] if type(lines) is list else []
        ename, evalue = text_in(output, "ename")[:200], text_in(output, "evalue")[:1000]
        return {"output_type": "error", "ename": ename, "evalue": evalue, "traceback": lines}
    if kind in ("display_data", "execute_result") and type(output.get("data")) is dict:
        data = {mime: text for mime in MIME_TYPES if (text := text_in(output["data"], mime))}
        result = {"output_type": kind, "data": data, "metadata": {}}
        return result | ({"execution_count": None} if kind == "execute_result" else {})
    return None


def text_in(message: dict[str, Any], key: str) -> str:
    """A text of a message; empty if it is something else."""
    return text if type(text := message.get(key)) is str else ""


# Judging one submission


@dataclass
class Verdict:
    """What came of one cell.

    Parameters
    ----------
    outputs : list of dict
        In the notebook format. A test that did not pass has an error output with plain lines; a test that gives a part
        of its points has them as its result.
    stopped : str
        Why it did not run to its end, as the end of a sentence; empty if it did.
    """

    outputs: list[dict[str, Any]] = field(default_factory=list)
    stopped: str = ""

    @property
    def failed(self) -> bool:
        """Whether it did not run to its end without an exception."""
        return any(output["output_type"] == "error" for output in self.outputs)


class CourseFault(Exception):
    """One of the course's own cells failed before the student's code had any part in it."""


def judge(cells: list[dict[str, Any]], student: Student) -> Iterator[tuple[int, Verdict]]:
    """Run the cells of a restored notebook in order.

    Parameters
    ----------
    cells : list of dict
        Each with ``role``: "student", "locked" (the master's, without points), "test" or "text"; ``source``; and
        ``points`` of a test.
    student : Student
        The process for everything that is not the master's; its limits bind tests, too.

    Yields
    ------
    tuple of int and Verdict
        One for each cell, with its place: tests come last. All that a notebook shows was then made before any function
        of the student's saw a hidden input, so that no output can give one away.

    Raises
    ------
    CourseFault
        If a locked cell fails here, or in the sandbox before any of the student's cells.
    """
    space: dict[str, Any] = {"__name__": "__main__", "__builtins__": builtins}
    tests: list[Test] = []
    inner, theirs = set(), False
    for place, cell in enumerate(cells):
        theirs |= cell["role"] == "student"
        verdict = Verdict()
        if cell["role"] == "locked":
            inner |= run_here(place + 1, cell["source"], space, student.limits)
        if cell["role"] in ("locked", "student"):
            verdict = run_there(cell["source"], student)
            if not theirs and verdict.failed:
                raise CourseFault(f"Cell {place + 1} fails without the student: {verdict.outputs[-1]['evalue']}")
        elif cell["role"] == "test":
            test = Test(place, cell, dict(space))
            verdict = settle(partial(prepare, test, inner, student), student)
            if not verdict.failed:
                tests.append(test)
                continue
        yield place, verdict
    for test in tests:
        space.clear()  # itself, since the master's functions look their names up in it
        space.update(test.scope)
        yield test.place, settle(partial(carry_out, test, space, student), student)


def run_there(source: str, student: Student) -> Verdict:
    """Run a cell in the sandbox."""
    try:
        outputs, interrupted = student.run(source)
    except Stopped as stopped:
        return Verdict([failure("Stopped", f"The cell did not run to its end: {stopped}.")], str(stopped))
    return Verdict(outputs, f"it ran longer than {student.limits.cell:g} s" if interrupted else "")


def run_here(number: int, source: str, space: dict[str, Any], limits: Limits) -> set[str]:
    """Run a locked cell here too, if it needs nothing of the student's: tests need its imports and helpers.

    Returns
    -------
    set of str
        What its functions will look for when a test calls them.
    """
    now, inner, own = names_in(source)
    if not all(name in space or hasattr(builtins, name) for name in now - own):
        return set()
    try:
        with quiet(), time_limit(limits.cell):
            exec(compile(source, f"<cell {number}>", "exec"), space)
    except (Exception, TestTimeout) as error:
        if not (isinstance(error, NameError) and error.name in inner):  # one that is the student's to define
            raise CourseFault(f"Cell {number} fails without the student: {one_line(error)}") from error
    return inner


@dataclass
class Test:
    """A test that waits until all cells have run.

    Parameters
    ----------
    place : int
        Of the cell in the notebook.
    cell : dict
        With ``source`` and ``points``.
    scope : dict
        All names that it finds, by their values at this place.
    theirs : list of str
        Those with stand-ins in them.
    """

    place: int
    cell: dict[str, Any]
    scope: dict[str, Any]
    theirs: list[str] = field(default_factory=list)


def prepare(test: Test, inner: set[str], student: Student) -> list[dict[str, Any]]:
    """Get what a test needs of the student's, as it is before later cells change it. There are no outputs."""
    now, later, _ = names_in(test.cell["source"])
    needed = [name for name in sorted(now | later | inner) if name not in test.scope and not hasattr(builtins, name)]
    if needed:
        values, test.theirs = student.mark(test.place, needed)
        test.scope.update(values)
    return []


def carry_out(test: Test, space: dict[str, Any], student: Student) -> list[dict[str, Any]]:
    """Run a test here; its outputs are the score's only evidence."""
    if test.theirs:
        space.update(student.back(test.place, test.theirs))
    return part_of_points(run_and_value(test.cell["source"], space), test.cell["points"])


def settle(step: Callable[[], list[dict[str, Any]]], student: Student) -> Verdict:
    """Do a step of a test, and say what came of it."""
    left = min(student.limits.cell, student.end - time.monotonic())
    try:
        with quiet(), time_limit(left):
            return Verdict(step())
    except Stopped as stopped:
        return Verdict([failure("Stopped", f"This test counts 0: {stopped}.")], str(stopped))
    except TestTimeout:
        student.stop()  # it may be in the middle of an answer
        whole = left == student.limits.cell  # what is left may tell how long a function took
        reason = f"it ran longer than {left:g} s" if whole else "the submission's time was used up"
        return Verdict([failure("Stopped", f"This test counts 0: {reason}.")], reason)
    except NameError as error:
        text = f"`{error.name}` is not defined. Was its cell deleted, or did it stop with an error?"
        return Verdict([failure("NameError", text if error.name else one_line(error))])
    except Exception as error:  # a test fails in any way it likes
        return Verdict([failure(type(error).__name__, one_line(error))])


def part_of_points(value: Any, points: float) -> list[dict[str, Any]]:
    """The outputs for what a test's last line gave: nothing for all points, a number for a part of them.

    Anything else is a fault of the test's. It counts 0, lest an answer that got that far pass for points.
    """
    if value is None:
        return []
    if isinstance(value, np.generic | np.ndarray) and np.ndim(value) == 0:
        value = value.item()
    if type(value) not in (int, float) or not -math.inf < value < math.inf:
        return [failure("NoScore", "The result of this test is not a number of points, so it counts 0.")]
    score = repr(float(min(max(value, 0), points)))
    return [{"output_type": "execute_result", "data": {"text/plain": score}, "metadata": {}, "execution_count": None}]


def run_and_value(source: str, scope: dict[str, Any]) -> Any:
    """Run a test's source; give the value of its last expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<test>", "exec"), scope)
    return None if last is None else eval(compile(ast.Expression(last.value), "<test>", "eval"), scope)


def names_in(source: str) -> tuple[set[str], set[str], set[str]]:
    """The names that a cell reads as it runs, those that its functions read when they are called, and those it sets.

    What it imports is in none but the last: that cannot be the student's.
    """
    try:
        top = symtable.symtable(source, "<cell>", "exec")
    except SyntaxError:  # magics and the like
        return set(), set(), set()
    now = {symbol.get_name() for symbol in top.get_symbols() if symbol.is_referenced()}
    later: set[str] = set()
    tables = [(child, False) for child in top.get_children()]
    while tables:
        table, called = tables.pop()
        called |= table.get_type() == "function" and not table.get_name().endswith(("comp", "genexpr"))
        reads = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_referenced() and symbol.is_global()}
        (later if called else now).update(reads)
        tables += [(child, called) for child in table.get_children()]
    imported = {symbol.get_name() for symbol in top.get_symbols() if symbol.is_imported()}
    own = {symbol.get_name() for symbol in top.get_symbols() if symbol.is_assigned()} | imported
    return now - imported, later - imported, own


def one_line(error: BaseException) -> str:
    """What an exception says, in a line or a few, without where it was raised."""
    try:
        text = str(error).strip()
    except Exception:
        text = ""
    plain = isinstance(error, AssertionError | StudentError | Objection)
    text = text[:1500] if plain else f"{type(error).__name__}: {text[:500]}"
    return text or "The test failed."


def failure(name: str, text: str) -> dict[str, Any]:
    """An error output with plain lines instead of a traceback."""
    return {"output_type": "error", "ename": name, "evalue": text, "traceback": text.splitlines()}


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Drop what a test prints: it would show hidden inputs."""
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
        yield


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise TestTimeout in the block when it takes too long."""

    def ring(*_: Any) -> None:
        raise TestTimeout

    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-6), 0.1)  # again, should a destructor swallow the exception
    # one huge multiplication hears no alarm; the signal of the processor's timer ends this process
    signal.setitimer(signal.ITIMER_PROF, max(seconds, 0) + GRACE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.setitimer(signal.ITIMER_PROF, 0)


# The service


def serve(descriptor: int, limits: Limits) -> None:
    """Judge one submission after the other, each in a forked process, until the worker hangs up."""
    channel = Channel(socket.socket(fileno=descriptor))
    try:
        zygote = Zygote(limits)
    except SandboxMissing as missing:
        channel.send({"refused": str(missing)})
        return
    ready_to_fork()
    channel.send({"ready": True})
    with contextlib.suppress(Gone):
        while True:
            zygote, spare = launched(zygote, limits)  # it is ready when the next submission comes
            job = channel.receive()
            if not waiting(spare):
                zygote, spare = launched(zygote, limits)
            pid, reply = in_a_fork(job, zygote, spare, limits)
            channel.send(reply)
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)  # which takes a while, as there is memory to be freed
    zygote.close()


def launched(zygote: Zygote, limits: Limits) -> tuple[Zygote, Launched]:
    """Launch a notebook's process, in another sandbox if this one has ended."""
    if zygote.process.poll() is not None:
        zygote = Zygote(limits)
    return zygote, zygote.launch()


def waiting(spare: Launched) -> bool:
    """Tell whether a process that was launched ahead is still there."""
    try:
        return spare[0].recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def in_a_fork(job: dict[str, Any], zygote: Zygote, spare: Launched, limits: Limits) -> tuple[int, dict[str, Any]]:
    """Judge a submission in a process of its own, whose end is the caller's business."""
    near, far = (Channel(side) for side in socket.socketpair())
    pid = os.fork()
    if pid == 0:
        near.close()
        judge_and_exit(job, zygote, spare, limits, far)
    for side in (far, *spare):
        side.close()
    verdicts, end = [None] * len(job["cells"]), time.monotonic() + limits.total + 4 * GRACE + 10
    try:
        for _ in verdicts:
            reply = near.receive(max(0.0, end - time.monotonic()))
            if "failed" in reply:
                return pid, reply
            verdicts[reply["place"]] = reply["verdict"]
    except WireError:
        os.kill(pid, signal.SIGKILL)
        if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT).si_status != signal.SIGPROF:
            return pid, {"failed": "judging this submission did not come to an end"}
        reason = "an answer kept its test busy and could not be interrupted"
        lost = asdict(Verdict([failure("Stopped", f"This test counts 0: {reason}.")], reason))
        verdicts = [verdict or lost for verdict in verdicts]
    finally:
        near.close()
    return pid, {"verdicts": verdicts}


def judge_and_exit(job: dict[str, Any], zygote: Zygote, spare: Launched, limits: Limits, channel: Channel) -> None:
    """Send the verdicts one by one, so that those before an answer that ends this process stay."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        resource.setrlimit(resource.RLIMIT_AS, [pages * resource.getpagesize() + MEMORY] * 2)
        student = Student(zygote, limits, [tuple(pair) for pair in job.get("files", [])], spare)
        for place, verdict in judge(job["cells"], student):
            channel.send({"place": place, "verdict": asdict(verdict)})
    except CourseFault as fault:
        channel.send({"failed": str(fault)})
    except Exception:
        traceback.print_exc()
    finally:
        os._exit(0)


class Service:
    """A judge service in a process of its own, for a worker.

    Parameters
    ----------
    limits : Limits
        What a submission may use.

    Raises
    ------
    SandboxMissing
        If the sandbox does not come up; nothing is graded then.
    """

    def __init__(self, limits: Limits = Limits()) -> None:  # noqa: B008  it is frozen
        self.limits = limits
        near, far = socket.socketpair()
        fields = [f"{name}={value}" for name, value in asdict(limits).items()]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "grading.judge", str(far.fileno()), *fields],
            pass_fds=[far.fileno()],
            process_group=0,  # Ctrl-C is for the worker, which then hangs up
        )
        far.close()
        self.channel = Channel(near)
        try:
            hello = self.channel.receive(120)
        except WireError:
            hello = {"refused": "The judge does not start."}
        if "refused" in hello:
            self.close()
            raise SandboxMissing(hello["refused"])

    def judge(self, cells: list[dict[str, Any]], files: list[tuple[str, bytes]] = ()) -> list[Verdict]:
        """Judge a restored notebook: see :func:`judge`.

        Raises
        ------
        RuntimeError
            If that is not possible, by no fault of the student's.
        WireError
            If the judge was lost. The service is then closed.
        """
        try:
            self.channel.send({"cells": cells, "files": [list(pair) for pair in files]})
            reply = self.channel.receive(self.limits.total + PATIENCE)
        except WireError:
            self.close()
            raise
        if "failed" in reply:
            raise RuntimeError(reply["failed"])
        return [Verdict(**verdict) for verdict in reply["verdicts"]]

    def close(self) -> None:
        """End the service and its sandbox."""
        self.channel.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(GRACE)
        self.process.kill()
        self.process.wait()


if __name__ == "__main__":
    given = dict(field.split("=") for field in sys.argv[2:])
    serve(
        int(sys.argv[1]),
        Limits(**{k: float(v) if k in ("cell", "call", "total") else int(v) for k, v in given.items()}),
    )
