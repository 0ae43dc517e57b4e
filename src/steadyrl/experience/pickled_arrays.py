"""NumPy's arrays as a pickle describes them: a type, a shape and bytes.

NumPy itself would take over whatever state the file gives it, down to which bytes are pointers.
Here the description is only taken down, and the array is made from a type in a short list and from
bytes that are all there.
"""

from __future__ import annotations

import math
import re
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyrl.core.errors import DataError

_PLAIN = re.compile(r"b1|[iu][1248]|f[248]|c8|c16|[SU][1-9][0-9]{0,7}")
_DIMENSIONS = 32  # NumPy 1's limit


class PickledType:
    """A `numpy.dtype`: its code, and the byte order that follows it in the file."""

    __slots__ = ("code", "order")

    def __init__(self, code: Any, _align: Any = None, _copy: Any = None) -> None:
        if not isinstance(code, str):
            raise DataError(f"an array's type is given by a {type(code).__name__}, not by its name")
        self.code, self.order = code, "="

    def fill(self, state: Any) -> None:
        """Take the byte order from NumPy's tuple; sizes and flags follow from the code."""
        if not (isinstance(state, tuple) and len(state) in (8, 9)):
            raise DataError(f"the type {self.code[:20]!a} is not described as NumPy does it")
        _, order, *parts = state[:5]
        if any(part is not None for part in parts):
            raise DataError(f"the type {self.code[:20]!a} has fields. {_READ}")
        if not (isinstance(order, str) and order in ("<", ">", "|", "=")):
            raise DataError(f"the type {self.code[:20]!a} has an unknown byte order")
        self.order = order

    def dtype(self) -> np.dtype[Any]:
        """The type itself, if arrays of it are read."""
        if not _PLAIN.fullmatch(self.code):
            raise DataError(f"it holds an array of type {self.code[:20]!a}. {_READ}")
        return np.dtype(self.order + self.code)


_READ = (
    "Read are truth values, numbers of up to 8 bytes (complex: 16) and text. If you trust its "
    "source, convert it to NPZ there"
)


class PickledArray:
    """An array that is announced first and described later, as most pickles do it."""

    __slots__ = ("array",)

    def __init__(self) -> None:
        self.array: NDArray[Any] | None = None

    def fill(self, state: Any) -> None:
        """Make the array from NumPy's tuple."""
        if not (isinstance(state, tuple) and len(state) == 5):
            raise DataError("an array is not described as NumPy does it")
        _, shape, kind, by_columns, raw = state
        self.array = array_of(raw, kind, shape, "F" if by_columns is True else "C")


def array_of(
    raw: Any, kind: Any, shape: Any, order: Any = "C", axes: tuple[int, ...] | None = None
) -> NDArray[Any]:
    """An array over bytes that are all there; in order "K" its axes are then put as `axes` says."""
    if not isinstance(kind, PickledType):
        raise DataError(f"an array's type is a {type(kind).__name__}")
    dtype = kind.dtype()
    if not isinstance(raw, bytes | bytearray):
        raise DataError(f"an array's content is a {type(raw).__name__}, not bytes")
    if not (isinstance(shape, tuple) and len(shape) <= _DIMENSIONS and all(map(_is_size, shape))):
        raise DataError(f"an array's shape is not a tuple of at most {_DIMENSIONS} sizes")
    needed = math.prod(shape) * dtype.itemsize
    if needed != len(raw):
        raise DataError(
            f"an array of shape {shape} and type {dtype} needs {needed:,} bytes and the file gives "
            f"it {len(raw):,}"
        )
    if not (isinstance(order, str) and order in ("C", "F", "K")):
        raise DataError("an array's order is neither C nor F nor K")
    flat = np.frombuffer(raw, dtype)
    if dtype.kind == "b":  # any byte may stand there, and only 0 and 1 are truth values
        flat = flat.view(np.uint8) != 0
    array: NDArray[Any] = flat.reshape(shape, order="F" if order == "F" else "C")
    return array.transpose(axes) if order == "K" else array


def scalar_of(kind: Any, raw: Any) -> Any:
    """A single NumPy value."""
    return array_of(raw, kind, ())[()]


def _is_size(value: Any) -> bool:
    return type(value) is int and 0 <= value <= sys.maxsize
