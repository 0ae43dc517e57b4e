"""D142: the policy runs away from its reference."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Median KL per token from the reference above the limit."""
    name, steps = "language.reference_kl", int(limits["steps"])
    values = window.last(name, steps)
    if len(values) < steps or not window.latest(name) > limits["kl"]:
        return None
    kl = float(np.median(values))
    if not kl > limits["kl"]:
        return None
    return Sighting(
        f"the model is {kl:.3g} nats per token away from its reference",
        {name: kl},
        severity="severe" if kl > limits["severe_kl"] else "warning",
    )


RULE = Detector(
    id="D142",
    name="reference-left",
    severity="severe",
    symptom="The KL divergence from the reference model grows without bound.",
    why="Rewards are trusted near the model they were made for. Far away the model writes what the "
    "reward likes and nobody can read.",
    false_alarms="Long runs without a KL term are meant to leave the reference, slowly.",
    reads=("language.reference_kl",),
    limits={"steps": 3, "kl": 1.0, "severe_kl": 5.0},
    calibrated_on="tiny GRPO runs (TRL 1.16, 80 steps): healthy at most 0.53 nats; a learning rate "
    "of 0.05 reaches 1.4 within 13 steps. The severe limit is not calibrated, nor are large models",
    detect=detect,
    traits=("language",),
    references=("trl#204", "trl#1098"),
)
