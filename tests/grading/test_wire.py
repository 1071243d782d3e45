"""The wire format from the student's side: what is plain comes over as it was, and nothing else gets through."""

from __future__ import annotations

import collections
import contextlib
import decimal
import fractions
import math
import numbers
import socket
import struct
import tracemalloc

import mpmath
import msgpack
import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from grading import wire
from grading.wire import Channel, Gone, Late, WireError, decode, encode


def carried(message, timeout=5.0):
    """A message after its way over a socket."""
    return received(framed(msgpack.packb(message)), timeout)


def framed(body):
    return struct.pack("!I", len(body)) + body


def received(data, timeout=5.0):
    """What the judge receives when the student's process sends these bytes and hangs up."""
    near, far = socket.socketpair()
    with far:
        far.setblocking(False)
        channel = Channel(near)
        try:
            sent = 0
            while sent < len(data):  # the judge reads in between
                try:
                    sent += far.send(data[sent : sent + 2**16])
                except BlockingIOError:
                    break
            if sent < len(data):
                return _with_a_thread(channel, far, data[sent:], timeout)
            far.shutdown(socket.SHUT_WR)
            return channel.receive(timeout)
        finally:
            channel.close()


def _with_a_thread(channel, far, rest, timeout):
    import threading

    def push():
        far.setblocking(True)
        try:
            far.sendall(rest)
            far.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    thread = threading.Thread(target=push, daemon=True)
    thread.start()
    try:
        return channel.receive(timeout)
    finally:
        channel.close()
        thread.join(5)


def stand_in(number, name, callable_):
    return ("stand-in", number, name, callable_)


def over(value):
    """A value after its way from the student to the judge."""
    return decode(carried(encode(value, remember)), stand_in)


def remember(value):
    return {"t": "object", "v": [0, type(value).__name__, callable(value)]}


def alike(a, b):
    """Tell whether two values are of one type and equal, NaN and the sign of zero included."""
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return struct.pack("d", a) == struct.pack("d", b) or (math.isnan(a) and math.isnan(b))
    if isinstance(a, complex):
        return alike(a.real, b.real) and alike(a.imag, b.imag)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(alike, a, b))
    if isinstance(a, dict):
        return alike(list(a), list(b)) and alike(list(a.values()), list(b.values()))
    if isinstance(a, np.ndarray | np.generic):
        return a.shape == b.shape and a.dtype.newbyteorder("=") == b.dtype and a.tobytes() == native(b, a.dtype)
    return a == b


def native(array, dtype):
    return array.astype(dtype).tobytes()


