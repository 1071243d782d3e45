"""Wrong work that tries to be taken for right, or to do harm: each scores 0 and leaves no trace.

Every attack is the student's cell of a small notebook: `answer` should be 42, `square(x)` should square. None of them
answers rightly. After each one an honest notebook is judged by the same service and gets full marks.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from grading.judge import Service
from grading.sandbox import Limits, SandboxMissing

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))  # last: it has a grading.py, too
import attacks

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox needs Linux")
LIMITS = Limits(cell=4.0, call=2.0, total=40.0, memory=600 * 2**20, scratch=16 * 2**20, processes=32)
SECRET = "sentinel-of-the-hidden-test"
IMPORTS = "import numpy as np"
TEST_VALUE = f"# {SECRET}\nassert answer == 42"
TEST_FUNCTION = f"# {SECRET}\nassert square(7) == 49\nassert np.allclose(square(np.array([2.0, 3.0])), [4, 9])"
HONEST = "answer = 42\ndef square(x):\n    return x * x"


@pytest.fixture(scope="module")
def service():
    service = Service(LIMITS)
    yield service
    service.close()


def judged(service, source, *more):
    """The scores of both tests (1 or 0 each), and everything that the notebook showed."""
    cells = [{"role": "locked", "source": IMPORTS, "points": 0}, {"role": "student", "source": source, "points": 0}]
    cells += [{"role": "student", "source": extra, "points": 0} for extra in more]
    cells += [{"role": "test", "source": test, "points": 1} for test in (TEST_VALUE, TEST_FUNCTION)]
    verdicts = service.judge(cells)
    outputs = [verdict.outputs for verdict in verdicts]
    scores = [int(not verdict.failed) for verdict in verdicts[-2:]]
    return scores, outputs


# The tests' own level: what makes a wrong answer look right
FOOLING = {
    "object equal to everything": """
class Yes:
    def __eq__(self, other): return True
    def __bool__(self): return True
    def __array__(self, *a, **k): return np.array([4.0, 9.0])
answer = Yes()
def square(x): return Yes()""",
    "array that answers for NumPy": """
class Yes(np.ndarray):
    def __eq__(self, other): return True
    def __array_function__(self, f, types, args, kwargs): return True
    def __array_ufunc__(self, *args, **kwargs): return True
answer = np.array(1).view(Yes)
def square(x): return np.array([0.0, 0.0]).view(Yes)""",
    "number that equals everything": """
class Yes(float):
    def __eq__(self, other): return True
    def __hash__(self): return 0
answer = Yes(1)
def square(x): return Yes(1)""",
    "patched allclose and assert": """
np.allclose = lambda *a, **k: True
np.testing.assert_allclose = lambda *a, **k: None
import builtins
builtins.abs = lambda x: 0
builtins.all = lambda x: True
answer = 1
def square(x): return 0""",
    "asserts taken out of the syntax tree": """
import ast
class Drop(ast.NodeTransformer):
    def visit_Assert(self, node): return ast.Pass()
get_ipython().ast_transformers.append(Drop())
answer = 1
def square(x): return 0""",
    "cells rewritten before they run": """
get_ipython().input_transformers_cleanup.append(lambda lines: ["pass\\n"])
answer = 1
def square(x): return 0""",
    "tracebacks switched off": """
get_ipython().showtraceback = lambda *a, **k: None
get_ipython()._showtraceback = lambda *a, **k: None
get_ipython().run_code = lambda *a, **k: None
answer = 1
def square(x): return 0""",
    "exceptions swallowed by a hook": """
import sys
sys.excepthook = lambda *a: None
get_ipython().set_custom_exc((Exception,), lambda *a: None)
answer = 1
def square(x): return 0""",
    "answers by the number of the call": """
answer = 1
calls = 0
def square(x):
    global calls
    calls += 1
    return 49 if calls == 1 else 0""",
    "answers by the caller": """
import sys, inspect
answer = 1
def square(x):
    frame, names = sys._getframe(), []
    while frame:
        names.append(frame.f_code.co_filename)
        for value in frame.f_locals.values():
            if isinstance(value, (int, float)) and value == 49: return value
        frame = frame.f_back
    return names""",
    "tests looked for in the history": """
import gc
answer = 1
def square(x):
    seen = [s for s in get_ipython().user_ns.get("In", []) if "sentinel" in s]
    print(seen)
    return seen or [o for o in gc.get_objects() if isinstance(o, str) and "sentinel" + "-of" in o][:1]""",
    "returns that are huge": """
answer = 10**10**6
def square(x): return list(range(10**7))""",
    "returns that are deep": """
