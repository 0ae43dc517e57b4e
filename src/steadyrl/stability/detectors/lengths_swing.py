"""D147: completions become long and short in turns."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from steadyrl.maths.robust import median, reversals
from steadyrl.stability.course import TURNS_BACK
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Floats, Window

NAME, CHANCE = "language.length_mean", "language.length_error"


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Several ways up and down by a good part of the usual length, beyond chance.

    Where chance is not recorded, it is taken from how independent values turn back at every step.
    """
    values = window.last(NAME, int(limits["steps"]))
    if len(values) < limits["steps"]:
        return None
    errors = window.last(CHANCE, int(limits["steps"]))
    noise = median(errors) if len(errors) else _chance(window.last(NAME))
    usual = median(values)
    least = max(limits["share"] * usual, limits["over_noise"] * noise)
    turns = reversals(values, least)
    if turns < limits["turns"] or not least > 0:
        return None
    return Sighting(
        f"the mean length turned {turns} times by {least:.3g} tokens or more within {len(values)} "
        f"updates, between {values.min():.4g} and {values.max():.4g}",
        {NAME: float(values[-1]), "turns": float(turns), "least": float(values.min())},
    )


def _chance(values: Floats) -> float:
    """Spread of neighbours, if they turn back as independent values do; else nothing is known."""
    steps = np.diff(values)
    power = float((steps**2).sum())
    if not power > 0 or float((steps[1:] * steps[:-1]).sum()) / power > TURNS_BACK:
        return 0.0
    return float(np.sqrt(np.mean(steps**2) / 2.0))


RULE = Detector(
    id="D147",
    name="lengths-swing",
    severity="warning",
    symptom="The mean length of completions goes up and down by a quarter of itself and more.",
    why="An update makes answers long, the next one short again: what is learned is undone.",
    false_alarms="Prompts in an order that is not random, long and short ones in turns.",
    reads=("language.length_mean",),
    limits={"steps": 20, "turns": 3, "share": 0.25, "over_noise": 5.0},
    calibrated_on="six healthy runs of tiny models (PPO and GRPO, 64 to 512 samples per update, "
    "18 to 70 updates): within an eighth of their mean. A rate of 1e-3 at 64 samples: between "
    "1.5 and 2.9 tokens within twenty updates. Three public GRPO logs: lengths that turn back as "
    "independent values do, by a quarter and more; that is chance",
    detect=detect,
    traits=("language",),
)
