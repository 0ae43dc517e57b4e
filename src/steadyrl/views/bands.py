"""The bands of the rules that watched a run, along the run, and when a signal left its own."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from steadyrl.core.records import Step
from steadyrl.stability.bands import Band
from steadyrl.stability.rules import Detector
from steadyrl.stability.window import Window


@dataclass
class Along:
    """A signal's band as it changed along the run; it holds from each x to the next."""

    rules: list[str] = field(default_factory=list)
    x: list[int] = field(default_factory=list)
    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)
    outside: list[tuple[int, int]] = field(default_factory=list)  # stretches: first, last

    def add(self, taken: int, band: Band, value: float | None, before: bool) -> bool:
        """One more Step; returns whether its value lies outside."""
        same = self.x and (self.low[-1], self.high[-1]) == (band.low, band.high)
        if not same:
            self.x.append(taken)
            self.low.append(band.low)
            self.high.append(band.high)
        out = value is not None and band.left_by(value)
        if out and before:
            self.outside[-1] = (self.outside[-1][0], taken)
        elif out:
            self.outside.append((taken, taken))
        return before if value is None else out

    def left_before(self, taken: int) -> int | None:
        """Where the stretch outside began that a finding at this point speaks of."""
        begun = [first for first, _ in self.outside if first <= taken]
        return begun[-1] if begun else None

    def to_json(self) -> dict[str, Any]:
        """As plain values: null where there is no bound."""
        return {
            "rules": self.rules,
            "x": self.x,
            "low": [None if math.isinf(v) or math.isnan(v) else v for v in self.low],
            "high": [None if math.isinf(v) or math.isnan(v) else v for v in self.high],
        }


def bands_along(
    detectors: Sequence[Detector], steps: Iterable[Step], budget: int | None
) -> dict[str, Along]:
    """By signal: what the rules allowed, Step by Step, as they saw it then."""
    window = Window(budget)
    banded = [rule for rule in detectors if rule.bands]
    found: dict[str, Along] = {}
    out: dict[str, bool] = {}
    for step in steps:
        window.append(step)
        together: dict[str, Band] = {}
        for rule in banded:
            if rule.bands is None or window.missing(rule.reads[:1]):
                continue
            for name, band in rule.bands(window, rule.limits).items():
                known = together.get(name, Band())
                together[name] = Band(max(known.low, band.low), min(known.high, band.high))
                along = found.setdefault(name, Along())
                if rule.id not in along.rules:
                    along.rules.append(rule.id)
        for name, band in together.items():
            value = step.signals.get(name)
            out[name] = found[name].add(step.taken, band, value, out.get(name, False))
    return {name: along for name, along in found.items() if window.has(name)}
