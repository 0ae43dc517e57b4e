"""D001: a signal is NaN or infinite."""

from __future__ import annotations

import math
from collections.abc import Mapping

from steadyrl.core.catalogue import CATALOGUE
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Any signal of the newest Step that is not a finite number."""
    assert window.step is not None
    bad = {name: v for name, v in window.step.signals.items() if _broken(name, v)}
    if not bad:
        return None
    name = next(iter(bad))
    return Sighting(f"{name} is {bad[name]} ({len(bad)} signals are not finite)", bad)


def _broken(name: str, value: float) -> bool:
    """Not finite, unless the catalogue declares what a NaN of this signal says."""
    if math.isfinite(value):
        return False
    signal = CATALOGUE.get(name)
    return signal is None or not signal.nan_when or not math.isnan(value)


RULE = Detector(
    id="D001",
    name="non-finite-signal",
    severity="severe",
    symptom="A loss, value, gradient or reward is NaN or infinite.",
    why="Every later update inherits it: the run cannot recover by itself.",
    false_alarms="None for our trainers. Signals that are NaN by design must be declared so.",
    reads=(),
    limits={},
    calibrated_on="an invariant: no healthy run has one",
    detect=detect,
    references=("Stable-Baselines3 VecCheckNan", "lerobot#2465"),
)