answer = []
for _ in range(5000): answer = [answer]
def square(x): return answer""",
    "returns that hold themselves": """
answer = []
answer.append(answer)
def square(x): return {"me": answer}""",
    "returns full of NaN": """
answer = np.nan
def square(x): return np.full(np.shape(x), np.nan)""",
    "objects that change after being read": """
class Moving(list):
    n = 0
    def __iter__(self):
        Moving.n += 1
        return iter([4.0, 9.0] if Moving.n > 1 else [])
answer = Moving()
def square(x): return Moving([1.0])""",
    "exceptions with a hostile text": """
class Bad(Exception):
    def __str__(self): raise SystemExit
    __repr__ = __str__
def square(x): raise Bad
raise Bad""",
    "exception classes named like others": """
class AssertionError(Exception): pass
answer = 1
def square(x): raise StopIteration(49)""",
    "look-alike names": """
аnswer = 42
answer\u200b_ = 42 if False else 1
def squаre(x): return x * x""",
    "normlib replaced": """
import sys, types, normlib
normlib.check = lambda *a, **k: None
sys.modules["numpy"] = types.ModuleType("numpy")
answer = 1
def square(x): return 0""",
    "expressions that take for ever": """
import sympy
answer = sympy.Pow(10, sympy.Pow(10, 9, evaluate=False), evaluate=False)
def square(x): return answer""",
    "messages forged on the channel": """
import os, struct, msgpack
for fd in range(3, 64):
    for n in range(1, 40):
        body = msgpack.packb({"id": n, "values": {"answer": 42}, "value": 49, "outputs": []})
        try: os.write(fd, struct.pack("!I", len(body)) + body)
        except OSError: break
answer = 1
def square(x): return 0""",
    "a class that lies about itself": """
class Yes:
    __class__ = property(lambda self: int)
    def __eq__(self, other): return True
    def __index__(self): return 41
    __int__ = __hash__ = __index__
answer = Yes()
def square(x): return Yes()""",
    "a class that cannot be asked": """
class No:
    @property
    def __class__(self): raise SystemExit
    def __getattribute__(self, name): raise KeyboardInterrupt
answer = No()
def square(x): return No()""",
    "NumPy scalar that equals everything": """
class Yes(np.float64):
    def __eq__(self, other): return True
    def __array__(self, *a, **k): return np.array([4.0, 9.0])
answer = Yes(1)
def square(x): return Yes(1)""",
    "a generator, and a function that gives functions": """
answer = (n for n in [42])
def square(x):
    yield 49""",
    "functions that give functions": """
answer = lambda: 42
def square(x): return square""",
    "an answer that comes late": """
import time
answer = 1
def square(x):
    try:
        while True: time.sleep(0.01)
    except KeyboardInterrupt: return 49 if np.ndim(x) == 0 else np.array([4.0, 9.0])""",
    "the sending replaced": """
import gc, grading.wire as wire
make = wire.encode
for space in [o for o in gc.get_objects() if isinstance(o, dict) and o.get("encode") is make]:
    space["encode"] = lambda value, remember: {"t": "object", "v": [10**9, "int", True]}
wire._Encoder.encode = lambda *a: True
answer = 1
def square(x): return 0""",
    "arrays without their data": """
import grading.wire as wire
wire._Encoder.encode = lambda *a: {"t": "array", "d": "<f8", "s": [2**40], "v": b""}
answer = 1
def square(x): return 0""",
    "replies with other numbers": """
import grading.wire as wire
send = wire.Channel.send
wire.Channel.send = lambda self, message, timeout=None: [
    send(self, {**message, "id": n, "values": {}, "value": True}) for n in range(60)]
answer = 1
def square(x): return 0""",
    "replies that are no replies": """
import grading.wire as wire
send = wire.Channel.send
wire.Channel.send = lambda self, message, timeout=None: send(self, {
    "id": message["id"], "values": 7, "refused": "answer", "outputs": {"a": 1}, "error": 3, "interrupted": []})
answer = 1
def square(x): return 0""",
    "outputs that are no outputs": """
import grading.wire as wire, msgpack, os, struct
send, deep = wire.Channel.send, b"\\x91" * 1000 + b"\\x90"
def raw(self, message, timeout=None):
    key = msgpack.packb
    body = b"\\x82" + key("id") + key(message["id"]) + key("outputs") + b"\\x91\\x82" + key("output_type")
    body += key("stream") + key("text") + deep
    self.sock.send(struct.pack("!I", len(body)) + body)
