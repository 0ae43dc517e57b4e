"""D150: a good part of the updates does nothing."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from steadyrl.stability.rewards import is_solved
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window

NORM, MOVED, SKIPPED = "policy.gradient_norm", "policy.update_ratio", "language.skipped_share"


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Updates whose gradient or change is exactly zero, or whose steps were skipped."""
    steps = int(limits["steps"])
    skipped = window.last(SKIPPED, steps)
    if len(skipped) == steps and float(skipped.mean()) > limits["skipped"]:
        share = float(skipped.mean())
        return Sighting(
            f"{share:.0%} of the optimiser steps were skipped: their gradient was no number",
            {SKIPPED: share},
        )
    name = NORM if window.has(NORM) else MOVED
    values = window.last(name, steps)
    if len(values) < steps:
        return None
    share = float(np.mean(values == 0.0))
    if share < limits["share"] or is_solved(window, limits["over_noise"], limits["kept"]):
        return None
    what = "gradient is" if name == NORM else "weights' change is"
    return Sighting(
        f"in {share:.0%} of the last {steps} updates the {what} exactly 0",
        {name: 0.0, "of": share},
        severity="severe" if share == 1.0 else "warning",
    )


RULE = Detector(
    id="D150",
    name="steps-without-effect",
    severity="severe",
    symptom="Updates that change nothing at all, time and again.",
    why="Completions were generated and paid for, and nothing came of them. Nothing fails: it only "
    "takes longer, or never gets there.",
    false_alarms="A solved task, where every answer is right: not reported.",
    reads=(),
    any_of=("policy.gradient_norm", "policy.update_ratio", "language.skipped_share"),
    limits={"steps": 10, "share": 0.2, "skipped": 0.05, "over_noise": 2.0, "kept": 0.8},
    calibrated_on="an invariant: a gradient of exactly 0 comes from advantages of exactly 0",
    detect=detect,
    traits=("language",),
    references=("trl#3452", "verl#7401"),
)
