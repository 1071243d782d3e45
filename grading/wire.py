"""What may pass between the student's process and the judge: plain data, nothing that runs.

Both sides import this module. Every value is rebuilt from a whitelist: numbers, text, lists, tuples, dicts, sets,
numeric arrays, and SymPy expressions as a tree of known nodes. Anything else arrives as a numbered object with a type
name, which the judge can call through the student's process but not look into. Nothing is ever pickled or evaluated.
"""

from __future__ import annotations

import contextlib
import math
import numbers
import re
import select
import socket
import struct
import sys
import time
from collections.abc import Callable, Set
from decimal import Decimal
from typing import Any

import msgpack
import numpy as np

MAX_FRAME = 32 * 2**20  # bytes of one message
MAX_TEXT = 2**20  # characters of one text
MAX_ITEMS = 200_000  # members of all containers in one value
MAX_DEPTH = 40  # containers within containers
MAX_BITS = 4096  # of an integer
MAX_KEYS = 10_000  # members of a set or dict: numbers can be chosen to collide, which costs their square
MAX_DIMENSIONS = 32

PLAIN = (bool, int, float, str, tuple, list, frozenset, set, dict)
MIME_TYPES = ("text/plain", "text/html", "text/markdown", "text/latex", "image/png", "image/jpeg", "image/svg+xml")
SYMPY_NODES = (
    *("Add", "Mul", "Pow", "Abs", "Max", "Min", "sign", "exp", "log", "floor", "ceiling", "Equality"),
    *("sin", "cos", "tan", "sinh", "cosh", "tanh"),
)
SYMPY_CONSTANTS = {name: name for name in ("pi", "E", "I", "oo", "-oo", "nan", "zoo")}
# What a name of a symbol is made of; SymPy and its printers may run a name that holds more, as a piece of Python
SYMBOL = re.compile(r"[\w\\{}^, ]{1,100}")
ASSUMPTIONS = ("positive", "negative", "nonnegative", "real", "integer", "nonzero")


class WireError(Exception):
    """A message that is too large, too deep or not of the agreed form."""


class Gone(WireError):
    """The other side has closed the channel."""


class Late(WireError):
    """No whole message came in time."""


class Channel:
    """Messages over a connected stream socket, each with its length before it.

    Parameters
    ----------
    sock : socket.socket
        A connected stream socket; the channel owns it from now on.
    """

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        sock.setblocking(False)

    def send(self, message: Any, timeout: float | None = None) -> None:
        """Send a message of msgpack's own types.

        Raises
        ------
        WireError
            If it is larger than a frame may be; Gone or Late if it cannot be delivered.
        """
        body = msgpack.packb(message, use_bin_type=True, unicode_errors="replace")  # half a surrogate pair is no text
        if len(body) > MAX_FRAME:
            raise WireError("the message is too large")
        view, end = memoryview(struct.pack("!I", len(body)) + body), _deadline(timeout)
        while view:
            self._wait(select.POLLOUT, end)
            try:
                view = view[self.sock.send(view) :]
            except BlockingIOError:
                continue
            except OSError as error:
                raise Gone("the other side is gone") from error

    def receive(self, timeout: float | None = None) -> Any:
        """Receive one message.

        Raises
        ------
        WireError
            If it is too large or not msgpack; Gone or Late if none came.
        """
        end = _deadline(timeout)
        (size,) = struct.unpack("!I", self._read(4, end))
        if size > MAX_FRAME:
            raise WireError("the message is too large")
        body = self._read(size, end)
        try:
            count = _Count()
            limits = {"max_array_len": MAX_ITEMS, "max_map_len": MAX_KEYS, "max_ext_len": 0}
            return msgpack.unpackb(body, raw=False, list_hook=count, object_hook=count, **limits)
        except Exception as error:  # msgpack raises many kinds, all of them about the bytes
            raise WireError("the message is not of the agreed form") from error

    def close(self) -> None:
        """Close the socket."""
        self.sock.close()

    def _read(self, size: int, end: float | None) -> bytes:
        buffer = bytearray()
        while len(buffer) < size:
            self._wait(select.POLLIN, end)
            try:
                piece = self.sock.recv(min(size - len(buffer), 2**20))
            except BlockingIOError:
                continue
            except OSError as error:
                raise Gone("the other side is gone") from error
            if not piece:
                raise Gone("the other side is gone")
            buffer += piece
        return bytes(buffer)

    def _wait(self, event: int, end: float | None) -> None:
        poll = select.poll()
        poll.register(self.sock, event)
        left = None if end is None else max(0.0, end - time.monotonic())
        if not poll.poll(None if left is None else math.ceil(left * 1000)):
            raise Late("no answer in time")


