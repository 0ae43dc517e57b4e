"""D142: the policy runs away from its reference."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from steadyrl.maths.robust import median
from steadyrl.stability.rewards import RECENT, REWARD, reward_noise
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Floats, Window

NAME = "language.reference_kl"


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """The distance has doubled and the reward has not risen, or it is beyond all measure."""
    values = window.last(NAME, int(limits["steps"]))
    if len(values) < limits["steps"] or not window.latest(NAME) > limits["least"]:
        return None
    kl = median(values)
    if kl > min(limits["kl"], limits["severe_kl"]):
        return Sighting(
            f"the model is {kl:.3g} nats per token away from its reference",
            {NAME: kl},
            severity="severe" if kl > limits["severe_kl"] else "warning",
        )
    return _without_gain(window, limits)


def _without_gain(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Since the distance was half as large, the reward has not risen beyond chance.

    Single updates vary by a factor of two: medians of a few are compared.
    """
    distances, rewards = window.paired(NAME, REWARD)
    if len(distances) < RECENT:
        return None
    levels = np.median(np.lib.stride_tricks.sliding_window_view(distances, RECENT), axis=1)
    kl = float(levels[-1])
    nearer = np.flatnonzero(levels <= kl / 2)
    if not kl > limits["least"] or not len(nearer):
        return None
    then = int(nearer[-1])  # the level of the updates `then` to `then` + RECENT - 1
    if len(levels) - 1 - then < RECENT:
        return None  # so lately that there is nothing to compare
    before = _level(rewards[: then + RECENT])
    gained, noise = _level(rewards) - before, reward_noise(window)
    if gained > limits["over_noise"] * noise:
        return None
    lost = gained < -limits["lost_over_noise"] * noise
    return Sighting(
        f"the model went from {levels[then]:.3g} to {kl:.3g} nats per token from its reference, "
        f"and the reward from {before:.3g} to {before + gained:.3g}",
        {NAME: kl, "gained": gained, "noise": noise},
        severity="severe" if lost else "warning",
    )


def _level(rewards: Floats) -> float:
    return median(rewards[-RECENT:])


RULE = Detector(
    id="D142",
    name="reference-left",
    severity="severe",
    symptom="The KL divergence from the reference model doubles and nothing is gained by it.",
    why="Rewards are trusted near the model they were made for. Far away the model writes what the "
    "reward likes and nobody can read. What distance is right, only the gain can tell: the best "
    "runs may be further away than the worst.",
    false_alarms="A run that has solved its task and drifts on.",
    reads=("language.reference_kl",),
    limits={
        "steps": 3,
        "least": 0.3,
        "over_noise": 2.0,
        "lost_over_noise": 4.0,
        "kl": float("inf"),
        "severe_kl": 5.0,
    },
    calibrated_on="six healthy runs of tiny models (PPO and GRPO, 64 to 512 samples per update, "
    "18 to 70 updates): at most 0.31 nats while rewards hardly rise. Rates of 6e-4 at 64 "
    "samples: 0.7 and 1.2 in the sixth update, at half the reward and less. TRL 1.16, tiny GRPO: "
    "healthy at most 0.53. Large models are not calibrated",
    detect=detect,
    traits=("language",),
    references=("trl#204", "trl#1098"),
)
