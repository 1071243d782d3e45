"""Fuzz what the judge reads from a student's process: only WireError may come out, and only plain data.

Needs atheris, which is no dependency of the course, and a folder to keep what led to new code::

    pip install atheris && mkdir -p build/corpus
    PYTHONPATH=. python tests/grading/fuzz_wire.py -max_total_time=300 -timeout=0 -rss_limit_mb=3000 build/corpus
"""

import socket
import struct
import sys

import atheris

with atheris.instrument_imports(include=["grading", "msgpack"]):
    import msgpack
    import numpy as np
    import sympy

    from grading.judge import TestTimeout, clean_outputs, time_limit
    from grading.wire import ASSUMPTIONS, MIME_TYPES, SYMPY_NODES, TAGS, Channel, WireError, decode

DTYPES = ("<f8", "|b1", "<i4", ">c16", "<f2", "O", "|V8", "<M8[s]", "x")
PLAIN = (type(None), bool, int, float, complex, str, bytes, type(...), np.generic, sympy.Basic)


def stand_in(number, name, callable_):
    assert (type(number), type(name), type(callable_)) == (int, str, bool)


def received(data):
    """What comes of bytes that the student's process sends before it hangs up."""
    near, far = socket.socketpair()
    channel = Channel(near)
    try:
        far.sendall(data[:60000])
        far.close()
        return channel.receive(1)
    finally:
        channel.close()


def is_plain(value):
    if isinstance(value, np.ndarray):
        return type(value) is np.ndarray and value.dtype.kind in "biufc"
    if type(value) is dict:
        return all(is_plain(k) and is_plain(v) for k, v in value.items())
    if type(value) in (list, tuple, set, frozenset):
        return all(map(is_plain, value))
    return isinstance(value, PLAIN)


def made(data, depth=0):
    """A message of nearly the agreed form."""
    kind = data.ConsumeIntInRange(0, 12)
    few = range(data.ConsumeIntInRange(0, 3)) if depth < 5 else ()
    if kind == 0:
        return data.ConsumeInt(8)
    if kind == 1:
        return data.ConsumeFloat()
    if kind == 2:
        return data.ConsumeUnicode(8)
    if kind == 3:
        return data.ConsumeBytes(16)
    if kind == 4:
        return [made(data, depth + 1) for _ in few]
    if kind == 5:
        return {data.ConsumeUnicode(4): made(data, depth + 1) for _ in few}
    if kind == 6:
        return {
            "t": data.PickValueInList(["array", "scalar"]),
            "d": data.PickValueInList([*DTYPES, data.ConsumeUnicode(3)]),
            "s": [data.ConsumeIntInRange(-1, 2**33 if data.ConsumeBool() else 3) for _ in few],
            "v": data.ConsumeBytes(data.ConsumeIntInRange(0, 64)),
        }
    if kind == 7:
        return {"t": "sympy", "v": tree(data, depth + 1)}
    if kind == 8:
        return {"t": "dict", "v": [[made(data, depth + 1), made(data, depth + 1)] for _ in few]}
    if kind == 9:
        return output(data, depth)
    if kind == 10:
        return {"t": "object", "v": [data.ConsumeInt(4), data.ConsumeUnicode(5), data.ConsumeBool()]}
    tag = data.PickValueInList(list(TAGS))
    return {"t": tag, "v": made(data, depth + 1) if data.ConsumeBool() else [made(data, depth + 1) for _ in few]}


def tree(data, depth):
    name = data.PickValueInList(["Symbol", "Integer", "Rational", "Float", "Constant", *SYMPY_NODES])
    few = range(data.ConsumeIntInRange(0, 3)) if depth < 6 else ()
    if name == "Symbol":
        return [name, data.ConsumeUnicode(6), [data.PickValueInList([*ASSUMPTIONS, "commutative"]) for _ in few]]
    if name in ("Integer", "Rational", "Float"):
        return [name, *(data.ConsumeInt(8) if data.ConsumeBool() else made(data, depth + 1) for _ in few)]
    if name == "Constant":
        return [name, data.PickValueInList(["pi", "E", "I", "oo", "-oo", "nan", "zoo", "x"])]
    return [name, *(tree(data, depth + 1) for _ in few)]


def output(data, depth):
    kinds = ["stream", "error", "display_data", "execute_result", "x"]
    keys = ["name", "text", "ename", "evalue", "traceback", "data", "metadata", *MIME_TYPES]
    few = range(data.ConsumeIntInRange(0, 4)) if depth < 5 else ()
    return {"output_type": data.PickValueInList(kinds)} | {
        data.PickValueInList(keys): made(data, depth + 1) for _ in few
    }


def one(data):
    provider = atheris.FuzzedDataProvider(data)
    if provider.ConsumeBool():
        try:
            body = msgpack.packb(made(provider))
        except (ValueError, OverflowError, UnicodeEncodeError, TypeError):
            return
        data = struct.pack("!I", len(body)) + body
    try:
        message = received(data)
    except WireError:
        return
    try:
        with time_limit(1):  # as a test does, since a SymPy expression can take for ever
            value = decode(message, stand_in)
        assert is_plain(value)
    except (WireError, TestTimeout):
        pass
    outputs, _ = clean_outputs(message if type(message) is list else [message], 3000)
    assert len(str(outputs)) < 3000 + 200, outputs
    for found in outputs:
        assert found["output_type"] in ("stream", "error", "display_data", "execute_result")
        for text in (found.get(key, "") for key in ("text", "name", "ename", "evalue")):
            assert type(text) is str
        assert all(type(line) is str for line in found.get("traceback", []))
        assert all(mime in MIME_TYPES and type(text) is str for mime, text in found.get("data", {}).items())


if __name__ == "__main__":
    atheris.Setup(sys.argv, one)
    atheris.Fuzz()
