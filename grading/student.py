"""The student's side of grading: runs inside the sandbox, trusts nobody's code and is trusted by nobody.

``python -m grading.student FD`` is the zygote. It imports what notebooks use once, then forks a contained process for
every notebook it is asked for:

    zygote ── supervisor ── init (pid 1 of new namespaces) ── the notebook's process

The judge's requests, by their ``op``: ``put`` files, ``run`` a cell, ``mark`` a place in the notebook and give names as
they are there, go ``back`` to it, ``call`` a function.

The supervisor sees the memory of all that the notebook starts and ends it when told to. When the notebook's process
ends, so does its init, and with it everything that was left running.
"""

from __future__ import annotations

import contextlib
import copy
import ctypes
import errno
import gc
import importlib
import io
import json
import os
import random
import resource
import select
import signal
import socket
import struct
import sys
import traceback
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from grading.wire import MIME_TYPES, Channel, Gone, WireError, decode, encode

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = (
    *(0x00020000, 0x04000000, 0x08000000),
    *(0x10000000, 0x20000000, 0x40000000),
)
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 0x1000, 0x4000, 0x40000
MAP_SHARED, MAP_ANONYMOUS, MADV_COLLAPSE = 0x01, 0x20, 25
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS = 1, 4, 38
# Nothing that a notebook needs, and each a way into the kernel or into other processes.
FORBIDDEN_CALLS = (
    *("ptrace", "process_vm_readv", "process_vm_writev", "kcmp", "pidfd_getfd", "bpf", "perf_event_open"),
    *("userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register", "keyctl", "add_key", "request_key"),
    *("mount", "umount2", "pivot_root", "move_mount", "open_tree", "fsopen", "fsmount", "fsconfig", "mount_setattr"),
    *("unshare", "setns", "chroot", "name_to_handle_at", "open_by_handle_at", "quotactl", "swapon", "swapoff"),
    *("init_module", "finit_module", "delete_module", "kexec_load", "reboot", "syslog", "acct", "personality"),
)
# Memory that belongs to no process, so that nobody could count it.
FORBIDDEN_CALLS += ("memfd_create", "memfd_secret", "shmget", "semget", "msgget")
# What answers and tests use; parts of NumPy and SymPy are else imported at their first use, in every fork
USED = ("normlib.catalogue", "numpy.ma", "numpy.random", "numpy.testing", "sympy.tensor.tensor")
WORK = Path("/notebook")  # the notebook's folder, in memory
libc = ctypes.CDLL(None, use_errno=True)


# The zygote


def main() -> None:
    """Warm up, say so, and fork a process for each notebook asked for."""
    control = socket.socket(fileno=int(sys.argv[1]))
    libc.prctl(PR_SET_DUMPABLE, 0)
    shell = warm_up()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for supervisors
    control.sendall(b"r")
    while True:
        request, descriptors, _, _ = socket.recv_fds(control, 65536, 2)
        if not request:
            return
        if os.fork() == 0:
            control.close()
            with last_words():
                supervise(*descriptors, json.loads(request), shell)
        for descriptor in descriptors:
            os.close(descriptor)


def warm_up() -> Any:
    """Import what notebooks use and make the shell that every notebook's process starts with."""
    from IPython.core.interactiveshell import InteractiveShell  # noqa: PLC0415
    from traitlets.config import Config  # noqa: PLC0415

    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "NoColor"
    shell = make_shell_class(InteractiveShell).instance(config=config)
    shell.enable_matplotlib("inline")
    for source in ("import matplotlib.pyplot; matplotlib.pyplot.plot([1, 2])", "1 / 0", "print(1)\n1"):
        shell.run_cell(source, store_history=False)  # imports what drawing, tracebacks and printing need
    shell.reset(new_session=True)
    forbidding()
    ready_to_fork()
    return shell


def ready_to_fork() -> None:
    """Make forks of this process cheap: hundreds of them are to come, and each gets a copy of its page tables."""
    for name in USED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # a collection in a fork would copy every page
    # huge pages, where memory allows: one entry in the tables then stands for 512. Only the cost depends on it
    size = 2 * 2**20
    for line in Path("/proc/self/maps").read_text().splitlines():
        place, rights, _, _, inode, *_ = line.split(maxsplit=5)
        if rights == "rw-p" and inode == "0":
            start, end = (int(address, 16) for address in place.split("-"))
            start, end = -(-start // size) * size, end // size * size
            if end > start:
                libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), MADV_COLLAPSE)


