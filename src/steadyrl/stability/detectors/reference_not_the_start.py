"""D152: the reference is not the model that training began with."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.maths.robust import median
from steadyrl.stability.rings import EARLY
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window

NAME = "language.reference_kl"


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Far away in the very first Step, and not because it runs away from there."""
    if window.count(NAME) != EARLY:
        return None
    values = window.last(NAME, EARLY)
    first = float(values[0])
    if not first > limits["kl"] or first < limits["share"] * median(values):
        return None
    return Sighting(
        f"before anything was learned the model is {first:.3g} nats per token away from its "
        "reference",
        {NAME: first},
    )


RULE = Detector(
    id="D152",
    name="reference-not-the-start",
    severity="severe",
    symptom="The KL divergence from the reference is far above 0 in the first update.",
    why="The reference is meant to be where training begins. Another model, other adapters, "
    "dropout or another template pull the policy somewhere else from the first update on.",
    false_alarms="A reference that was chosen on purpose to be another model.",
    reads=("language.reference_kl",),
    limits={"kl": 0.02, "share": 0.5},
    calibrated_on="an invariant: 0 but for rounding on correct code. Programs that log the mean of "
    "several steps record up to 0.01 at first",
    detect=detect,
    traits=("language",),
    references=("slime, --ci-test",),
)