class _Count:
    """Counts what a message is made of: an empty list takes one byte on the wire and sixty in memory."""

    def __init__(self) -> None:
        self.items = 0

    def __call__(self, members: Any) -> Any:
        self.items += 1 + len(members)
        if self.items > 8 * MAX_ITEMS:
            raise WireError("the message has too many members")
        return members


def _deadline(timeout: float | None) -> float | None:
    return None if timeout is None else time.monotonic() + timeout


# Values to messages, on whichever side has the value


def encode(value: Any, remember: Callable[[Any], dict[str, Any]]) -> Any:
    """Turn a value into a message.

    Parameters
    ----------
    value : object
        Anything.
    remember : callable
        Called for what is not plain data; returns the message that stands for it.

    Raises
    ------
    WireError
        If the value is too large or too deep.
    """
    return _Encoder(remember).encode(value, 0)


class _Encoder:
    def __init__(self, remember: Callable[[Any], dict[str, Any]]) -> None:
        self.remember = remember
        self.items = 0

    def encode(self, value: Any, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise WireError("the value is nested too deeply")
        kind = type(value)
        if value is None or kind is bool or kind is float:
            return value
        if kind is int:
            return value if -(2**63) <= value < 2**63 else self._big(value)
        if kind is str or kind is bytes:
            if len(value) > MAX_TEXT:
                raise WireError("the text is too long")
            return value.encode("utf-8", "replace").decode() if kind is str else value
        if kind is complex:
            return {"t": "complex", "v": [value.real, value.imag]}
        if value is ...:
            return {"t": "ellipsis"}
        if kind in (list, tuple, set, frozenset):
            return {"t": kind.__name__, "v": self._all(value, depth, MAX_ITEMS if kind in (list, tuple) else MAX_KEYS)}
        if kind is dict:
            if len(value) > MAX_KEYS:
                raise WireError("the value has too many members")
            return {"t": "dict", "v": [self._all(pair, depth) for pair in value.items()]}
        return self._other(value, depth)

    def _other(self, value: Any, depth: int) -> Any:
        if isinstance(value, np.ndarray | np.generic):
            array = np.array(value, subok=False)
            if array.dtype.kind in "biufc":
                array = np.ascontiguousarray(array).reshape(array.shape)
                kind = "array" if isinstance(value, np.ndarray) else "scalar"
                return {"t": kind, "d": array.dtype.str, "s": list(array.shape), "v": array.tobytes()}
            if array.dtype.kind in "OU":
                return self.encode(array.tolist(), depth + 1)
        for base in PLAIN:  # subclasses, such as IntEnum or a named tuple
            if isinstance(value, base):
                return self.encode(base(value), depth + 1)
        sympy = sys.modules.get("sympy")
        if sympy is not None and isinstance(value, sympy.Basic):
            with contextlib.suppress(_NotInTree):
                return {"t": "sympy", "v": self._tree(value, depth)}
            return self.remember(value)
        if isinstance(value, Set):  # such as the keys of a dict
            return self.encode(set(value), depth + 1)
        with contextlib.suppress(Exception):  # what it takes to read it is the student's code
            if isinstance(value, numbers.Real | Decimal):
                return float(value)
            if len(value) <= MAX_ITEMS and (array := np.array(value)).ndim and array.dtype.kind in "biufc":
                return self.encode(array, depth + 1)  # what NumPy reads as numbers, such as a range
        return self.remember(value)

    def _big(self, value: int) -> dict[str, Any]:
        if value.bit_length() > MAX_BITS:
            raise WireError("the integer is too large")
        return {"t": "int", "v": value.to_bytes(MAX_BITS // 8 + 1, "big", signed=True)}

    def _all(self, members: Any, depth: int, most: int = MAX_ITEMS) -> list[Any]:
        if len(members) > most:
            raise WireError("the value has too many members")
        out = []
        for member in members:
            self.items += 1
            if self.items > MAX_ITEMS:
                raise WireError("the value has too many members")
            out.append(self.encode(member, depth + 1))
        return out

    def _tree(self, node: Any, depth: int) -> list[Any]:
        """A SymPy expression as nested lists: the node's name, then its parts."""
        self.items += 1
        if depth > MAX_DEPTH or self.items > MAX_ITEMS:
            raise WireError("the expression is too large")
        if node.is_Symbol:
            if not SYMBOL.fullmatch(str(node.name)):
                raise WireError("the name of a symbol has unusual characters")
            return ["Symbol", str(node.name), [a for a in ASSUMPTIONS if getattr(node, f"is_{a}") is True]]
        if node.is_Integer:
            return ["Integer", self.encode(int(node), depth)]
        if node.is_Rational:
            return ["Rational", self.encode(int(node.p), depth), self.encode(int(node.q), depth)]
        if node.is_Float:
            return ["Float", float(node)]
        if str(node) in SYMPY_CONSTANTS and not node.args:
            return ["Constant", str(node)]
        name = type(node).__name__
        if name not in SYMPY_NODES:
            raise _NotInTree
        return [name, *(self._tree(part, depth + 1) for part in node.args)]


class _NotInTree(Exception):
    """A SymPy object that the whitelist does not know."""


# Messages to values, on the judge's side: nothing here trusts the message


def decode(message: Any, stand_in: Callable[[int, str, bool], Any]) -> Any:
    """Rebuild a value from a message.

    Parameters
    ----------
    message : object
        What :meth:`Channel.receive` gave.
    stand_in : callable
        Makes what stands for an object of the other side from its number, type name and whether it can be called.

    Raises
    ------
    WireError
        If the message is not of the agreed form, too large or too deep.
    """
    try:
        return _Decoder(stand_in).decode(message, 0)
    except WireError:
        raise
    except Exception as error:  # a message of the wrong form can fail in many ways; all of them mean the same
        raise WireError("the message is not of the agreed form") from error


class _Decoder:
    def __init__(self, stand_in: Callable[[int, str, bool], Any]) -> None:
        self.stand_in = stand_in
        self.items = 0

    def decode(self, message: Any, depth: int) -> Any:
        self.items += 1
        if depth > MAX_DEPTH + 2 or self.items > 2 * MAX_ITEMS:
            raise WireError("the value is too large or nested too deeply")
        if message is None or type(message) in (bool, int, float, str, bytes):
            return message
        if type(message) is not dict or type(message.get("t")) is not str:
            raise WireError("the message is not of the agreed form")
        rebuild = getattr(self, f"_{message['t']}", None) if message["t"] in TAGS else None
        if rebuild is None:
            raise WireError("the message is not of the agreed form")
        return rebuild(message, depth + 1)

    def _members(self, message: dict[str, Any], depth: int, most: int = MAX_ITEMS) -> list[Any]:
        if type(message["v"]) is not list or len(message["v"]) > most:
            raise WireError("the message is not of the agreed form")
        return [self.decode(member, depth) for member in message["v"]]

    def _list(self, message: dict[str, Any], depth: int) -> list[Any]:
        return self._members(message, depth)

    def _tuple(self, message: dict[str, Any], depth: int) -> tuple[Any, ...]:
        return tuple(self._members(message, depth))

    def _set(self, message: dict[str, Any], depth: int) -> set[Any]:
        return set(self._members(message, depth, MAX_KEYS))

    def _frozenset(self, message: dict[str, Any], depth: int) -> frozenset[Any]:
        return frozenset(self._members(message, depth, MAX_KEYS))

    def _dict(self, message: dict[str, Any], depth: int) -> dict[Any, Any]:
        if type(message["v"]) is not list or len(message["v"]) > MAX_KEYS:
            raise WireError("the message is not of the agreed form")
        return {self.decode(key, depth): self.decode(value, depth) for key, value in message["v"]}

    def _int(self, message: dict[str, Any], depth: int) -> int:
        if type(message["v"]) is not bytes or len(message["v"]) > MAX_BITS // 8 + 1:
            raise WireError("the integer is too large")
        return int.from_bytes(message["v"], "big", signed=True)

    def _complex(self, message: dict[str, Any], depth: int) -> complex:
        real, imag = message["v"]
        return complex(float(real), float(imag))

    def _ellipsis(self, message: dict[str, Any], depth: int) -> Any:
        return ...

    def _array(self, message: dict[str, Any], depth: int) -> np.ndarray:
        dtype, shape, data = message["d"], message["s"], message["v"]
        if type(dtype) is not str or len(dtype) > 6 or type(data) is not bytes or len(shape) > MAX_DIMENSIONS:
            raise WireError("the array is not of the agreed form")
        dtype = np.dtype(dtype)
        if dtype.kind not in "biufc" or not all(type(size) is int and size >= 0 for size in shape):
            raise WireError("the array is not of the agreed form")
        return np.frombuffer(data, dtype).reshape(shape).astype(dtype.newbyteorder("="))

    def _scalar(self, message: dict[str, Any], depth: int) -> np.generic:
        return self._array({**message, "s": []}, depth)[()]

    def _object(self, message: dict[str, Any], depth: int) -> Any:
        number, name, callable_ = message["v"]
        if type(number) is not int or type(name) is not str or type(callable_) is not bool:
            raise WireError("the message is not of the agreed form")
        return self.stand_in(number, name[:100], callable_)

    def _sympy(self, message: dict[str, Any], depth: int) -> Any:
        return self._node(message["v"], depth)

    def _node(self, tree: Any, depth: int) -> Any:
        import sympy  # noqa: PLC0415  half a second that only the proofs need

        self.items += 1
        if type(tree) is not list or depth > MAX_DEPTH + 2 or self.items > MAX_ITEMS:
            raise WireError("the expression is too large")
        name, *parts = tree
        if name == "Symbol":
            text, assumptions = parts
            if type(text) is not str or not SYMBOL.fullmatch(text) or not set(assumptions) <= set(ASSUMPTIONS):
                raise WireError("the symbol is not of the agreed form")
            return sympy.Symbol(text, **dict.fromkeys(assumptions, True))
        if name in ("Integer", "Rational"):
            numbers = [self.decode(part, depth) for part in parts]
            if not all(type(number) is int for number in numbers):
                raise WireError("the number is not of the agreed form")
            return getattr(sympy, name)(*numbers)
        if name == "Float":
            return sympy.Float(float(parts[0]))
        if name == "Constant" and parts[0] in SYMPY_CONSTANTS:
            return -sympy.oo if parts[0] == "-oo" else getattr(sympy, SYMPY_CONSTANTS[parts[0]])
        if name not in SYMPY_NODES:
            raise WireError("the expression is not of the agreed form")
        members = [self._node(part, depth + 1) for part in parts]
        # SymPy would work out 10**(10**9) on the spot; an unevaluated power costs nothing until somebody looks
        lazy = name == "Pow" and all(member.is_number for member in members)
        return getattr(sympy, name)(*members, evaluate=False) if lazy else getattr(sympy, name)(*members)


TAGS = ("list", "tuple", "set", "frozenset", "dict", "int", "complex", "ellipsis", "array", "scalar", "object", "sympy")