wire.Channel.send = raw
answer = 1
def square(x): return 0""",
    "a message that is announced and never comes": """
import os, struct
for fd in range(3, 64):
    try: os.write(fd, struct.pack("!I", 2**24))
    except OSError: pass""",
    "a message of two million lists": """
import grading.wire as wire, struct
def flood(self, message, timeout=None):
    body = struct.pack("!BI", 0xDD, 2 * 10**6) + bytes([0x90]) * (2 * 10**6)
    self.sock.setblocking(True)
    self.sock.sendall(struct.pack("!I", len(body)) + body)
wire.Channel.send = flood""",
    "the checking replaced": """
import normlib.checking as checking
checking.Borrowing.__exit__ = lambda self, *a: True
checking.Borrowing.__enter__ = lambda self: setattr(self, "seen", False) or self
answer = 1
def square(x): raise AssertionError""",
    "frames changed by a tracer": """
import sys
def tracer(frame, event, arg):
    for name in ("value", "answer", "expected"):
        if name in frame.f_locals: frame.f_locals[name] = 49
    return tracer
sys.settrace(tracer); sys.setprofile(tracer)
answer = 1
def square(x):
    sys.settrace(tracer)
    return 0""",
    "things to do after a cell": """
import atexit, os
def answers(*a):
    get_ipython().user_ns["answer"] = 41
    get_ipython().user_ns["square"] = lambda x: 0
for event in ("pre_execute", "post_execute", "pre_run_cell", "post_run_cell"):
    get_ipython().events.register(event, answers)
atexit.register(lambda: os.write(3, bytes(100)))
answers()""",
    "numbers that collide in a set": """
answer = {n * (2**61 - 1) for n in range(5000)}
def square(x): return {n * (2**61 - 1) for n in range(5000)}""",
    "a symbol whose name is a program": """
import sympy
answer = sympy.Symbol("__import__('os')._exit(0)")
def square(x): return sympy.Symbol("x); raise SystemExit(") + 1""",
    "products of huge powers": """
import sympy
huge = sympy.Pow(10, sympy.Pow(10, 8, evaluate=False), evaluate=False)
answer = sympy.Mul(huge, sympy.Symbol("x"), 3, evaluate=False)
def square(x): return sympy.floor(sympy.exp(sympy.exp(22), evaluate=False), evaluate=False)""",
    "calling oneself for ever": """
answer = 1
def square(x): return square(x)""",
    "names with invisible letters": """
globals()["answer\u200b"] = 42
globals()["square\u200d"] = lambda x: x * x""",
    "a namespace that gives everything": """
class Space(dict):
    def __contains__(self, name): return True
    def __getitem__(self, name): return 1
get_ipython().user_ns = Space()""",
}
FOOLING |= {
    f"{error} as an answer": f"answer = 1\ndef square(x): raise {error}"
    for error in (
        "StopIteration",
        "MemoryError",
        "KeyboardInterrupt",
        "SystemExit(0)",
        "GeneratorExit",
        "RecursionError",
    )
}
FOOLING |= {
    "a traceback without end": """
def square(x): raise ValueError("x" * 10**8)
error = None
for n in range(3000):
    try:
        try: raise ValueError("x" * 1000) from error
        except ValueError as new: raise
    except ValueError as new: error = new
raise error""",
}


@pytest.mark.parametrize("name", FOOLING)
def test_wrong_work_is_not_taken_for_right(service, name):
    scores, outputs = judged(service, FOOLING[name])
    # a forged message can carry a constant, as the cell itself could; it cannot square numbers that it has not seen
    assert scores[1] == 0
    assert scores[0] == 0 or name == "messages forged on the channel"
    assert SECRET not in str(outputs)
    assert judged(service, HONEST)[0] == [1, 1]


ENDING = {
    "exit": "import os; os._exit(0)",
    "exit inside the function": "import os\nanswer = 1\ndef square(x): os._exit(0)",
    "kill oneself": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "kill everybody": "import os, signal; os.kill(-1, signal.SIGKILL)",
    "kill the parent": "import os, signal\nos.kill(os.getppid(), signal.SIGKILL); os.kill(1, signal.SIGKILL)",
    "crash": "import ctypes; ctypes.string_at(0)",
    "sys.exit": "import sys; sys.exit(0)",
    "endless loop": "while True: pass",
    "endless loop that cannot be interrupted": """
import time
while True:
    try:
        while True: time.sleep(0.01)
    except BaseException: pass""",
    "endless loop inside the function": """
