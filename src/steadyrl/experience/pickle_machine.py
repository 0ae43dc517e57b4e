"""The machine that a pickle is a program for, carried out on plain values only.

The standard library reads the steps; what they do is here. Names lead to the functions below and
nowhere else, and nothing that is nested is hashed: Python's tuples take the C stack for that, and a
file may nest them until it ends.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import IO, Any

import numpy as np

from steadyrl.core.errors import DataError
from steadyrl.experience.pickled_arrays import PickledArray, PickledType, array_of, scalar_of

KEYS = (str, bytes, int, float, complex, type(None), np.generic)


class Name:
    """Something that the pickle asks for by name; only what `_MAKERS` says comes of it."""

    __slots__ = ("text",)

    def __init__(self, module: Any, name: Any) -> None:
        if not (isinstance(module, str) and isinstance(name, str)):
            raise DataError("it asks for something whose name is no text")
        text = f"{module}.{name}"[:100]
        self.text = text.replace("__builtin__.", "builtins.").replace("numpy.core.", "numpy._core.")
        if self.text not in _MAKERS and self.text not in _ONLY_NAMED:
            raise DataError(
                f"it asks for {text!a}, which is neither a NumPy array nor a plain container. "
                "Loading it could run any program. If you trust its source, convert it to NPZ there"
            )


class Machine:
    """Carries out a pickle's steps: a stack, marks in it, and what is kept for later."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.below: list[list[Any]] = []  # what is on the stack under each mark
        self.memo: dict[int, Any] = {}

    def run(self, file: IO[bytes], size: int) -> Any:
        """What the steps leave, up to the last one; the file has `size` bytes."""
        # No more is ever asked for than the file has: memory for it would be taken beforehand. And
        # no `tell`: pickletools would ask for the place of every step, and the system with it.
        source: Any = SimpleNamespace(
            read=lambda count: file.read(min(count, size)), readline=file.readline
        )
        for step, argument, _ in pickletools.genops(source):
            name = step.name
            if name in _VALUES:
                self.stack.append(argument)
            elif name in _STEPS:
                _STEPS[name](self, argument)
            elif name == "STOP":
                break
            elif name in _OUTSIDE:
                raise DataError("it refers to objects outside the file")
            else:
                raise DataError(f"it asks for the step {name}, which plain data does not need")
        return self.stack.pop()

    def mark(self) -> None:
        """Begin a group of values."""
        self.below.append(self.stack)
        self.stack = []

    def since_mark(self) -> list[Any]:
        """Take the values of the group that began last."""
        values, self.stack = self.stack, self.below.pop()
        return values

    def last(self, count: int) -> tuple[Any, ...]:
        """Take so many values."""
        if count > len(self.stack):
            raise ValueError("it takes more values than there are")
        values = tuple(self.stack[-count:])
        del self.stack[-count:]
        return values

    def push(self, value: Any) -> None:
        """Lay a value on the stack."""
        self.stack.append(value)

    def keep(self, place: int | None = None) -> None:
        """Keep the last value for later, in this place or the next."""
        self.memo[len(self.memo) if place is None else place] = self.stack[-1]

    def extend(self, values: Iterable[Any]) -> None:
        """Add to the list at the end of the stack."""
        _of_type(list, self.stack[-1]).extend(values)

    def add(self, values: Iterable[Any]) -> None:
        """Add to the set at the end of the stack."""
        _of_type(set, self.stack[-1]).update(map(_key, values))

    def put(self, values: list[Any]) -> None:
        """Add keys and values in turn to the dictionary at the end of the stack."""
        target = _of_type(dict, self.stack[-1])
        for key, value in zip(values[::2], values[1::2], strict=True):
            target[_key(key)] = value

    def put_new(self, values: list[Any]) -> None:
        """A new dictionary with these."""
        self.push({})
        self.put(values)

    def call(self) -> None:
        """Let a name make something of a tuple."""
        called, given = self.last(2)
        if not (isinstance(called, Name) and called.text in _MAKERS and isinstance(given, tuple)):
            raise DataError("it calls something that is not meant to be called")
        self.push(_MAKERS[called.text](*given))

    def fill(self) -> None:
        """Complete the array or type that was announced."""
        state = self.stack.pop()
        target = self.stack[-1]
        if not isinstance(target, PickledType | PickledArray):
            raise DataError(f"it changes a {type(target).__name__} from inside")
        target.fill(state)


def _of_type(kind: Any, value: Any) -> Any:
    if type(value) is not kind:
        raise DataError(f"it adds to a {type(value).__name__} as if it were a {kind.__name__}")
    return value