# What is plain

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
KEYS = st.none() | st.booleans() | st.integers() | TEXT | st.binary(max_size=9) | st.tuples(st.integers(), TEXT)
SCALARS = KEYS | st.integers(-(2**4000), 2**4000) | st.floats() | st.complex_numbers() | st.just(...)
DTYPES = hnp.boolean_dtypes() | hnp.integer_dtypes() | hnp.unsigned_integer_dtypes()
DTYPES |= hnp.floating_dtypes(sizes=(16, 32, 64)) | hnp.complex_number_dtypes(sizes=(64, 128))
ARRAYS = DTYPES.flatmap(lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, min_side=0)))
VALUES = st.recursive(
    SCALARS | ARRAYS | st.sets(KEYS, max_size=4) | st.frozensets(KEYS, max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.tuples(inner, inner) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(VALUES)
def test_plain_values_come_over_as_they_are(value):
    assert alike(value, over(value))


@settings(max_examples=60, deadline=None)
@given(ARRAYS.filter(lambda array: array.ndim == 0))
def test_a_scalar_of_numpys_stays_one(array):
    assert alike(array[()], over(array[()]))


def test_arrays_come_over_whatever_their_layout():
    array = np.arange(24.0).reshape(2, 3, 4)
    for view in (array.T, array[:, ::-1], array[::2, 1:], np.asfortranarray(array), np.broadcast_to(1.5, (3, 2))):
        assert np.array_equal(over(view), view)
        assert over(view).flags.writeable


def test_subclasses_come_over_as_what_they_are_made_of():
    class Named(float):
        def __eq__(self, other):
            return True

        __hash__ = None

    class Array(np.ndarray):
        pass

    assert type(over(Named(2.0))) is float
    assert type(over(np.ones(3).view(Array))) is np.ndarray
    assert type(over(np.ma.masked_array([1.0, 2.0], [True, False]))) is np.ndarray
    assert over(np.array([1, None, "x"], dtype=object)) == [1, None, "x"]


def test_numbers_of_other_kinds_come_over_as_floats():
    for value, expected in [
        (fractions.Fraction(1, 4), 0.25),
        (decimal.Decimal("2.5"), 2.5),
        (mpmath.mpf(3), 3.0),
        (decimal.Decimal("-Infinity"), -math.inf),
    ]:
        assert type(over(value)) is float
        assert over(value) == expected
        assert over([value, (value,)]) == [expected, (expected,)]
    assert math.isnan(over(decimal.Decimal("NaN")))
    assert over(np.array([fractions.Fraction(1, 4), 1], dtype=object)) == [0.25, 1]


def test_other_containers_of_numbers_come_over_as_arrays_or_what_they_are_made_of():
    pair = collections.namedtuple("pair", "gamma beta")
    assert over(pair(1, [2.0])) == (1, [2.0])
    assert over(collections.OrderedDict(a=1)) == {"a": 1}
    assert over({"a": 1}.keys()) == {"a"}
    assert over(np.array(["a", "μ"])) == ["a", "μ"]
    for value in (range(1, 4), collections.deque([1, 2, 3]), memoryview(b"\1\2\3")):
        assert over(value).tolist() == [1, 2, 3]


def test_numbers_that_cannot_be_read_are_numbered_objects():
    class Liar(numbers.Real):
        def __float__(self):
            raise RuntimeError

    Liar.__abstractmethods__ = frozenset()
    for value in (Liar(), fractions.Fraction(10**400), decimal.Decimal("sNaN"), range(10**12), {1: 2}.values()):
        assert over(value)[0] == "stand-in"


def test_what_is_not_plain_is_a_numbered_object():
    assert over(len) == ("stand-in", 0, "builtin_function_or_method", True)
    assert over([object()]) == [("stand-in", 0, "object", False)]
    assert over(np.array(["2020"], dtype="M8[Y]")) == ("stand-in", 0, "ndarray", False)


SYMBOLS = [
    sympy.Symbol("x"),
    sympy.Symbol("sigma", positive=True),
    sympy.Symbol("μ", real=True),
    sympy.Symbol(r"\hat{x}"),
]
LEAVES = st.sampled_from([*SYMBOLS, sympy.pi, sympy.E, sympy.I, sympy.Rational(-3, 7)])
LEAVES |= st.integers(-(10**30), 10**30).map(sympy.Integer) | st.integers(-999, 999).map(lambda n: sympy.Float(n / 8))
SMALL = st.integers(-3, 3).map(sympy.Integer) | st.just(sympy.Rational(1, 2))
TREES = st.recursive(
    LEAVES,
    lambda inner: (
        st.builds(sympy.Add, inner, inner)
        | st.builds(sympy.Mul, inner, inner)
        | st.builds(sympy.Pow, inner, SMALL)
        | st.builds(sympy.sin, inner)
        | st.builds(sympy.exp, st.sampled_from(SYMBOLS))
    ),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(TREES)
def test_expressions_come_over_as_they_are(tree):
    assert over(tree) == tree


@pytest.mark.parametrize("constant", [sympy.oo, -sympy.oo, sympy.zoo, sympy.nan])
def test_constants_come_over(constant):
    assert over(constant) is constant


@pytest.mark.parametrize(
    "name", ["__import__('os')", "x.y", "f(x)", "x[0]", "'x'", "a+b", "", "x" * 101, "x\n", "λ:0", "a;b", "a=b"]
)
def test_a_symbols_name_cannot_be_a_program(name):
    with pytest.raises(WireError):
        encode(sympy.Symbol(name), remember)
    with pytest.raises(WireError):
        decode({"t": "sympy", "v": ["Symbol", name, []]}, stand_in)


@pytest.mark.parametrize(
    "value",
    [
        [[] for _ in range(wire.MAX_ITEMS + 1)],
        set(range(wire.MAX_KEYS + 1)),
        dict.fromkeys(range(wire.MAX_KEYS + 1)),
        10**wire.MAX_BITS,
        "x" * (wire.MAX_TEXT + 1),
        bytes(wire.MAX_TEXT + 1),
    ],
)
def test_what_is_too_large_is_refused_before_it_is_sent(value):
    with pytest.raises(WireError):
        encode(value, remember)


def test_what_holds_itself_or_is_too_deep_is_refused():
    loop = []
    loop.append(loop)
    deep = ()
    for _ in range(wire.MAX_DEPTH + 1):
        deep = (deep,)
    for value in (loop, deep, {"me": loop}):
        with pytest.raises(WireError, match="deeply"):
            encode(value, remember)


def test_text_that_is_no_text_becomes_question_marks():
    assert over("a\ud800b") == "a?b"
    near, far = map(Channel, socket.socketpair())
    near.send({"text": "a\ud800b"})
    assert far.receive(1) == {"text": "a?b"}
    near.close()
    far.close()


# What is anything at all: only WireError, in bounded time and memory

SETTINGS = settings(max_examples=400, deadline=None)


def only_wire_error(work):
    with contextlib.suppress(WireError):
        work()


@SETTINGS
@given(st.binary(max_size=400))
def test_any_bytes(data):
    only_wire_error(lambda: decode(received(data), stand_in))
    only_wire_error(lambda: decode(received(framed(data)), stand_in))


@SETTINGS
@given(VALUES, st.data())
def test_changed_bytes(value, data):
    body = bytearray(msgpack.packb(encode(value, remember)))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(body) - 1))
        body[place : place + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=3))
        if not body:
            break
    only_wire_error(lambda: decode(received(framed(bytes(body))), stand_in))


