"""Pickles for tests: what Python and NumPy write, and programs that must not be carried out."""

from __future__ import annotations

import pickle
import struct
from collections import OrderedDict, defaultdict
from typing import Any

import numpy as np

GRID = np.arange(24.0).reshape(4, 6)
ARRAYS: dict[str, Any] = {
    "float64": GRID,
    "float16": GRID.astype(np.float16),
    "big-endian": GRID.astype(">f4"),
    "int8": np.array([-1, 2], dtype=np.int8),
    "uint64": np.array([2**63], dtype=np.uint64),
    "big-endian int": np.array([1, -2], dtype=">i8"),
    "complex": np.array([1 + 2j]),
    "bool": np.array([True, False, True]),
    "text": np.array(["a", "bcd", "ü"]),
    "big-endian text": np.array(["a", "ü"]).astype(">U3"),
    "bytes": np.array([b"a", b"bcd"]),
    "no rows": np.zeros((0, 3), dtype=np.float32),
    "no dimension": np.array(7.5),
    "by columns": np.asfortranarray(GRID),
    "every second": GRID[::2, ::3],
    "turned": GRID.reshape(2, 3, 4).transpose(1, 2, 0),
    "backwards": GRID[::-1],
    "read-only": np.broadcast_to(np.float32(1.0), (3, 2)),
}
VALUES: dict[str, Any] = {
    "scalars": [np.float32(1.5), np.int64(-3), np.bool_(True), np.str_("ü"), np.bytes_(b"x")],
    "numbers": [0, 1, 255, 65_536, -1, 2**40, -(2**200), 1.5, float("inf"), 2 + 1j],
    "others": [None, True, False, "", "ü\n", b"", b"\x80\x00", bytearray(b"\xff")],
    "containers": [[], (), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), {}, {1}, frozenset("ab")],
    "keys": {1: 1, 1.5: 2, None: 3, b"b": 4, ("a", 1): 5, np.int64(9): 6},
    "ordered": OrderedDict(b=1, a=2),
    "defaults": defaultdict(list, {"a": [1]}),
    "type": np.dtype(">f4"),
}

# Programs, written by hand in the steps of protocol 0 where there are such.

BUFFER = b"cnumpy._core.numeric\n_frombuffer\n"
ANNOUNCED = b"cnumpy._core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntVb\ntR"


def kind(code: bytes, state: bytes = b"") -> bytes:
    """A `numpy.dtype` by its code, then changed by a state."""
    return b"cnumpy\ndtype\n(V" + code + b"\nI00\nI01\ntR" + state


def content(count: int) -> bytes:
    """So many bytes."""
    return b"c_codecs\nencode\n(V" + b"A" * count + b"\nVlatin1\ntR"


def transitions(dones: bytes) -> bytes:
    """Two transitions, whose third column is whatever a program makes."""
    two = b"(lF0\naF1\na"
    return b"(dS'observations'\n" + two + b"sS'actions'\n" + two + b"sS'dones'\n" + dones + b"s."


PLAIN_STATE = b"(I3\nV<\nNNNI-1\nI-1\nI0\ntb"
# A field that holds pointers, with flags that deny it: reading it would follow chosen addresses.
POINTER_FIELD = b"(I3\nV|\nN(Vheld\nt(dVheld\n(" + kind(b"O8") + b"I0\ntsI8\nI1\nI0\ntb"
# Each list holds the one before ten times.
LAUGHS = b"".join(b"(l" + b"g%d\na" % level * 10 + b"p%d\na" % (level + 1) for level in range(12))

