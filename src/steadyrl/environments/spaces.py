"""Spaces as plain values: a checkpoint says what its policy sees and does, without environment."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.spaces import utils

from steadyrl.core.errors import CheckpointError

Space = spaces.Space[Any]


@dataclass(frozen=True, slots=True)
class Spaces:
    """What an environment gives and takes."""

    observation: Space
    action: Space

    @property
    def seen(self) -> Space:
        """Observations as arrays: numbers one-hot, dictionaries and tuples joined."""
        return as_array_space(self.observation)

    def record(self) -> dict[str, Any]:
        """As arrays and plain values."""
        return {"observation": space_record(self.observation), "action": space_record(self.action)}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Spaces:
        """The inverse of `record`."""
        return cls(space_from(record["observation"]), space_from(record["action"]))


def told(space: Space) -> str:
    """For sentences: NumPy pads its numbers to columns."""
    return " ".join(str(space).split())


def is_array_space(space: Space) -> bool:
    """Whether observations are used as they come."""
    return isinstance(space, spaces.Box) or not space.is_np_flattenable


def as_array_space(space: Space) -> Space:
    """The space of observations once they are arrays."""
    return space if is_array_space(space) else utils.flatten_space(space)


def why_unusable(space: Space) -> str | None:
    """Why observations of a space cannot be learned from, as the end of a sentence; None: can."""
    seen = as_array_space(space)
    if not isinstance(seen, spaces.Box):
        return "which cannot be made an array of fixed size. Wrap it so that it gives a Box."
    if 0 in seen.shape:
        return "which holds no number. Give the policy something to see, if only a constant."
    try:
        space_from(space_record(space))
    except CheckpointError:  # better now than when the trained policy is to be loaded
        return "which a checkpoint cannot describe. Wrap it so that it gives a Box."
    return None


def space_record(space: Space) -> dict[str, Any]:
    """A space as arrays and plain values."""
    if isinstance(space, spaces.Box):
        return {"kind": "box", "low": space.low, "high": space.high, "dtype": str(space.dtype)}
    if isinstance(space, spaces.Discrete):
        return {"kind": "discrete", "count": int(space.n), "start": int(space.start)}
    if isinstance(space, spaces.MultiDiscrete):
        return {"kind": "multi-discrete", "counts": space.nvec, "start": space.start}
    if isinstance(space, spaces.MultiBinary):
        return {"kind": "multi-binary", "shape": list(space.shape)}
    if isinstance(space, spaces.Dict):
        parts = {name: space_record(part) for name, part in space.spaces.items()}
        return {"kind": "dict", "parts": parts}
    if isinstance(space, spaces.Tuple):
        return {"kind": "tuple", "parts": [space_record(part) for part in space.spaces]}
    if isinstance(space, spaces.Text):
        least, most = space.min_length, space.max_length
        return {"kind": "text", "least": least, "most": most, "letters": space.characters}
    return {"kind": "other", "told": told(space)}


def space_from(record: Mapping[str, Any]) -> Space:
    """The inverse of `space_record`."""
    kind = record["kind"]
    if kind == "box":
        dtype: Any = np.dtype(record["dtype"])
        return spaces.Box(np.asarray(record["low"]), np.asarray(record["high"]), dtype=dtype.type)
    if kind == "discrete":
        return spaces.Discrete(record["count"], start=record["start"])
    if kind == "multi-discrete":
        counts, start = np.asarray(record["counts"]), np.asarray(record["start"])
        return spaces.MultiDiscrete(counts, start=start)
    if kind == "multi-binary":
        shape = tuple(record["shape"])
        return spaces.MultiBinary(shape[0] if len(shape) == 1 else shape)
    if kind == "dict":
        named = ((name, space_from(part)) for name, part in record["parts"].items())
        return spaces.Dict(OrderedDict(named))
    if kind == "tuple":
        return spaces.Tuple([space_from(part) for part in record["parts"]])
    if kind == "text":
        least, letters = record["least"], record["letters"]
        return spaces.Text(record["most"], min_length=least, charset=letters)
    raise CheckpointError(f"a space of kind {record.get('told', kind)!r} cannot be made again.")
