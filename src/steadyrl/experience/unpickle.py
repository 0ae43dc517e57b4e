"""Reading pickles from outside, without running them.

What is read: None, truth values, numbers, text and bytes; lists, tuples, dictionaries and sets of
them (OrderedDict and defaultdict become dictionaries; keys are names, numbers, or tuples of them);
NumPy arrays and scalars of truth values, numbers and text. Everything else is refused by its name.

A pickle is a program that may call anything. The standard library carries it out in C, on real
objects that take over any state the file gives them. So it is carried out by `pickle_machine` on
plain values, arrays are made by `pickled_arrays`, and the result is bounded in its depth and in
what its repetitions amount to.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from steadyrl.core.errors import DataError
from steadyrl.experience.pickle_machine import KEYS, Machine, Name
from steadyrl.experience.pickled_arrays import PickledArray, PickledType

LARGEST = 8 * 2**30  # bytes of a file
_DEEPEST = 32  # containers within each other
_ENTRY = 64  # bytes: about what a value in a container costs
_REPEATED = 2**30  # bytes that repetitions may amount to in a file that holds less
_REPETITIONS = 4  # times what is held: more than this is not how transitions share their arrays

_LEAVES = (*KEYS, bytearray)


def read_pickle(path: Path) -> Any:
    """The plain values in a pickle file, or a DataError that says why not."""
    size = path.stat().st_size
    if size > LARGEST:
        raise DataError(f"{path}: {size / 2**30:.1f} GB is more than a pickle may have (8 GB).")
    try:
        with path.open("rb") as file:
            return _Settling().settled(Machine().run(file, size))
    except DataError as error:
        raise DataError(f"{path}: refused: {error}.") from None
    except MemoryError:
        raise DataError(f"{path}: refused: it asks for more memory than there is.") from None
    except Exception as error:  # a broken pickle raises almost anything
        kind = type(error).__name__
        reason = str(error)[:200]
        raise DataError(f"{path}: not a readable pickle ({kind}: {reason}).") from None


class _Settling:
    """Puts arrays in the place of what announced them, and bounds what comes out.

    A file may refer to one value many times. That costs it two bytes each time, and whoever makes
    an array of the whole pays in full.
    """

    def __init__(self) -> None:
        self._done: dict[int, tuple[Any, int, int]] = {}  # by id: value, bytes in full, height
        self._held = 0

    def settled(self, value: Any) -> Any:
        plain, in_full, _ = self._settle(value, _DEEPEST)
        if in_full > max(_REPEATED, _REPETITIONS * self._held):
            raise DataError(
                f"it repeats its parts: written out it would take {in_full / 2**30:,.1f} GB of "
                f"memory, and it holds {self._held / 2**20:,.1f} MB"
            )
        return plain

    def _settle(self, value: Any, room: int) -> tuple[Any, int, int]:
        if isinstance(value, _LEAVES):
            self._held += _ENTRY
            return value, _ENTRY, 0
        found = self._done.get(id(value)) or self._made(value, room)
        if found[2] > room:
            raise DataError(f"it is nested more than {_DEEPEST} deep, or holds itself")
        return found

    def _made(self, value: Any, room: int) -> tuple[Any, int, int]:
        own = _ENTRY
        parts: list[tuple[Any, int, int]] = []
        if isinstance(value, dict | list | tuple):
            if not room:
                raise DataError(f"it is nested more than {_DEEPEST} deep, or holds itself")
            inner = value.values() if isinstance(value, dict) else value
            parts = [self._settle(part, room - 1) for part in inner]
            plain = _again(value, [part for part, _, _ in parts])
        elif isinstance(value, set | frozenset):
            plain, own = value, _ENTRY * (1 + len(value))
        else:
            plain = _content(value)
            own += plain.nbytes if isinstance(plain, np.ndarray) else 0
        self._held += own
        in_full = own + sum(size for _, size, _ in parts)
        height = 1 + max((height for _, _, height in parts), default=-1)
        self._done[id(value)] = (plain, in_full, height)
        return self._done[id(value)]


def _again(container: Any, parts: list[Any]) -> Any:
    """A container of the same kind."""
    if isinstance(container, dict):
        return dict(zip(container, parts, strict=True))
    return tuple(parts) if isinstance(container, tuple) else parts


def _content(value: Any) -> Any:
    """What a value that is no container stands for."""
    if isinstance(value, PickledArray) and value.array is not None:
        return value.array
    if isinstance(value, PickledType):
        return value.dtype()
    if not isinstance(value, np.ndarray):
        named = value.text if isinstance(value, Name) else "an array without content"
        raise DataError(f"it holds {named} in the place of data")
    return value
