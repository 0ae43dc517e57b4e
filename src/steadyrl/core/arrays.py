"""Arrays that are no numpy arrays: of a type that it does not have, or not here as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class RawArray:
    """What a bf16 tensor is on disk: its bytes, its shape, and the name of its type."""

    kind: str  # as safetensors writes it, e.g. BF16
    shape: tuple[int, ...]
    content: NDArray[np.uint8]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, RawArray)
            and (self.kind, self.shape) == (other.kind, other.shape)
            and bool(np.array_equal(self.content, other.content))
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def nbytes(self) -> int:
        """As numpy's arrays say it."""
        return self.content.nbytes


@dataclass(eq=False)
class SpreadArray:
    """An array of which other processes hold shards; it is put together when it is asked for."""

    kind: str  # as safetensors writes it
    shape: tuple[int, ...]
    nbytes: int
    gather: Callable[[], NDArray[np.uint8]]  # all processes at once
    call: Callable[[], None] = lambda: None  # tells the others that it is wanted

    @property
    def content(self) -> NDArray[np.uint8]:
        """All of its bytes."""
        self.call()
        return self.gather()


Stored = NDArray[Any] | RawArray
Storable = Stored | SpreadArray


def spread_arrays(state: Mapping[str, Any]) -> Iterator[SpreadArray]:
    """Those of a state that lie with several processes, in its order."""
    for value in state.values():
        if isinstance(value, SpreadArray):
            yield value
        elif isinstance(value, Mapping):
            yield from spread_arrays(value)
