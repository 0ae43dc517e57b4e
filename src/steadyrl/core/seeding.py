"""One named generator per source of randomness.

Each source has its own stream, so that drawing more exploration noise never changes which
transitions are sampled: two runs that differ in one setting stay comparable.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np


def derived_seed(seed: int, source: str, *path: int) -> np.random.SeedSequence:
    """The seed of a named source (and, if given, of a numbered part of it)."""
    return np.random.SeedSequence([seed, zlib.crc32(source.encode()), *path])


def integer_seed(seed: int, source: str, *path: int) -> int:
    """The same as one non-negative 32-bit integer, for libraries that want one."""
    return int(derived_seed(seed, source, *path).generate_state(1)[0])


class Generators:
    """NumPy generators by name, created on first use, all restorable."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._generators: dict[str, np.random.Generator] = {}

    def __getitem__(self, source: str) -> np.random.Generator:
        generator = self._generators.get(source)
        if generator is None:
            generator = np.random.Generator(np.random.PCG64(derived_seed(self._seed, source)))
            self._generators[source] = generator
        return generator

    def state_dict(self) -> dict[str, Any]:
        """The seed and the exact position of every stream."""
        streams = {name: g.bit_generator.state for name, g in self._generators.items()}
        return {"seed": self._seed, "streams": streams}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Put every stream back where it was; streams not named start anew on first use."""
        self._seed = state["seed"]
        self._generators = {}
        for name, position in state["streams"].items():
            self[name].bit_generator.state = position
