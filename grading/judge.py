"""The judge: runs the master's tests, and asks the student's process for the answers they need.

``python -m grading.judge FD`` is the service that a grading worker keeps. For every submission it forks a process that
runs the cells in order: the student's in the sandbox, the tests here. A test passes when it ran to its end without an
exception; nothing that the student's process says can stand for that.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import gc
import math
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from grading.sandbox import Limits, SandboxMissing, Zygote
from grading.wire import Channel, Gone, Late, WireError, decode, encode

MAX_RESTARTS = 6  # of a notebook's process, after it ended or had to be ended
GRACE = 1.5  # seconds that an interrupted cell has before its process is ended


class Stopped(BaseException):
    """The student's process did not answer; the message says why, as the end of a sentence.

    Like TestTimeout it ends the test: no ``except Exception`` in a test holds it up.
    """


class StudentError(Exception):
    """A student's function raised an exception."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


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
    """

    def __init__(self, zygote: Zygote, limits: Limits, files: list[tuple[str, bytes]]) -> None:
        self.zygote, self.limits, self.files = zygote, limits, files
        self.end = time.monotonic() + limits.total
        self.done: list[str] = []  # cells to run again after a restart
        self.restarts = -1
        self.channel: Channel | None = None
        self.number = 0

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
        channel, self.leash = self.zygote.launch()
        self.channel = Channel(channel)
        if self.files:
            self.ask({"op": "put", "files": self.files}, self.limits.cell)
        for source in self.done:
            self.ask({"op": "run", "source": source}, self.limits.cell)

    def run(self, source: str) -> tuple[list[dict[str, Any]], bool]:
        """Run a cell; give its outputs, and whether it was interrupted.

        A cell that was interrupted or ended the process is left out when the process is started again.
        """
        reply = self.ask({"op": "run", "source": source}, self.limits.cell)
        interrupted = "interrupted" in reply
        if not interrupted:
            self.done.append(source)
        return clean_outputs(reply.get("outputs")), interrupted

    def get(self, names: list[str]) -> dict[str, Any]:
        """Give those names that the student defined, as plain data or stand-ins."""
        reply = self.ask({"op": "get", "names": names}, self.limits.call)
        values = {}
        for name in names:
            if name in reply.get("values", {}):
                try:
                    values[name] = decode(reply["values"][name], self.stand_in)
                except WireError as error:
                    values[name] = unusable(f"`{name}`: {error}.")
            elif name in reply.get("refused", {}):
                values[name] = unusable(f"`{name}`: {str(reply['refused'][name])[:100]}.")
        return values

    def call(self, number: int, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, bool]:
        """Call a student's function; give its value and whether normlib's functions did the work."""
        request = {"op": "call", "number": number, "args": encode(args, refuse), "kwargs": encode(kwargs, refuse)}
        reply = self.ask(request, self.limits.call)
        if "interrupted" in reply:
            raise Stopped(f"it ran longer than {self.limits.call:g} s")
        if "error" in reply:
            kind, text = (str(part)[:300] for part in reply["error"])
            raise student_error(kind, text)
        if "refused_value" in reply:
            raise StudentError(f"`{name}` returned something that cannot be read: {str(reply['refused_value'])[:100]}.")
        if "args" in reply:
            copy_back(args, decode(reply["args"], lambda *_: None))
        return decode(reply.get("value"), self.stand_in), reply.get("borrowed") is True

    def stand_in(self, number: int, name: str, callable_: bool) -> Any:
        """Make what stands for an object of the student's."""
        kind = type(name if name.isidentifier() else "object", (StandIn,) if callable_ else (Opaque,), {})
        return kind(self, number, name)

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
            raise Stopped(f"it ran longer than {timeout:.3g} s and could not be interrupted") from None
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
            self.leash.sendall(b"i")
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

    def _refuse(self, *_: Any) -> Any:
        raise StudentError(f"this is a {self.__name__}, which a test cannot look into. Give plain numbers or arrays.")

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __len__ = __iter__ = __getitem__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __float__ = _refuse
    __array__ = __contains__ = __abs__ = __neg__ = _refuse
    __hash__ = None


class StandIn(Opaque):
    """Stands for a student's function: calls go to the student's process and come back as plain data."""

    borrowed = False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the student's function with plain data."""
        value, borrowed = self._student.call(self._number, self.__name__, args, kwargs)
        self.borrowed |= borrowed
        return value


def unusable(text: str) -> Opaque:
    """What stands for a value that could not be brought over."""
    kind = type("unreadable", (Opaque,), {"_refuse": lambda self, *_: (_ for _ in ()).throw(StudentError(text))})
    return kind(None, -1, "unreadable")