answer = 1
def square(x):
    while True:
        try:
            while True: pass
        except BaseException: pass""",
    "memory": "x = [bytearray(2**24) for _ in range(1000)]",
    "memory of many processes": """
import os
for _ in range(12):
    if os.fork() == 0:
        x = bytearray(150 * 2**20)
        import time; time.sleep(30)""",
    "fork bomb": "import os\nwhile True: os.fork()",
    "threads": "import threading, time\nfor _ in range(10**4): threading.Thread(target=time.sleep, args=(60,)).start()",
    "disk": "open('big', 'wb').write(bytes(64 * 2**20))",
    "inodes": "for i in range(10**5): open(f'f{i}', 'w').close()",
    "output": "while True: print('x' * 10**5)",
    "descriptors closed": "import os\nos.closerange(0, 256)",
    "left running": """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(60)
    os._exit(0)""",
    "recursion": "import sys\nsys.setrecursionlimit(10**8)\ndef f(): return f()\nf()",
    "kill one's group": "import os, signal; os.kill(0, signal.SIGKILL)",
    "stop oneself": "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)",
    "stop one's group": "import os, signal; os.kill(0, signal.SIGSTOP)",
    "limits raised": """
import resource
for name in ("RLIMIT_AS", "RLIMIT_NPROC", "RLIMIT_FSIZE", "RLIMIT_CPU"):
    kind = getattr(resource, name)
    try: resource.setrlimit(kind, (-1, -1))
    except (ValueError, OSError): continue
    answer = 42
    square = lambda x: x * x
x = [bytearray(2**24) for _ in range(1000)]""",
    "memory out of the counter's sight": """
import ctypes, time
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
x = bytearray(700 * 2**20)
time.sleep(1)
answer = 42
def square(x): return x * x""",
    "memory of a thread's child": """
import os, threading, time
def work():
    if os.fork() == 0:
        x = bytearray(700 * 2**20)
        time.sleep(2)
        os._exit(0)
    time.sleep(2)
thread = threading.Thread(target=work)
thread.start(); thread.join()
answer = 42
def square(x): return x * x""",
    "memory that belongs to nobody": """
import os
files = []
for _ in range(80):
    files.append(os.memfd_create("x"))
    os.write(files[-1], bytes(10 * 2**20))
answer = 42
def square(x): return x * x""",
    "memory that is let go and stays": """
import mmap
held = []
for _ in range(8):
    held.append(mmap.mmap(-1, 100 * 2**20))
    held[-1].write(bytes(100 * 2**20)); held[-1].madvise(mmap.MADV_DONTNEED)
answer = 42
def square(x): return x * x""",
    "memory from /dev/zero": """
import mmap
held = []
file = open("/dev/zero", "r+b")
for _ in range(8):
    held.append(mmap.mmap(file.fileno(), 100 * 2**20))
    held[-1].write(bytes(100 * 2**20)); held[-1].madvise(mmap.MADV_DONTNEED)
answer = 42
def square(x): return x * x""",
    "shared memory of System V": """
import ctypes
libc = ctypes.CDLL(None)
if libc.shmget(0, 2**20, 0o1600) >= 0:
    answer = 42
    def square(x): return x * x""",
    "a child that keeps the connection": """
import os, time
if os.fork() == 0:
    os.setsid()
    time.sleep(60)
os._exit(0)""",
    "terminals, sockets and pipes": """
import os, socket
held, makers = [], [os.openpty, os.pipe, socket.socketpair]
for maker in makers * 100: held.append(maker())""",
    "alarms": """