LOOSE = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | TEXT | st.binary(max_size=20)
LOOSE |= st.sampled_from(
    ["<f8", ">i2", "|b1", "O", "V8", "M8[s]", "f4,f4", "(2)f4", "Symbol", "Pow", "Mul", "pi", -1, 2**62]
)
ANY = st.recursive(
    LOOSE,
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(TEXT, inner, max_size=3)
        | st.fixed_dictionaries(
            {"t": st.sampled_from(wire.TAGS) | TEXT, "v": inner}, optional={"d": inner, "s": inner | st.lists(inner)}
        )
    ),
    max_leaves=25,
)


@SETTINGS
@given(ANY)
def test_any_structure(message):
    only_wire_error(lambda: decode(message, stand_in))


NAMES = st.sampled_from([*wire.SYMPY_NODES, "Symbol", "Integer", "Rational", "Float", "Constant"])
LOOSE_TREES = st.recursive(LOOSE, lambda inner: st.builds(lambda name, parts: [name, *parts], NAMES, st.lists(inner)))


@SETTINGS
@given(LOOSE_TREES)
def test_any_expression(tree):
    only_wire_error(lambda: decode({"t": "sympy", "v": tree}, stand_in))


def array(shape, data=b"", dtype="<f8"):
    return {"t": "array", "d": dtype, "s": shape, "v": data}


def nested(depth, make):
    value = None
    for _ in range(depth):
        value = make(value)
    return value