def student_error(kind: str, text: str) -> Exception:
    """The student's exception as one of the same name here, so that tests can expect it."""
    base = getattr(builtins, kind, None)
    if isinstance(base, type) and issubclass(base, Exception):
        with contextlib.suppress(Exception):
            return base(text)
    return StudentError(f"{kind}: {text}")


def refuse(value: Any) -> dict[str, Any]:
    """What the judge sends for an argument that is not plain data: the student's own object back, or nothing."""
    if isinstance(value, Opaque):
        return {"t": "object", "v": [value._number, value.__name__, callable(value)]}
    raise WireError(f"a test passes a {type(value).__name__}, which is not plain data")


def copy_back(before: Any, after: Any) -> None:
    """Bring changes that a function made in its arguments over to the judge's own."""
    for old, new in zip(before, after, strict=False):
        if isinstance(old, np.ndarray) and isinstance(new, np.ndarray) and old.shape == new.shape:
            np.copyto(old, new, casting="unsafe")
        elif isinstance(old, list) and isinstance(new, list):
            old[:] = new
        elif isinstance(old, dict) and isinstance(new, dict):
            old.clear()
            old.update(new)
        elif isinstance(old, tuple) and isinstance(new, tuple):
            copy_back(old, new)


def clean_outputs(outputs: Any) -> list[dict[str, Any]]:
    """Rebuild outputs from what the student's process sent, by whitelist."""
    clean = []
    for output in outputs if type(outputs) is list else []:
        if type(output) is not dict:
            continue
        kind = output.get("output_type")
        if kind == "stream":
            name = "stderr" if output.get("name") == "stderr" else "stdout"
            clean.append({"output_type": "stream", "name": name, "text": str(output.get("text", ""))})
        elif kind == "error":
            lines = output.get("traceback")
            lines = [str(line) for line in lines] if type(lines) is list else []
            ename, evalue = str(output.get("ename", ""))[:200], str(output.get("evalue", ""))[:1000]
            clean.append({"output_type": "error", "ename": ename, "evalue": evalue, "traceback": lines})
        elif kind in ("display_data", "execute_result") and type(output.get("data")) is dict:
            data = {str(k): v for k, v in output["data"].items() if type(v) is str}
            result = {"output_type": kind, "data": data, "metadata": {}}
            clean.append(result | ({"execution_count": None} if kind == "execute_result" else {}))
    return clean


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


def judge(cells: list[dict[str, Any]], student: Student, limits: Limits) -> list[Verdict]:
    """Run the cells of a restored notebook in order.

    Parameters
    ----------
    cells : list of dict
        Each with ``role``: "student", "locked" (the master's, without points), "test" or "text"; ``source``; and
        ``points`` of a test.
    student : Student
        The process for everything that is not the master's.
    limits : Limits
        How long a test may take.

    Returns
    -------
    list of Verdict
        One a cell.

    Raises
    ------
    CourseFault
        If a locked cell fails here, or in the sandbox before any of the student's cells.
    """
    space: dict[str, Any] = {"__name__": "__main__", "__builtins__": builtins}
    verdicts, theirs = [], False
    for number, cell in enumerate(cells, 1):
        theirs |= cell["role"] == "student"
        if cell["role"] == "locked":
            run_here(number, cell["source"], space, limits)
        if cell["role"] in ("locked", "student"):
            verdicts.append(run_there(cell["source"], student))
            if not theirs and verdicts[-1].failed:
                raise CourseFault(f"Cell {number} fails without the student: {verdicts[-1].outputs[-1]['evalue']}")
        else:
            verdicts.append(run_test(cell, space, student, limits) if cell["role"] == "test" else Verdict())
    return verdicts


def run_there(source: str, student: Student) -> Verdict:
    """Run a cell in the sandbox."""
    try:
        outputs, interrupted = student.run(source)
    except Stopped as stopped:
        return Verdict([failure("Stopped", f"The cell did not run to its end: {stopped}.")], str(stopped))
    return Verdict(outputs, f"it ran longer than {student.limits.cell:g} s" if interrupted else "")


def run_here(number: int, source: str, space: dict[str, Any], limits: Limits) -> None:
    """Run a locked cell here too, if it needs nothing of the student's: tests need its imports and helpers."""
    if not all(name in space or hasattr(builtins, name) for name in free_names(source)):
        return
    try:
        with quiet(), time_limit(limits.cell):
            exec(compile(source, f"<cell {number}>", "exec"), space)
    except (Exception, TestTimeout) as error:
        raise CourseFault(f"Cell {number} fails without the student: {one_line(error)}") from error