import signal
signal.signal(signal.SIGALRM, lambda *a: None)
signal.setitimer(signal.ITIMER_REAL, 1e-4, 1e-4)
while True: pass""",
    "everything deleted": "import shutil\nfor d in ('/', '/usr', '/tmp', '/notebook'): shutil.rmtree(d, True)",
}


@pytest.mark.parametrize("name", ENDING)
def test_a_program_that_ends_or_never_ends_costs_only_itself(service, name):
    scores, outputs = judged(service, ENDING[name])
    assert scores == [0, 0]
    assert all(part[0]["evalue"] for part in outputs[-2:])
    assert judged(service, HONEST)[0] == [1, 1]


# Tests that are written less carefully than they could be: the judge holds them all the same
LOCKED = "import numpy as np\ndef near(a, b):\n    return bool(np.all(np.abs(np.asarray(a) - b) < 1e-9))"
CARELESS = {
    "an end of iteration in a map": (
        "def square(x): raise StopIteration",
        "assert all(map(lambda x: square(x) == x * x, [2, 3]))",
    ),
    "an end of iteration in a zip": (
        "def square(x): raise StopIteration",
        "for got, right in zip(map(square, [2, 3]), [4, 9]):\n    assert got == right",
    ),
    "the course's helper replaced": (
        "near = lambda a, b: True\ndef square(x): return 0",
        "assert near(square(3.0), 9)",
    ),
    "the input changed so that it fits": (
        "def square(x):\n    x[...] = 0\n    return x",
        "x = np.array([2.0, 3.0])\nassert np.allclose(square(x), x**2)",
    ),
    "the input changed and not told": (
        "def square(x):\n    y = x * x\n    x[...] = 0\n    return y",
        "x = np.array([2.0, 3.0])\nbefore = x.copy()\nsquare(x)\nassert np.array_equal(x, before)",
    ),
}


@pytest.mark.parametrize("name", CARELESS)
def test_a_careless_test_is_not_fooled_either(service, name):
    source, test = CARELESS[name]

    def passed(answer):
        cells = [{"role": role, "source": text, "points": 1} for role, text in
                 (("locked", LOCKED), ("student", answer), ("test", test))]  # fmt: skip
        return not service.judge(cells)[-1].failed

    assert not passed(source)
    assert passed(HONEST)


def test_a_helper_of_the_course_may_call_what_the_student_writes(service):
    locked = "helper_calls = []\ndef twice(x):\n    helper_calls.append(1)\n    return square(square(x))"
    cells = [{"role": "locked", "source": locked, "points": 0}, {"role": "student", "source": HONEST, "points": 0}]
    cells += [{"role": "test", "source": "assert twice(3) == 81", "points": 1}]
    cells += [{"role": "test", "source": "assert twice(3) == 82", "points": 1}]
    assert [verdict.failed for verdict in service.judge(cells)[2:]] == [False, True]


@pytest.mark.parametrize("name", ["exit", "kill oneself", "crash", "endless loop", "memory", "everything deleted"])
def test_what_stands_in_other_cells_still_counts(service, name):
    assert judged(service, HONEST, ENDING[name])[0] == [1, 1]


def test_a_loop_in_one_function_costs_only_its_test(service):
    scores, outputs = judged(
        service, "answer = 42\n" + ENDING["endless loop inside the function"][len("\nanswer = 1") :]
    )
    assert scores == [1, 0]
    assert "longer than" in outputs[-1][0]["evalue"]


# What can be seen and reached


def shown(service, source):
    _, outputs = judged(service, source)
    return "".join(output.get("text", "") + output.get("evalue", "") for output in outputs[1])


def test_nothing_of_the_course_or_the_machine_is_in_sight(service, tmp_path):
    (tmp_path / "gradebook.db").write_text(SECRET)
    root = Path(__file__).resolve().parents[2]
    seen = shown(
        service,
        f"""
import os
for folder in ({str(root)!r}, {str(tmp_path)!r}, "/home", "/var", "/proc", "/sys", "/notebook"):
    try: print(folder, sorted(os.listdir(folder)))
    except OSError as error: print(folder, "no", error.errno)
for name in ("solutions", "exercises", "tests", "gradebook.db", "submitted", ".git"):
    assert not os.path.exists(os.path.join({str(root)!r}, name)), name
print(os.path.exists({str(tmp_path)!r}), os.getuid(), "done")""",
    )
    assert seen.rstrip().endswith("False 1000 done"), seen


def test_the_environment_holds_nothing_of_the_graders(service):
    os.environ["GRADER_TOKEN"] = SECRET
    try:
        fresh = Service(LIMITS)
        _, outputs = judged(fresh, "import os\nprint(dict(os.environ))\nprint(open('/proc/1/environ').read())")
        fresh.close()
    finally:
        del os.environ["GRADER_TOKEN"]
    assert "PATH" in str(outputs)
    assert SECRET not in str(outputs)


def test_no_network_not_even_this_machine(service):
    with socket.create_server(("127.0.0.1", 0)) as server:
        knocked = threading.Event()
        threading.Thread(target=lambda: (server.accept(), knocked.set()), daemon=True).start()
        seen = shown(
            service,
            f"""