HOSTILE: dict[str, tuple[bytes, str]] = {
    "chosen addresses": (
        transitions(BUFFER + b"(" + content(16) + kind(b"V8", POINTER_FIELD) + b"(I2\ntVC\ntR"),
        "refused: the type 'V8' has fields",
    ),
    "chosen addresses in an array that was announced": (
        transitions(
            ANNOUNCED + b"(I1\n(I2\nt" + kind(b"V8", POINTER_FIELD) + b"I00\n" + content(16) + b"tb"
        ),
        "refused: the type 'V8' has fields",
    ),
    "addresses without a field": (
        transitions(BUFFER + b"(" + content(16) + kind(b"O8", PLAIN_STATE) + b"(I2\ntVC\ntR"),
        "refused: it holds an array of type 'O8'",
    ),
    "objects in an array": (
        pickle.dumps({"observations": np.array([{}, None]), "actions": np.zeros(2)}),
        "refused: it holds an array of type 'O8'",
    ),
    "times": (
        pickle.dumps({"observations": np.zeros(2, "M8[s]"), "actions": np.zeros(2)}),
        "refused: it holds an array of type 'M8'",
    ),
    "a type within a type": (
        transitions(kind(b"V8", b"(I3\nV|\n(" + kind(b"f4") + b"(I2\nttNNI8\nI1\nI0\ntb")),
        "refused: the type 'V8' has fields",
    ),
    "a type with an odd state": (
        transitions(kind(b"f8", b"(dVflags\nI63\nsb")),
        "refused: the type 'f8' is not described as NumPy does it",
    ),
    "a shape without its bytes": (
        transitions(BUFFER + b"(" + content(8) + kind(b"f8") + b"(L1099511627776L\ntVC\ntR"),
        "needs 8,796,093,022,208 bytes and the file gives it 8",
    ),
    "a negative shape": (
        transitions(BUFFER + b"(" + content(8) + kind(b"f8") + b"(I-1\nI-1\ntVC\ntR"),
        "shape is not a tuple of at most 32 sizes",
    ),
    "a shape beyond all addresses": (
        transitions(BUFFER + b"(" + content(0) + kind(b"f8") + b"(I0\nL%dL\ntVC\ntR" % 2**62),
        "not a readable pickle",
    ),
    "too many dimensions": (
        transitions(BUFFER + b"(" + content(8) + kind(b"f8") + b"(" + b"I1\n" * 33 + b"tVC\ntR"),
        "shape is not a tuple of at most 32 sizes",
    ),
    "an array without content": (transitions(ANNOUNCED), "an array without content"),
    "an array that describes itself": (
        transitions(ANNOUNCED + b"p7\n(I1\n(I0\ntg7\nI00\ng7\ntb"),
        "an array's type is a PickledArray",
    ),
    "tuples nested until the stack ends, hashed": (
        b"\x80\x04})" + b"\x85" * 200_000 + b"Ns.",
        "refused: a key is a tuple",
    ),
    "frozen sets of frozen sets, hashed": (
        b"\x80\x04((\x91\x91.",
        "refused: a key is a frozenset",
    ),
    "lists nested until the stack ends": (b"(l" * 50_000 + b"a" * 49_999 + b".", "32 deep"),
    "a list that holds itself": (b"(lp0\ng0\na.", "or holds itself"),
    "a dictionary that holds itself": (b"(dp0\nVa\ng0\ns.", "or holds itself"),
    "a chain of lists, one longer than the other": (
        b"(l(lp0\na" + b"".join(b"(lg%d\nap%d\na" % (n, n + 1) for n in range(400)) + b".",
        "32 deep",
    ),
    "a list of lists of lists of the same": (
        transitions(b"(l(lI1\nap0\na" + LAUGHS),
        "written out it would take",
    ),
    "one array two thousand times": (
        transitions(
            b"(l"
            + BUFFER
            + b"("
            + content(800_000)
            + kind(b"f8")
            + b"(I100000\ntVC\ntRp0\na"
            + b"g0\na" * 2000
        ),
        "written out it would take",
    ),
    "text that is said to be long": (b"\x80\x04X\xff\xff\xff\xffab.", "but only 3 remain"),
    "text longer than any memory": (
        b"\x80\x04\x8d" + struct.pack("<Q", 2**62) + b"ab.",
        "but only 3 remain",
    ),
    "bytes longer than any memory": (
        b"\x80\x04\x8e" + struct.pack("<Q", 2**62) + b"ab.",
        "but only 3 remain",
    ),
    "a number of two thousand million bytes": (
        b"\x80\x04\x8b\xff\xff\xff\x7fab.",
        "not a readable pickle",
    ),
    "a number of a million digits": (b"L" + b"9" * 1_000_000 + b"L\n.", "not a readable pickle"),
    "memory without content": (
        b"cbuiltins\nbytearray\n(L1000000000000000L\ntR.",
        "asks for memory without giving the content",
    ),
    "text padded to the longest": (
        pickle.dumps({"observations": ["x" * 100_000] + ["y"] * 100_000, "actions": [0] * 100_001}),
        "there is text where numbers are needed",
    ),
    "a name that is changed": (b"cbuiltins\nlist\n(dVx\nI1\nsb.", "changes a Name from inside"),
    "a list that is changed": (b"(l(dVx\nI1\nsb.", "changes a list from inside"),
    "a dictionary that is changed": (
        b"ccollections\nOrderedDict\n(tR(dVkeys\nI1\nsb.",
        "changes a dict from inside",
    ),
    "a name that is called though it only names": (
        b"cnumpy\nndarray\n(I1000000000\ntR.",
        "calls something that is not meant to be called",
    ),
    "a name alone": (b"cnumpy\nndarray\n.", "holds numpy.ndarray in the place of data"),
    "an instance": (b"\x80\x02cnumpy\nndarray\n(I9\nt\x81.", "the step NEWOBJ"),
    "an old instance": (b"(I9\nibuiltins\nbytearray\n.", "the step INST"),
    "another encoding": (b"c_codecs\nencode\n(Vx\nVrot13\ntR.", "without giving the content"),
    "something outside": (b"P1\n.", "refers to objects outside the file"),
    "an extension": (b"\x80\x02\x82\x01.", "refers to objects outside the file"),
    "a buffer outside": (b"\x80\x05\x97.", "refers to objects outside the file"),
    "a name that is no text": (b"\x80\x04]]\x93.", "whose name is no text"),
    "a name that writes on the terminal": (b"c\x1b[2J\nx\n.", r"'\x1b[2J.x'"),
}