def run_test(cell: dict[str, Any], space: dict[str, Any], student: Student, limits: Limits) -> Verdict:
    """Run a test here; its outputs are the score's only evidence."""
    scope = dict(space)  # a test leaves nothing behind for the next one
    try:
        needed = [name for name in free_names(cell["source"]) if name not in space and not hasattr(builtins, name)]
        scope.update(student.get(needed) if needed else {})
        with quiet(), time_limit(limits.cell):
            value = run_and_value(cell["source"], scope)
    except Stopped as stopped:
        return Verdict([failure("Stopped", f"This test counts 0: {stopped}.")], str(stopped))
    except TestTimeout:
        student.stop()  # it may be in the middle of an answer
        reason = f"it ran longer than {limits.cell:g} s"
        return Verdict([failure("Stopped", f"This test counts 0: {reason}.")], reason)
    except NameError as error:
        text = f"`{error.name}` is not defined. Was its cell deleted, or did it stop with an error?"
        return Verdict([failure("NameError", text if error.name else one_line(error))])
    except Exception as error:  # a test fails in any way it likes
        return Verdict([failure(type(error).__name__, one_line(error))])
    return Verdict(part_of_points(value, cell["points"]))


def part_of_points(value: Any, points: float) -> list[dict[str, Any]]:
    """The outputs for what a test's last line gave: nothing for all points, a number for a part of them."""
    if isinstance(value, np.generic | np.ndarray) and np.ndim(value) == 0:
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, int | float):
        return []
    if not math.isfinite(value):
        return [failure("NoScore", f"The test gave {value} points and counts 0.")]
    score = min(max(float(value), 0.0), float(points))
    return [
        {"output_type": "execute_result", "data": {"text/plain": repr(score)}, "metadata": {}, "execution_count": None}
    ]


def run_and_value(source: str, scope: dict[str, Any]) -> Any:
    """Run a test's source; give the value of its last expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<test>", "exec"), scope)
    return None if last is None else eval(compile(ast.Expression(last.value), "<test>", "eval"), scope)


def free_names(source: str) -> list[str]:
    """The names that a cell reads, in order, without those it only writes."""
    try:
        tree = ast.parse(source)
    except SyntaxError:  # magics and the like
        return []
    names = (node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load))
    bound = {alias.asname or alias.name.split(".")[0] for node in ast.walk(tree) for alias in getattr(node, "names", ())
             if isinstance(alias, ast.alias)}  # fmt: skip
    return [name for name in dict.fromkeys(names) if name not in bound]


def one_line(error: BaseException) -> str:
    """What an exception says, in a line or a few, without where it was raised."""
    try:
        text = str(error).strip()
    except Exception:
        text = ""
    plain = isinstance(error, AssertionError | StudentError)
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
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


# The service


def serve(descriptor: int, limits: Limits) -> None:
    """Judge one submission after the other, each in a forked process, until the worker hangs up."""
    import sympy  # noqa: F401, PLC0415  once, before the forks

    import normlib.catalogue  # noqa: F401, PLC0415

    channel = Channel(socket.socket(fileno=descriptor))
    try:
        zygote = Zygote(limits)
    except SandboxMissing as missing:
        channel.send({"refused": str(missing)})
        return
    channel.send({"ready": True})
    gc.collect()
    gc.freeze()
    with contextlib.suppress(Gone):
        while True:
            job = channel.receive()
            channel.send(in_a_fork(job, zygote, limits))
    zygote.close()


def in_a_fork(job: dict[str, Any], zygote: Zygote, limits: Limits) -> dict[str, Any]:
    """Judge a submission in a process of its own, which is ended if it outlives its time."""
    near, far = (Channel(end) for end in socket.socketpair())
    pid = os.fork()
    if pid == 0:
        try:
            near.close()
            student = Student(zygote, limits, [tuple(pair) for pair in job.get("files", [])])
            far.send({"verdicts": [asdict(verdict) for verdict in judge(job["cells"], student, limits)]})
        except CourseFault as fault:
            far.send({"failed": str(fault)})
        finally:
            os._exit(0)
    far.close()
    try:
        return near.receive(limits.total + 4 * GRACE + 10)
    except WireError:
        return {"failed": "judging this submission did not come to an end"}
    finally:
        near.close()
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


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
            [sys.executable, "-m", "grading.judge", str(far.fileno()), *fields], pass_fds=[far.fileno()]
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
        """
        self.channel.send({"cells": cells, "files": [list(pair) for pair in files]})
        reply = self.channel.receive()
        if "failed" in reply:
            raise RuntimeError(reply["failed"])
        return [Verdict(**verdict) for verdict in reply["verdicts"]]

    def close(self) -> None:
        """End the service and its sandbox."""
        self.channel.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(3)
        self.process.kill()
        self.process.wait()


if __name__ == "__main__":
    given = dict(field.split("=") for field in sys.argv[2:])
    serve(
        int(sys.argv[1]),
        Limits(**{k: float(v) if k in ("cell", "call", "total") else int(v) for k, v in given.items()}),
    )