import socket
import subprocess
try: socket.create_connection(("127.0.0.1", {server.getsockname()[1]}), 2); print("reached")
except OSError as error: print("denied", error.errno)""",
        )
        assert "denied" in seen
        assert not knocked.is_set()
        socket.create_connection(server.getsockname()).close()


@pytest.mark.parametrize(
    "source",
    [
        "import ctypes\nprint('got', ctypes.CDLL(None, use_errno=True).ptrace(16, 1, 0, 0))",
        "import ctypes\nprint('got', ctypes.CDLL(None).unshare(0x10000000))",
        "import ctypes\nprint('got', ctypes.CDLL(None).mount(b'x', b'/tmp', b'tmpfs', 0, b''))",
        "import ctypes\nprint('got', ctypes.CDLL(None).setns(3, 0))",
        "import os\nos.setuid(0); print('got 0')",
        "import os\nos.chroot('/tmp'); print('got 0')",
        "open('/usr/x', 'w'); print('got 0')",
        "open('/course/normlib/x', 'w'); print('got 0')",
        "import os\nos.mknod('/tmp/sda', 0o60660, os.makedev(8, 0)); print('got 0')",
    ],
)
def test_ways_into_the_system_are_shut(service, source):
    assert "got 0" not in shown(service, source)


@pytest.mark.parametrize(
    "source",
    [
        "import os\nos.makedirs('/notebook/.ipython/profile_default/startup')\n"
        "open('/notebook/.ipython/profile_default/startup/a.py', 'w').write('answer = 42')",
        "open('/notebook/numpy.py', 'w').write('answer = 42'); open('/tmp/sitecustomize.py', 'w').write('answer = 42')",
        "import os\nos.environ['PYTHONPATH'] = '/tmp'; open('/dev/shm/left', 'w').write('x')",
        "import os\nos.makedirs('/notebook/.matplotlib', exist_ok=True)\n"
        "open('/notebook/.matplotlib/matplotlibrc', 'w').write('backend: evil')",
    ],
)
def test_nothing_is_left_for_the_next_notebook(service, source):
    judged(service, source)
    seen = shown(
        service,
        f"""
import os
def left(folder):  # the course itself may stand below it
    return [name for name in os.listdir(folder) if not {sys.prefix!r}.startswith(os.path.join(folder, name))]
print(left("/notebook"), left("/tmp"), left("/dev/shm"), "answer" in globals())""",
    )
    assert seen.strip() == "[] [] [] False"


def test_a_students_module_is_not_imported_before_the_real_one(service):
    scores, _ = judged(service, "open('numpy.py', 'w').write('x = 1')\nimport numpy\nprint(numpy.__file__)", HONEST)
    assert scores == [1, 1]


def test_honest_code_works(service):
    seen = shown(
        service,
        """
import tempfile, threading, warnings, sympy, subprocess, sys
import matplotlib.pyplot as plt
np.testing.assert_allclose([1.0], [1.0])
with tempfile.TemporaryDirectory() as folder: open(folder + "/x", "w").write("σ²")
results = []
thread = threading.Thread(target=lambda: results.append(sympy.simplify("x + x"))); thread.start(); thread.join()
warnings.warn("careful")
plt.plot([1, 2, 3]); plt.show()
%timeit -n1 -r1 sum(range(10))
print(subprocess.run([sys.executable, "-c", "print(6 * 7)"], capture_output=True, text=True).stdout.strip(), results)
print("all of it")""",
    )
    assert "42 [2*x]" in seen
    assert "careful" in seen
    assert seen.rstrip().endswith("all of it")
    _, outputs = judged(service, "import matplotlib.pyplot as plt\nplt.plot([1, 2])")
    assert any("image/png" in o.get("data", {}) for o in outputs[1])


def test_a_socket_of_a_notebook_is_not_there_for_the_next_one(service):
    judged(
        service,
        """
