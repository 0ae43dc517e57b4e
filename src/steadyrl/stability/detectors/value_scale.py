"""D007: targets so large that the critic spends its training on growing."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from steadyrl.core.numbers import amount
from steadyrl.maths.robust import median
from steadyrl.stability.bands import within
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Spread or level of the targets above the limit over several Steps."""
    newest = max(window.latest("td.target_std", 0.0), abs(window.latest("q.mean", 0.0)))
    if not newest > limits["scale"]:
        return None
    steps = int(limits["steps"])
    spreads, levels = window.last("td.target_std", steps), np.abs(window.last("q.mean", steps))
    if len(spreads) < steps or len(levels) < steps:
        return None
    scale = max(median(spreads), median(levels))
    if scale <= limits["scale"]:
        return None
    return Sighting(
        f"TD targets have the scale {amount(scale, 3)}; networks are built for values around 1",
        {"td.target_std": float(spreads[-1]), "q.mean": window.latest("q.mean")},
    )


RULE = Detector(
    id="D007",
    name="value-scale-large",
    severity="warning",
    symptom="TD targets are thousands of times larger than a fresh network's outputs.",
    why="Adam moves weights by about the learning rate whatever the loss, so reaching such values "
    "takes most of the budget, and a loss of 'millions' is only their square.",
    false_alarms="A run with enough updates to get there. It is slow, not wrong.",
    reads=("td.target_std", "q.mean"),
    limits={"steps": 5, "scale": 1000.0},
    calibrated_on="healthy bench runs, 10 variants x 2 seeds: at most 150 (pendulum), 37 (point-"
    "mass); fires on ddpg/stage1",
    detect=detect,
    bands=within("scale", "td.target_std", "q.mean"),
    traits=("off_policy",),
    references=("Stable-Baselines3#2240",),
)