@contextlib.contextmanager
def last_words() -> Iterator[None]:
    """End a forked process with its block, and leave a traceback on the zygote's standard error."""
    try:
        yield
        os._exit(0)
    except Gone:  # the judge has hung up
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(70)


# Containing one notebook


def supervise(channel: int, leash: int, limits: dict[str, Any], shell: Any) -> None:
    """Start the notebook's process in namespaces of its own, and end it when told to or when it takes too much.

    Parameters
    ----------
    channel, leash : int
        Sockets: to the notebook's process, and to this supervisor. A byte ``i`` on the leash interrupts the
        notebook's process, its end kills it. Before it ends, the supervisor says on the leash why.
    limits : dict
        ``memory`` in bytes for all processes together, ``processes``, ``scratch`` in bytes, ``cpu`` in seconds; and
        ``readable``, the folders that must stay in sight.
    shell : object
        The warmed-up shell.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    uid, gid = os.getuid(), os.getgid()
    flags = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS
    # RLIMIT_NPROC counts within a user namespace up to the limit set when it was made
    resource.setrlimit(resource.RLIMIT_NPROC, (limits["processes"] + 8, limits["processes"] + 8))
    libc.prctl(PR_SET_DUMPABLE, 1)  # else /proc/self belongs to root and the maps cannot be written
    _system(libc.unshare(flags), "unshare")
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"1000 {uid} 1")
    Path("/proc/self/gid_map").write_text(f"1000 {gid} 1")
    init = os.fork()
    if init == 0:
        with last_words():
            os.close(leash)
            become_init(channel, limits, shell)
    os.close(channel)
    sock = socket.socket(fileno=leash)
    reason = watch(init, sock, limits["memory"])
    with contextlib.suppress(ProcessLookupError):
        os.kill(init, signal.SIGKILL)
    _, status = os.waitpid(init, 0)
    with contextlib.suppress(OSError):
        sock.sendall((reason or describe_exit(os.waitstatus_to_exitcode(status))).encode())


def watch(init: int, leash: socket.socket, memory: int) -> str | None:
    """Wait until the notebook's processes end or must end; return why, or None when they ended by themselves."""
    while True:
        ready, _, _ = select.select([leash], [], [], 0.05)
        if ready:
            word = leash.recv(1)
            if not word:
                return "it was ended"
            for child in children(init)[:1]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, signal.SIGINT)
        if os.waitid(os.P_PID, init, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            return None
        if used_memory(init) > memory:
            return f"it took more than {memory // 2**20} MB of memory"


def describe_exit(code: int) -> str:
    """Say how the notebook's process ended: without its number, which could tell what a test tried."""
    names = {137: "it was killed", 139: "it crashed (segmentation fault)", 152: "it used too much processor time"}
    return names.get(code, "it ended the program")


def children(pid: int) -> list[int]:
    """The child processes of a process, whichever of its threads started them."""
    found = []
    for tasks in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += map(int, tasks.read_text().split())
    return found


def used_memory(init: int) -> int:
    """The memory of everything that a notebook started, in bytes; pages shared with the zygote count in part."""
    total, stack = 0, children(init)
    while stack:
        pid = stack.pop()
        stack += children(pid)
        try:
            resident = int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()
        except OSError:
            continue
        if resident > 150 * 2**20:  # exact, too slow for every look, and a process can shut it off
            with contextlib.suppress(OSError, StopIteration):
                rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
                resident = next(int(line.split()[1]) * 1024 for line in rollup.splitlines() if line.startswith("Pss:"))
        total += resident
    return total


def become_init(channel: int, limits: dict[str, Any], shell: Any) -> None:
    """Be pid 1 of the new namespaces: prepare them, give up all rights, start the notebook's process, wait for it."""
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.setsid()  # a signal to one's own process group crosses namespaces
    _system(libc.unshare(CLONE_NEWNS), "unshare")  # here, so that the supervisor keeps its view of /proc
    prepare_filesystem(limits["scratch"], limits["readable"])
    socket.sethostname("sandbox")
    give_up_rights(limits)
    worker = os.fork()
    if worker == 0:
        with last_words():
            serve(Channel(socket.socket(fileno=channel)), shell)
    os.close(channel)
    while True:
        pid, status = os.wait()  # others are orphans; they are only collected
        if pid == worker:
            code = os.waitstatus_to_exitcode(status)
            os._exit(code if code >= 0 else 128 - code)


def prepare_filesystem(scratch: int, readable: list[str]) -> None:
    """Mount fresh, capped folders in memory over every place that can be written to.

    What must stay readable may lie under such a place, as the course does when it stands in /tmp.
    """
    fresh = ((WORK, scratch, "0700"), (Path("/tmp"), scratch, "1777"), (Path("/dev/shm"), 2**20, "1777"))
    hidden = [Path(path) for path in readable if any(place in Path(path).parents for place, _, _ in fresh)]
    kept = [(path, os.open(path, os.O_PATH)) for path in hidden]
    _mount(None, "/", None, MS_REC | MS_PRIVATE, None)
    for place, size, mode in fresh:
        options = f"size={size},nr_inodes=4096,mode={mode},uid=1000,gid=1000"
        _mount("tmpfs", str(place), "tmpfs", MS_NOSUID | MS_NODEV, options)
    for path, descriptor in kept:
        path.mkdir(parents=True)
        _mount(f"/proc/self/fd/{descriptor}", str(path), None, MS_BIND | MS_REC, None)
        os.close(descriptor)
    _mount("tmpfs", "/proc", "tmpfs", MS_NOSUID | MS_NODEV | MS_RDONLY, "size=0")  # other processes are not to be seen
    _mount("/dev/null", "/dev/zero", None, MS_BIND, None)  # it gives memory that is not counted
    os.chdir(WORK)


def give_up_rights(limits: dict[str, Any]) -> None:
    """Drop every capability for good, set the caps of a single process, and forbid system calls."""
    _system(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    header, none = struct.pack("II", 0x20080522, 0), bytes(24)  # version 3 of the interface, this process, no rights
    _system(libc.capset(header, none), "capset")
    for name, value in (
        ("RLIMIT_AS", limits["memory"] * 4),  # address space, much of it never touched; the supervisor counts memory
        ("RLIMIT_CPU", limits["cpu"]),
        ("RLIMIT_FSIZE", limits["scratch"]),
        ("RLIMIT_NPROC", limits["processes"]),
        ("RLIMIT_NOFILE", 256),
        ("RLIMIT_CORE", 0),
        ("RLIMIT_MEMLOCK", 0),
        ("RLIMIT_MSGQUEUE", 0),
    ):
        resource.setrlimit(getattr(resource, name), (value, value))
    forbidding().load()


@cache
def forbidding() -> Any:
    """The filter against system calls. It takes a while to make, so that the zygote makes it for all its forks."""
    import pyseccomp  # noqa: PLC0415

    filters = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    for name in FORBIDDEN_CALLS:
        with contextlib.suppress(ValueError, RuntimeError):  # a call that this kernel's library does not know
            filters.add_rule(pyseccomp.ERRNO(errno.EPERM), name)
    masked = pyseccomp.Arg(0, pyseccomp.MASKED_EQ, CLONE_NEWUSER, CLONE_NEWUSER)
    filters.add_rule(pyseccomp.ERRNO(errno.EPERM), "clone", masked)
    # its flags are out of a filter's sight; libc then uses clone
    filters.add_rule(pyseccomp.ERRNO(errno.ENOSYS), "clone3")
    shared = MAP_SHARED | MAP_ANONYMOUS  # such memory stays when a process lets go of it, and is then not counted
    filters.add_rule(pyseccomp.ERRNO(errno.EPERM), "mmap", pyseccomp.Arg(3, pyseccomp.MASKED_EQ, shared, shared))
    return filters


def _mount(source: str | None, target: str, kind: str | None, flags: int, options: str | None) -> None:
    text = [None if part is None else part.encode() for part in (source, target, kind, options)]
    _system(libc.mount(text[0], text[1], text[2], ctypes.c_ulong(flags), text[3]), f"mount {target}")


def _system(result: int, what: str) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


# Inside: running cells and answering for the notebook's values


class Outputs:
    """The outputs of one cell in the notebook format, up to a size."""

    def __init__(self, limit: int = 4 * 2**20) -> None:
        self.limit = limit
        self.items: list[dict[str, Any]] = []

    def add(self, output: dict[str, Any], size: int) -> None:
        """Keep an output if there is room for it; say once that there is none."""
        if self.limit < 0:
            return
        self.limit -= size
        if self.limit < 0:
            output = {"output_type": "stream", "name": "stderr", "text": "… the rest of the output was cut off\n"}
        self.items.append(output)

    def write(self, name: str, text: str) -> None:
        """Add text to a stream."""
        text = text[: max(0, self.limit) + 1]
        last = self.items[-1] if self.items else {}
        if last.get("output_type") == "stream" and last["name"] == name and self.limit >= len(text):
            self.limit -= len(text)
            last["parts"].append(text)
        else:
            self.add({"output_type": "stream", "name": name, "parts": [text]}, len(text))

    def show(self, kind: str, data: dict[str, Any], **more: Any) -> None:
        """Add rich output, of the known MIME types only."""
        data = {mime: text_of(data[mime]) for mime in MIME_TYPES if mime in data}
        self.add({"output_type": kind, "data": data, "metadata": {}, **more}, sum(map(len, data.values())))

    def finished(self) -> list[dict[str, Any]]:
        """The outputs, with the pieces of each stream joined."""
        for item in self.items:
            if "parts" in item:
                item["text"] = "".join(item.pop("parts"))
        return self.items


def text_of(data: Any) -> str:
    """What a MIME bundle holds, as text: images in base64."""
    if isinstance(data, bytes):
        import base64  # noqa: PLC0415

        return base64.b64encode(data).decode()
    return str(data)


class Stream(io.TextIOBase):
    """A text stream that ends up in the cell's outputs."""

    def __init__(self, name: str) -> None:
        self.name, self.outputs = name, Outputs(0)

    def writable(self) -> bool:  # noqa: D102
        return True

    def write(self, text: str) -> int:  # noqa: D102
        self.outputs.write(self.name, str(text))
        return len(text)


def make_shell_class(base: type) -> type:
    """IPython's shell with its displays and tracebacks kept as outputs."""
    from IPython.core.displayhook import DisplayHook  # noqa: PLC0415
    from IPython.core.displaypub import DisplayPublisher  # noqa: PLC0415
    from traitlets import Type  # noqa: PLC0415

    class Publisher(DisplayPublisher):
        outputs = None

        def publish(self, data: dict[str, Any], metadata: Any = None, **_: Any) -> None:
            self.shell.outputs.show("display_data", data)

        def clear_output(self, wait: bool = False) -> None:
            self.shell.outputs.items.clear()

    class Hook(DisplayHook):
        def __call__(self, result: Any = None) -> None:
            if result is not None and not self.quiet():
                data, _ = self.compute_format_data(result)
                self.update_user_ns(result)
                self.shell.outputs.show("execute_result", data, execution_count=self.shell.execution_count)

    class Shell(base):
        outputs = Outputs(0)
        display_pub_class = Type(Publisher)
        displayhook_class = Type(Hook)

        def _showtraceback(self, etype: type, evalue: BaseException, stb: Any) -> None:
            lines = stb if isinstance(stb, list) else [str(stb)]
            text = "\n".join(lines)[:20_000]
            error = {"output_type": "error", "ename": etype.__name__, "evalue": safe_text(evalue)}
            self.outputs.add({**error, "traceback": text.split("\n")}, len(text))

        def enable_gui(self, gui: str | None = None) -> None:
            """Nothing to do: figures are shown inline."""

    return Shell


def safe_text(error: BaseException) -> str:
    """What an exception says, whatever its ``__str__`` does."""
    try:
        return str(error)[:500]
    except BaseException:
        return "(no text)"


def why_unreadable(error: Exception) -> str:
    """Why a value cannot be given to the judge."""
    return str(error) if type(error) is WireError else f"it cannot be read ({type(error).__name__[:100]})"


def snapshot(space: dict[str, Any]) -> dict[str, Any]:
    """A copy of a namespace: small containers and arrays, too, which later cells may change in place."""
    import numpy as np  # noqa: PLC0415

    def small(value: Any) -> bool:
        return (
            value.nbytes <= 2**20
            if type(value) is np.ndarray
            else type(value) in (list, dict, set) and len(value) < 1000
        )

    own = {name: value for name, value in space.items() if not name.startswith("_") and small(value)}
    own.pop("In", None)  # IPython's own history
    own.pop("Out", None)
    with contextlib.suppress(Exception):
        own = copy.deepcopy(own)  # together, so that two names of one list stay that
    return {**space, **own}


class Notebook:
    """A notebook's process: its namespace, and the objects that the judge holds numbers of."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.streams = Stream("stdout"), Stream("stderr")
        self.objects: list[Any] = []
        self.marks: dict[int, dict[str, Any]] = {}

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Do what the judge asks: run a cell, mark a place or go back to it, or call a function."""
        return getattr(self, f"do_{request['op']}")(request)

    def do_put(self, request: dict[str, Any]) -> dict[str, Any]:
        """Write the files of the assignment into the notebook's folder, and seed what draws without a seed.

        The seed is one for all processes of a submission: else a restart would draw other numbers.
        """
        import numpy as np  # noqa: PLC0415

        np.random.seed(request["seed"])
        random.seed(request["seed"])
        for name, data in request["files"]:
            path = WORK / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        return {}

    def do_run(self, request: dict[str, Any]) -> dict[str, Any]:
        """Run a cell."""
        outputs = self.shell.outputs = Outputs()
        with self.captured(outputs), interruptible():
            try:
                self.shell.run_cell(request["source"], store_history=True)
            except KeyboardInterrupt:
                outputs.add({"output_type": "error", "ename": "KeyboardInterrupt", "evalue": "", "traceback": []}, 0)
            except SystemExit:
                pass
        return {"outputs": outputs.finished()}

    def do_mark(self, request: dict[str, Any]) -> dict[str, Any]:
        """Remember what all names stand for at this place of the notebook, and give those asked for."""
        self.marks[request["mark"]] = snapshot(self.shell.user_ns)
        return self.values(request["names"])

    def do_back(self, request: dict[str, Any]) -> dict[str, Any]:
        """Let all names stand for what they stood for at a place; functions look theirs up there."""
        self.shell.user_ns.clear()
        self.shell.user_ns.update(self.marks[request["mark"]])
        return self.values(request["names"])

    def values(self, names: list[str]) -> dict[str, Any]:
        """Give those names that the notebook defines."""
        space, values, refused = self.shell.user_ns, {}, {}
        for name in names:
            if name in space:
                try:
                    values[name] = encode(space[name], self.remember)
                except Exception as error:
                    refused[name] = why_unreadable(error)
        return {"values": values, "refused": refused}

    def do_call(self, request: dict[str, Any]) -> dict[str, Any]:
        """Call a function on plain data; whatever it prints is dropped, since it would carry the tests' inputs."""
        from normlib.checking import Borrowing  # noqa: PLC0415

        function = self.objects[request["number"]]
        args = decode(request["args"], self.recall)
        kwargs = decode(request["kwargs"], self.recall)
        before = copy.deepcopy(args)
        borrowing = Borrowing()
        with self.captured(Outputs(-1)), interruptible():
            try:
                with borrowing:
                    value = function(*args, **kwargs)
            except BaseException as error:
                return {"error": [type(error).__name__[:100], safe_text(error)], "borrowed": borrowing.seen}
            changed = encode(before, self.forget) != encode(args, self.forget)
            return {"value": encode(value, self.remember), "borrowed": borrowing.seen, "changed": changed}

    @contextlib.contextmanager
    def captured(self, outputs: Outputs) -> Iterator[None]:
        """Send the standard streams into outputs, also those that the student's code took hold of in earlier cells."""
        for stream in self.streams:
            stream.outputs = outputs
        sys.stdout, sys.stderr = self.streams
        try:
            yield
        finally:
            sys.stdout, sys.stderr = self.streams
            for stream in self.streams:
                stream.outputs = Outputs(-1)

    def remember(self, value: Any) -> dict[str, Any]:
        """Keep an object that is not plain data, and give its number."""
        self.objects.append(value)
        return {"t": "object", "v": [len(self.objects) - 1, type(value).__name__[:100], callable(value)]}

    def recall(self, number: int, name: str, callable_: bool) -> Any:
        """The object that a number of the judge's stands for."""
        return self.objects[number]

    def forget(self, value: Any) -> dict[str, Any]:
        """A message for an object whose identity does not matter."""
        return {"t": "object", "v": [-1, type(value).__name__[:100], callable(value)]}


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Let the supervisor's interrupt reach the student's code, and only that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def serve(channel: Channel, shell: Any) -> None:
    """Answer the judge's requests, one after the other, until it hangs up."""
    silence = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(silence, descriptor)
    os.environ.update(HOME=str(WORK), MPLCONFIGDIR=str(WORK / ".matplotlib"))
    notebook = Notebook(shell)
    sys.stdout, sys.stderr = notebook.streams
    while True:
        request = channel.receive()
        try:
            reply = notebook.answer(request)
            channel.send({"id": request["id"], **reply})
        except Exception as error:  # what cannot be read, such as an object whose class lies
            channel.send({"id": request["id"], "refused_value": why_unreadable(error)})
        except KeyboardInterrupt:
            channel.send({"id": request["id"], "error": ["KeyboardInterrupt", ""], "outputs": []})


if __name__ == "__main__":
    main()
