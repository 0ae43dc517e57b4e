"""Measuring: raw values between two Steps, reduced as the catalogue declares."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from steadyrl.core.catalogue import CATALOGUE as CATALOGUE
from steadyrl.core.catalogue import Reduction as Reduction
from steadyrl.core.catalogue import Signal as Signal

_REDUCE: Mapping[Reduction, Callable[[list[float]], float]] = {
    "mean": lambda values: float(np.mean(values)),
    "max": lambda values: float(np.max(values)),
    "min": lambda values: float(np.min(values)),
    "sum": lambda values: float(np.sum(values)),
    "last": lambda values: values[-1],
}


class Meter:
    """Collects raw values between two Steps and reduces each signal as the catalogue declares.

    A NaN in a mean, maximum or minimum stays a NaN: a hidden NaN would be a hidden failure.
    """

    def __init__(self) -> None:
        self._values: dict[str, list[float]] = {}

    def add(self, values: Mapping[str, float]) -> None:
        """Take one value for each of the named signals."""
        for name, value in values.items():
            self._held(name).append(value)

    def add_all(self, values: Mapping[str, Iterable[float]]) -> None:
        """Take several values, in the order in which they came about."""
        for name, several in values.items():
            self._held(name).extend(several)

    def read(self) -> dict[str, float]:
        """The reduced signals, in the order of the catalogue; starts afresh afterwards."""
        signals = {
            name: _REDUCE[signal.reduce](self._values[name])
            for name, signal in CATALOGUE.items()
            if name in self._values
        }
        self._values = {}
        return signals

    def _held(self, name: str) -> list[float]:
        held = self._values.get(name)
        if held is None:
            if name not in CATALOGUE:
                raise KeyError(f"signal {name!r} is not declared in core/catalogue")
            held = self._values[name] = []
        return held