import os, socket, time
if os.fork() == 0:
    os.setsid()
    server = socket.socket(socket.AF_UNIX)
    server.bind(chr(0) + "left"); server.listen()
    time.sleep(60)""",
    )
    seen = shown(service, "import socket\nsocket.socket(socket.AF_UNIX).connect(chr(0) + 'left'); print('reached')")
    assert "refused" in seen
    assert "reached" not in seen


def test_outputs_of_unknown_kinds_are_dropped(service):
    forged = {"output_type": "display_data", "data": {"application/javascript": "x", "text/plain": 5}, "metadata": {}}
    _, outputs = judged(service, f"get_ipython().outputs.items += [{forged}, {{'output_type': 'update_display'}}]")
    assert [output.get("data") for output in outputs[1]] == [{}]


def test_much_output_in_many_cells_is_cut_off(service):
    scores, outputs = judged(service, *["print('x' * 3 * 10**6)"] * 12, HONEST)
    assert scores == [1, 1]
    assert len(str(outputs)) < 8 * 2**20
    assert "cut off" in str(outputs)


def test_half_a_surrogate_pair_harms_nothing(service):
    scores, outputs = judged(service, HONEST + "\nprint('\\ud800 fine')")
    assert scores == [1, 1]
    assert outputs[1][0]["text"] == "? fine\n"


def in_order(service, *cells):
    """The verdicts on cells of which a test starts with ``assert``."""
    roles = ("test" if source.startswith("assert") else "student" for source in cells)
    return service.judge(
        [{"role": role, "source": source, "points": 1} for role, source in zip(roles, cells, strict=True)]
    )


def test_no_later_cell_can_show_what_a_test_called_a_function_with(service):
    keep = "seen = []\ndef double(x):\n    seen.append(x)\n    open('kept', 'a').write(f'{x} ')\n    return 2 * x"
    wait = "import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.3), print(seen))).start()"
    tell = "print(seen, double(1))\nprint(open('kept').read())"
    verdicts = in_order(service, keep, "assert double(7351) == 14702", wait, tell, "assert double(3) == 6", tell)
    assert [verdict.failed for verdict in verdicts] == [False] * 6
    assert verdicts[3].outputs[0]["text"] == "[1] 2\n1 \n"
    assert "7351" not in str(verdicts)


@pytest.mark.parametrize("end", ["os._exit(x)", "os.kill(os.getpid(), x)"])
def test_the_way_a_function_ends_tells_nothing_of_its_input(service, end):
    test = "assert f({}) == 1"
    said = [
        str(in_order(service, f"import os\ndef f(x): {end}", test.format(number))[1]) for number in (10, 12)
    ]  # as signals they are nothing special
    assert "it ended the program" in said[0]
    assert said[0] == said[1]


CHANGED_LATER = {
    "a dict": ("k = {'a': [1]}\ndef f(x): return x * k['a'][0]", "k['a'][0] = 5"),
    "an array": ("k = np.ones(2)\ndef f(x): return x * k.sum() / 2", "k *= 3"),
    "two names of one list": ("k = [1]\nsame = k\ndef f(x):\n    same[0] = 2\n    return x * k[0] / 2", "k[0] = 7"),
}


@pytest.mark.parametrize("name", CHANGED_LATER)
def test_what_a_later_cell_changes_in_place_is_as_it_was_for_the_test(service, name):
    before, after = CHANGED_LATER[name]
    cells = in_order(service, f"import numpy as np\n{before}", "assert f(2) == 2", after, "assert f(2) == 2")
    assert [cell.failed for cell in cells] == [False, False, False, name != "two names of one list"]


def test_a_stream_from_an_earlier_cell_can_still_be_written_to(service):
    keep = "import sys, logging\nout = sys.stdout\nprint('one')\nlogging.basicConfig(stream=out, force=True)"
    more = "def f(x):\n    print('in f', file=out)\n    logging.warning('no')\n    return 2 * x"
    cells = in_order(service, keep, more, "assert f(2) == 4", "print('two', file=out)\nlogging.warning('three')")
    assert [cell.failed for cell in cells] == [False] * 4
    assert cells[3].outputs[0]["text"] == "two\nWARNING:root:three\n"


def test_a_restart_draws_the_same_numbers(service):
    draw = "import numpy as np, random\nw, v = np.random.rand(3), random.random()\ndef f(x): return w * x + v"
    cells = in_order(service, draw, "assert all(f(1) == w + v)", "import os; os._exit(1)")
    assert not cells[1].failed


def test_a_process_launched_ahead_that_is_gone_is_replaced(service):
    assert judged(service, HONEST)[0] == [1, 1]
    time.sleep(0.5)
    family = psutil.Process(service.process.pid).children(recursive=True)
    waiting = [one for one in family if one.uids().real >= 1000 and not one.children()]
    assert waiting
    for one in waiting:
        one.kill()
    time.sleep(0.2)
    assert judged(service, HONEST)[0] == [1, 1]


NOT_ROOT = """
import sys
from grading.judge import Service
cells = [("student", "open('/dev/left', 'w').write('x')"), ("student", "import os; os.unlink('/dev/ptmx')"),
         ("student", "import os; print(sorted(os.listdir('/dev'))); os.openpty(); open('/dev/null', 'w').write('x')")]
