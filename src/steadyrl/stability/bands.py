"""Between which values a rule has no objection: what charts shade, from the rule's own limits."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from steadyrl.stability.window import Window

Limits = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Band:
    """The lowest and the highest value without objection; beyond it a rule begins to count."""

    low: float = -math.inf
    high: float = math.inf

    def left_by(self, value: float) -> bool:
        """Whether a value lies outside; what is no number always does."""
        return not self.low <= value <= self.high


Bands = Callable[[Window, Limits], Mapping[str, Band]]


def at_most(limit: str, *signals: str) -> Bands:
    """Signals that must not rise above a limit."""
    return lambda _, limits: {name: Band(high=limits[limit]) for name in signals}


def at_least(limit: str, *signals: str) -> Bands:
    """Signals that must not fall below a limit."""
    return lambda _, limits: {name: Band(low=limits[limit]) for name in signals}


def within(limit: str, *signals: str) -> Bands:
    """Signals whose size must not exceed a limit, above zero or below it."""
    return lambda _, limits: {name: Band(-limits[limit], limits[limit]) for name in signals}
