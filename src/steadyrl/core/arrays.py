"""Numbers in a type that numpy does not have: kept as their bytes, under the type's own name."""

from __future__ import annotations

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


Stored = NDArray[Any] | RawArray