def _key(value: Any) -> Any:
    """A dictionary's key or a set's element."""
    if isinstance(value, KEYS):
        return value
    if not (type(value) is tuple and all(isinstance(part, KEYS) for part in value)):
        raise DataError(
            f"a key is a {type(value).__name__}; names, numbers and tuples of them are read"
        )
    return value


# What a name that is called makes.


def _bytes(content: Any = b"", encoding: Any = "latin-1") -> bytes:
    """Old protocols hold bytes as text, one character for each."""
    if isinstance(content, str) and encoding in ("latin1", "latin-1"):
        return content.encode("latin-1")
    if not isinstance(content, bytes):
        raise DataError("it asks for memory without giving the content")
    return content


def _dictionary(pairs: Any = ()) -> dict[Any, Any]:
    return {_key(key): value for key, value in pairs}


def _announced(kind: Any, _shape: Any, _code: Any) -> PickledArray:
    if not (isinstance(kind, Name) and kind.text == "numpy.ndarray"):
        raise DataError("it asks for an array that is none of NumPy's")
    return PickledArray()


_MAKERS: dict[str, Callable[..., Any]] = {
    "builtins.bytes": _bytes,
    "builtins.bytearray": lambda *given: bytearray(_bytes(*given)),
    "builtins.complex": complex,
    "builtins.frozenset": lambda values=(): frozenset(map(_key, values)),
    "builtins.set": lambda values=(): set(map(_key, values)),
    "_codecs.encode": _bytes,
    "collections.OrderedDict": _dictionary,
    "collections.defaultdict": lambda _factory=None: {},
    "numpy.dtype": PickledType,
    "numpy._core.multiarray._reconstruct": _announced,
    "numpy._core.multiarray.scalar": scalar_of,
    "numpy._core.numeric._frombuffer": array_of,
}
_ONLY_NAMED = {"numpy.ndarray", "builtins.list", "builtins.dict", "builtins.tuple"}

# Steps by the names that pickletools gives them.

_VALUES = {
    *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
    *("STRING", "BINSTRING", "SHORT_BINSTRING", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8"),
    *("UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "BYTEARRAY8"),
}
_OUTSIDE = {"PERSID", "BINPERSID", "NEXT_BUFFER", "READONLY_BUFFER", "EXT1", "EXT2", "EXT4"}
_STEPS: dict[str, Callable[[Machine, Any], None]] = {
    "PROTO": lambda _machine, _: None,
    "FRAME": lambda _machine, _: None,
    "NONE": lambda machine, _: machine.push(None),
    "NEWTRUE": lambda machine, _: machine.push(True),
    "NEWFALSE": lambda machine, _: machine.push(False),
    "MARK": lambda machine, _: machine.mark(),
    "EMPTY_LIST": lambda machine, _: machine.push([]),
    "EMPTY_DICT": lambda machine, _: machine.push({}),
    "EMPTY_SET": lambda machine, _: machine.push(set()),
    "EMPTY_TUPLE": lambda machine, _: machine.push(()),
    "TUPLE1": lambda machine, _: machine.push(machine.last(1)),
    "TUPLE2": lambda machine, _: machine.push(machine.last(2)),
    "TUPLE3": lambda machine, _: machine.push(machine.last(3)),
    "TUPLE": lambda machine, _: machine.push(tuple(machine.since_mark())),
    "LIST": lambda machine, _: machine.push(machine.since_mark()),
    "DICT": lambda machine, _: machine.put_new(machine.since_mark()),
    "FROZENSET": lambda machine, _: machine.push(frozenset(map(_key, machine.since_mark()))),
    "APPEND": lambda machine, _: machine.extend(machine.last(1)),
    "APPENDS": lambda machine, _: machine.extend(machine.since_mark()),
    "SETITEM": lambda machine, _: machine.put([*machine.last(2)]),
    "SETITEMS": lambda machine, _: machine.put(machine.since_mark()),
    "ADDITEMS": lambda machine, _: machine.add(machine.since_mark()),
    "PUT": lambda machine, place: machine.keep(place),
    "BINPUT": lambda machine, place: machine.keep(place),
    "LONG_BINPUT": lambda machine, place: machine.keep(place),
    "MEMOIZE": lambda machine, _: machine.keep(),
    "GET": lambda machine, place: machine.push(machine.memo[place]),
    "BINGET": lambda machine, place: machine.push(machine.memo[place]),
    "LONG_BINGET": lambda machine, place: machine.push(machine.memo[place]),
    "GLOBAL": lambda machine, both: machine.push(Name(*both.split(" ", 1))),
    "STACK_GLOBAL": lambda machine, _: machine.push(Name(*machine.last(2))),
    "REDUCE": lambda machine, _: machine.call(),
    "BUILD": lambda machine, _: machine.fill(),
}
