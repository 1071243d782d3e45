"""Starting the student's side in bubblewrap: nothing of the course, of other students or of the network in sight."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import sysconfig
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

import normlib

HERE = Path(__file__).resolve().parent
# As root, the sandbox gives root up first, since limits on processes do not bind it; they count by user, so that each
# sandbox has one of its own, from a range that nobody uses
NOBODY = 0x70000000


@dataclass(frozen=True)
class Limits:
    """What one submission may use.

    Parameters
    ----------
    cell : float
        Seconds of wall time a cell may run.
    call : float
        Seconds of wall time that a test waits for one call of a student's function.
    total : float
        Seconds of wall time for a whole submission.
    cpu : int
        Seconds of processor time of one process.
    memory : int
        Bytes, all processes together.
    scratch : int
        Bytes of files.
    processes : int
        Processes and threads at once.
    """

    cell: float = 30.0
    call: float = 10.0
    total: float = 300.0
    cpu: int = 300
    memory: int = 1024 * 2**20
    scratch: int = 64 * 2**20
    processes: int = 64


Launched = tuple[socket.socket, socket.socket]  # the channel to a notebook's process, the leash to its supervisor


class SandboxMissing(RuntimeError):
    """The machine cannot contain submissions; the message says in one line what is missing."""


def command(descriptor: int) -> list[str]:
    """The command line that starts the zygote in bubblewrap.

    Parameters
    ----------
    descriptor : int
        The number of the inherited control socket.

    Raises
    ------
    SandboxMissing
        If this is not Linux, bubblewrap is not installed, or notebooks could read the course.
    """
    bwrap = shutil.which("bwrap")
    if sys.platform != "linux" or bwrap is None:
        raise SandboxMissing(
            "Submissions are graded in a sandbox, which needs Linux and bubblewrap (apt install bubblewrap)."
        )
    if (HERE.parent / "solutions").is_dir():
        hidden(HERE.parent)
    arguments = [bwrap, "--die-with-parent", "--new-session", "--unshare-pid", "--unshare-net", "--unshare-ipc"]
    arguments += [
        "--unshare-uts",
        "--unshare-cgroup-try",
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        "--perms",
        "1777",
        "--tmpfs",
        "/tmp",
    ]
    arguments += ["--dir", "/notebook"]
    for path in readable():
        for parent in reversed(path.parents):  # bubblewrap would make them for the owner only
            arguments += ["--perms", "0755", "--dir", str(parent)]
        arguments += ["--ro-bind", str(path), str(path)]
    for link in ("/bin", "/lib", "/lib64", "/sbin"):
        if Path(link).is_symlink():
            arguments += ["--symlink", os.readlink(link), link]
        elif Path(link).is_dir():
            arguments += ["--ro-bind", link, link]
    arguments += ["--perms", "0755", "--dir", "/course", "--perms", "0755", "--dir", "/course/grading"]
    arguments += ["--ro-bind", str(HERE / "wire.py"), "/course/grading/wire.py"]
    arguments += ["--ro-bind", str(HERE / "student.py"), "/course/grading/student.py"]
    arguments += [
        "--ro-bind",
        str(Path(normlib.__file__).parent),
        "/course/normlib",
        "--remount-ro",
        "/",
        "--remount-ro",
        "/dev",
    ]
    python = [sys.executable, "-s", "-P", "-m", "grading.student", str(descriptor)]
    if os.geteuid() == 0:
        arguments += ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
        nobody = NOBODY + os.getpid()
        drop = [
            "setpriv",
            f"--reuid={nobody}",
            f"--regid={nobody}",
            "--clear-groups",
            "--no-new-privs",
            "--inh-caps=-all",
        ]
        return [*arguments, "--", *drop, "--", *python]
    return [*arguments, "--unshare-user", "--", *python]


def hidden(folder: Path) -> None:
    """Make sure that notebooks cannot read a folder.

    Raises
    ------
    SandboxMissing
        If it lies where the interpreter and its packages are, which they must be able to read.
    """
    for path in readable():
        if path.resolve() in (folder.resolve(), *folder.resolve().parents):
            raise SandboxMissing(
                f"Submissions could read {folder}, since they must read {path}, where Python and its packages are. "
                "Move one of the two: `make setup` makes an environment that does not hold the course."
            )


def readable() -> list[Path]:
    """The folders with the interpreter and its packages: all that a notebook can read besides its own files."""
    paths = {
        Path("/usr"),
        Path(sys.base_prefix).resolve(),
        Path(sys.prefix),
        Path("/etc/ld.so.cache"),
        Path("/etc/fonts"),
    }
    paths |= {Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib")}
    # bubblewrap binds in order; a folder inside another needs no bind of its own
    outer = [path for path in sorted(paths) if path.exists()]
    return [path for path in outer if not any(other in path.parents for other in outer)]


ENVIRONMENT = {
    "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
    "PYTHONPATH": "/course",
    "HOME": "/tmp",
    "IPYTHONDIR": "/tmp/ipython",
    "MPLCONFIGDIR": "/tmp/matplotlib",
    "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    "LANG": "C.UTF-8",
    "PYTHONDONTWRITEBYTECODE": "1",
    # one thread: namespaces can only be left by a process that has one, and submissions share the cores anyway
    **{f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "OMP", "MKL")},
}


class Zygote:
    """The warmed-up process in the sandbox.

    Parameters
    ----------
    limits : Limits
        What each notebook may use.

    Raises
    ------
    SandboxMissing
        If the sandbox does not come up.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.readable = [str(path) for path in readable()]
        self.control, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # numpy's choice of kernels is the machine's owner's, not the student's
        environment = ENVIRONMENT | {
            k: v for k, v in os.environ.items() if k.startswith("OPENBLAS_") and "THREADS" not in k
        }
        self.said = tempfile.TemporaryFile()  # noqa: SIM115  it lives as long as the sandbox
        self.process = subprocess.Popen(
            command(other.fileno()),
            pass_fds=[other.fileno()],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self.said,
            cwd="/",
        )
        other.close()
        if self.control.recv(1) != b"r":
            raise SandboxMissing(f"The sandbox does not start: {self.last_line() or 'it says nothing'}.")

    def last_line(self) -> str:
        """The last line that the sandbox wrote to its standard error."""
        self.said.seek(0)
        return (self.said.read(2**20).decode(errors="replace").strip().splitlines() or [""])[-1]

    def launch(self) -> Launched:
        """Start a notebook's process.

        Returns
        -------
        tuple of socket
            The channel to the process, and the leash to its supervisor.
        """
        channel, far_channel = socket.socketpair()
        leash, far_leash = socket.socketpair()
        request = json.dumps({**asdict(self.limits), "readable": self.readable}).encode()
        socket.send_fds(self.control, [request], [far_channel.fileno(), far_leash.fileno()])
        far_channel.close()
        far_leash.close()
        return channel, leash

    def close(self) -> None:
        """End the sandbox and everything in it."""
        self.control.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(1)
        self.process.kill()
        self.process.wait()