verdicts = Service().judge([{"role": role, "source": source, "points": 0} for role, source in cells])
print([verdict.failed for verdict in verdicts], "left" in str(verdicts[2].outputs))
"""


def test_devices_are_nobodys_to_change_even_if_the_grader_is_not_root():
    root = Path(__file__).parents[2]
    command = ["bwrap", "--unshare-user", "--uid", "1000", "--gid", "1000", "--dev-bind", "/", "/", sys.executable]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run([*command, "-c", NOT_ROOT], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1:] == ["[True, True, False] False"], done.stderr


def test_a_test_sees_names_as_they_were_at_its_place(service):
    cells = (
        "k, row, many = 2, [1, 2], (len, 3)\ndef f(x): return k * x\ndef g(x): return f(x) + 1",
        "assert (f(3), g(3), row, many[1], k) == (6, 7, [1, 2], 3, 2)",
        "k = 5\nrow.append(3)\ndef f(x): return -k * x\nlater = 1",
        "assert (f(3), g(3), row, k, later) == (-15, -14, [1, 2, 3], 5, 1)",
        "del f, k",
        "assert g(3) == -14",
    )
    assert [verdict.failed for verdict in in_order(service, *cells)] == [False] * 5 + [True]
    assert in_order(service, cells[0], "assert later == 1", *cells[2:])[1].failed


@pytest.mark.parametrize("end", ["import os; os._exit(1)", "while True: pass", "bytearray(10**10)"])
def test_a_last_cell_that_ends_the_program_takes_nothing_from_the_tests_before_it(service, end):
    verdicts = in_order(
        service, HONEST, "assert square(7) == 49", "answer = 3", "assert (answer, square(2)) == (3, 4)", end
    )
    assert [verdict.failed for verdict in verdicts] == [False] * 4 + [True]


def test_an_answer_that_cannot_be_interrupted_ends_the_tests_after_it_and_not_those_before(service):
    cells = [
        {"role": "student", "source": HONEST, "points": 0},
        {"role": "test", "source": "assert answer == 42", "points": 1},
        {"role": "test", "source": "set([n * (2**61 - 1) for n in range(10**5)])", "points": 1},
        {"role": "test", "source": "assert answer == 42", "points": 1},
    ]
    _, before, hung, after = service.judge(cells)
    assert (before.failed, hung.failed, after.failed) == (False, True, True)
    assert "could not be interrupted" in hung.stopped
    assert judged(service, HONEST)[0] == [1, 1]


def test_a_sandbox_that_died_is_started_again():
    service = Service(LIMITS)
    zygote = Path(f"/proc/{service.process.pid}/task/{service.process.pid}/children").read_text().split()
    os.kill(int(zygote[0]), 9)
    time.sleep(0.5)
    assert judged(service, HONEST)[0] == [1, 1]
    service.close()


def test_nothing_is_graded_without_bubblewrap(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SandboxMissing, match="needs Linux and bubblewrap"):
        Service(LIMITS)


@pytest.mark.parametrize("name", attacks.REACHING)
def test_what_is_not_the_students_cannot_be_reached(service, name):
    assert "reached" not in shown(service, attacks.REACHING[name])


def test_the_instructors_table_has_every_attack_and_each_is_held_off():
    rows = [line.strip("| ").split(" | ") for line in attacks.TABLE.read_text("utf-8").splitlines() if " | " in line]
    rows = [row for row in rows if row[0] != "Attack"]
    assert {row[0] for row in rows} == {attacks.title(name) for _, name, _ in attacks.attacks()}
    assert {row[2] for row in rows} == {attacks.HELD}


def test_memory_is_counted_over_all_processes(service):
    _, outputs = judged(service, ENDING["memory of many processes"])
    assert "600 MB of memory" in outputs[1][0]["evalue"]


def test_a_slow_cell_is_interrupted_and_keeps_what_it_defined(service):
    scores, outputs = judged(service, HONEST + "\nimport time\ntime.sleep(60)")
    assert scores == [1, 1]
    assert outputs[1][0]["ename"] == "KeyboardInterrupt"


def test_a_test_of_many_slow_calls_ends_and_the_next_one_runs(service):
    cells = [
        {
            "role": "student",
            "source": "import time\ndef slow(x):\n    time.sleep(1.5)\n    return x\ny = 1",
            "points": 0,
        },
        {"role": "test", "source": "for i in range(100):\n    try: slow(i)\n    except Exception: pass", "points": 1},
        {"role": "test", "source": "assert y == 1", "points": 1},
    ]
    _, slow, fine = service.judge(cells)
    assert slow.stopped == "it ran longer than 4 s"
    assert fine.outputs == []


def test_a_test_cannot_swallow_that_a_call_was_stopped(service):
    cells = [
        {"role": "student", "source": "def f():\n    while True: pass", "points": 0},
        {"role": "test", "source": "try: f()\nexcept Exception: pass", "points": 1},
    ]
    assert service.judge(cells)[1].stopped == "it ran longer than 2 s"
