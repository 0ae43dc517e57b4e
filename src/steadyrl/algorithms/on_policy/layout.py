"""How observations go into the networks: frames into convolutions, all else flat."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium.spaces import Space

from steadyrl.nets.convolutional import SMALLEST


@dataclass(frozen=True, slots=True)
class Layout:
    """The shape of what the networks see."""

    images: bool
    colours_last: bool  # in the environment; the networks want them first
    shape: tuple[int, ...]
    given: tuple[int, ...]  # the same before it was flattened, for networks of one's own


def layout_of(space: Space[Any]) -> Layout:
    """Frames large enough for the convolutions; everything else is flattened."""
    shape = space.shape or ()
    frames = len(shape) == 3 and space.dtype == np.uint8
    colours_last = frames and shape[2] < min(shape[:2])
    if colours_last:
        shape = (shape[2], *shape[:2])
    images = frames and min(shape[1:]) >= SMALLEST
    seen = tuple(shape) if images else (math.prod(shape),)
    return Layout(images, colours_last, seen, seen if images else space.shape or ())