WRONG = {
    "no message": [],
    "no tag": {"v": []},
    "unknown tag": {"t": "decode", "v": []},
    "a method as a tag": {"t": "members", "v": []},
    "a tag that is no text": {"t": 1, "v": []},
    "no value": {"t": "list"},
    "huge shape": array([2**62]),
    "shape that overflows": array([2**32, 2**32]),
    "shape of minus one": array([-1], bytes(8)),
    "shape that is text": array("12"),
    "shape of bytes": array(b"\x01"),
    "shape of truths": array([True], bytes(8)),
    "shape with too many axes": array([1] * 33, bytes(8)),
    "too little data": array([2], bytes(8)),
    "too much data": array([1], bytes(16)),
    "half a number": array([1], bytes(7)),
    "objects": array([1], bytes(8), "O"),
    "records": array([1], bytes(8), "f4,f4"),
    "raw bytes": array([1], bytes(8), "V8"),
    "long dtype": array([1], bytes(8), "<" * 10**6),
    "dtype that is a list": array([1], bytes(8), [["a", "f8"]]),
    "scalar of two": {"t": "scalar", "d": "<f8", "s": [], "v": bytes(16)},
    "a list as a key": {"t": "dict", "v": [[{"t": "list", "v": []}, 1]]},
    "an array as a member of a set": {"t": "set", "v": [array([1], bytes(8))]},
    "pairs of three": {"t": "dict", "v": [[1, 2, 3]]},
    "pairs as text": {"t": "dict", "v": ["ab"] * 3 + [7]},
    "an integer that is text": {"t": "int", "v": "9" * 10**5},
    "an integer that is huge": {"t": "int", "v": bytes(10**5)},
    "a complex of one": {"t": "complex", "v": [1.0]},
    "an object with a huge number of parts": {"t": "object", "v": [1, "x", True, 4]},
    "an object whose number is true": {"t": "object", "v": [True, "x", True]},
    "too deep": nested(100, lambda inner: {"t": "list", "v": [inner]}),
    "too many keys": {"t": "set", "v": [0] * (wire.MAX_KEYS + 1)},
    "an expression that is text": {"t": "sympy", "v": "__import__('os')"},
    "an unknown function": {"t": "sympy", "v": ["lambdify", ["Symbol", "x", []]]},
    "a hidden function": {"t": "sympy", "v": ["__class__"]},
    "a symbol with other assumptions": {"t": "sympy", "v": ["Symbol", "x", ["commutative"]]},
    "a division by nothing at all": {"t": "sympy", "v": ["Rational", 1.5, "x"]},
    "an integer from text": {"t": "sympy", "v": ["Integer", "__import__('os')"]},
    "an unknown constant": {"t": "sympy", "v": ["Constant", "S"]},
    "no arguments": {"t": "sympy", "v": ["sin"]},
    "too deep an expression": {"t": "sympy", "v": nested(100, lambda inner: ["sin", inner or ["Symbol", "x", []]])},
    "an expression in a loop of dicts": {"t": "sympy", "v": [{"t": "sympy"}]},
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_messages(name):
    with pytest.raises(WireError):
        decode(carried(WRONG[name]), stand_in)


def test_a_huge_power_is_not_worked_out():
    huge = {"t": "sympy", "v": ["Pow", ["Integer", 10], ["Pow", ["Integer", 10], ["Integer", 9]]]}
    assert decode(huge, stand_in).is_Pow


FLOODS = {
    "lists in a list": struct.pack("!BI", 0xDD, 2 * 10**6) + b"\x90" * (2 * 10**6),
    "maps in a list": struct.pack("!BI", 0xDD, 190_000) + b"\x81\xa1a\x80" * 190_000 + b"\x90",
    "lists that claim to be long": (struct.pack("!BI", 0xDD, 2**31)) * 400,
    "lists of the greatest length": (struct.pack("!BI", 0xDD, wire.MAX_ITEMS)) * 400,
    "a map that claims to be long": struct.pack("!BI", 0xDF, 2**31) + b"\x00" * 100,
    "a text that claims to be long": struct.pack("!BI", 0xDB, 2**31) + b"x",
    "lists in lists": b"\x91" * 10**6,
    "extension types": b"\xc7\xff\x01" + bytes(255),
    "numbers as keys": b"\x81\x01\x02",
    "lists as keys": b"\x81\x90\x02",
    "text that is no UTF-8": b"\xa2\xff\xfe",
    "more than one": b"\x01\x02",
    "nothing": b"",
}


@pytest.mark.parametrize("name", FLOODS)
def test_floods(name):
    tracemalloc.start()
    try:
        with pytest.raises(WireError):
            decode(received(framed(FLOODS[name])), stand_in)
        assert tracemalloc.get_traced_memory()[1] < 2**30
    finally:
        tracemalloc.stop()


def test_a_frame_that_is_too_long_is_refused_at_once():
    with pytest.raises(WireError, match="too large"):
        received(struct.pack("!I", wire.MAX_FRAME + 1))


def test_a_length_without_its_body_is_not_waited_for_longer_than_asked():
    near, far = socket.socketpair()
    channel = Channel(near)
    far.sendall(struct.pack("!I", 1000) + b"x")
    with pytest.raises(Late):
        channel.receive(0.05)
    far.close()
    with pytest.raises(Gone):
        channel.receive(0.05)
    channel.close()


def test_drop_by_drop_is_not_waited_for_longer_than_asked():
    import threading

    near, far = socket.socketpair()
    channel, stop = Channel(near), threading.Event()

    def drip():
        far.sendall(struct.pack("!I", 10**6))
        while not stop.wait(0.02):
            far.sendall(b"x")

    thread = threading.Thread(target=drip)
    thread.start()
    with pytest.raises(Late):
        channel.receive(0.3)
    stop.set()
    thread.join()
    channel.close()
    far.close()


def test_who_does_not_read_is_not_waited_for():
    near, far = socket.socketpair()
    channel = Channel(near)
    with pytest.raises(Late):
        channel.send(bytes(10**7), 0.1)
    far.close()
    with pytest.raises(Gone):
        channel.send(bytes(10**7), 0.1)
    with pytest.raises(WireError, match="too large"):
        channel.send(bytes(wire.MAX_FRAME + 1), 0.1)
    channel.close()
