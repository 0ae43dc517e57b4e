"""D156: a language model answers worse than the model that training began with."""

from __future__ import annotations

import math
from collections.abc import Mapping

from steadyrl.stability.bands import Band
from steadyrl.stability.rewards import RIGHT, accuracy_noise, start_accuracy
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """The last held-out scores are all below the first model's, by more than chance."""
    band = bands(window, limits).get(RIGHT)
    if band is None or not window.fresh(RIGHT):
        return None
    recent, many = int(limits["evaluations"]), int(limits["severe_evaluations"])
    values = window.last(RIGHT, many)
    if len(values) < recent or not (values[-recent:] < band.low).all():
        return None
    start, now = start_accuracy(window), float(values[-1])
    lasts = len(values) == many and bool((values < band.low).all())
    return Sighting(
        f"{now:.1%} of the held-out problems are answered right; the model that training began "
        f"with answered {start:.1%}",
        {"start": start, RIGHT: now, "least": band.low},
        severity="severe" if lasts or now < limits["half"] * start else "warning",
    )


def bands(window: Window, limits: Mapping[str, float]) -> Mapping[str, Band]:
    """Not below the start by more than the chance of two evaluations."""
    start = start_accuracy(window)
    noise = accuracy_noise(window)
    if math.isnan(start) or not noise > 0:
        return {}
    return {RIGHT: Band(low=start - limits["over_noise"] * noise)}


RULE = Detector(
    id="D156",
    name="below-its-start",
    severity="severe",
    symptom="Held-out problems are answered worse than by the model that training began with.",
    why="Rewards have destroyed what the model could do before; a curve that rises again from the "
    "bottom looks like learning.",
    false_alarms="Few held-out problems: the loss must exceed the chance of both evaluations.",
    reads=("language.accuracy", "eval.return_std"),
    limits={"evaluations": 2, "severe_evaluations": 5, "over_noise": 3.0, "half": 0.5},
    calibrated_on="the tiny recipe without warm-up of its rate, seed 5 (72.5 % to 17.5 %, back at "
    "46.5 % after twelve updates: found at the second evaluation). Six seeds of the recipe with "
    "warm-up and 48 healthy runs of the bench, none of which it was set on: quiet",
    detect=detect,
    bands=bands,
    looks_back=True,
    traits=("language",),
)
