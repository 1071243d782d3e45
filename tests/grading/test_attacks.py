"""Wrong work that tries to be taken for right, or to do harm: each scores 0 and leaves no trace.

Every attack is the student's cell of a small notebook: `answer` should be 42, `square(x)` should square. None of them
answers rightly. After each one an honest notebook is judged by the same service and gets full marks.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
from pathlib import Path

import pytest

from grading.judge import Service
from grading.sandbox import Limits

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
    "everything deleted": "import shutil\nfor d in ('/', '/usr', '/tmp', '/notebook'): shutil.rmtree(d, True)",
}


@pytest.mark.parametrize("name", ENDING)
def test_a_program_that_ends_or_never_ends_costs_only_itself(service, name):
    scores, outputs = judged(service, ENDING[name])
    assert scores == [0, 0]
    assert all(part[0]["evalue"] for part in outputs[-2:])
    assert judged(service, HONEST)[0] == [1, 1]


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
