"""D148: the reward rises and held-out problems are answered worse."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from steadyrl.maths.robust import median, trend
from steadyrl.stability.rewards import REWARD, accuracy_noise, reward_noise
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Since the best evaluation: one goes up and the other down, each beyond chance."""
    name = "language.accuracy" if window.has("language.accuracy") else "eval.return_mean"
    if not window.fresh(name):
        return None
    held_out, rewards = window.paired(name, REWARD)
    if len(held_out) < limits["evaluations"]:
        return None
    best = int(np.argmax(held_out))
    held_out, rewards = held_out[best:], rewards[best:]
    if len(held_out) < limits["evaluations"]:
        return None
    # By medians: the best of many evaluations is partly luck.
    lost = median(held_out[:3]) - median(held_out[-3:])
    gained = median(rewards[-3:]) - median(rewards[:2])
    if not lost > limits["lost_over_noise"] * accuracy_noise(window):
        return None
    if not gained > limits["over_noise"] * reward_noise(window):
        return None
    down, up = trend(held_out), trend(rewards)
    apart = down.slope < 0 < up.slope and max(down.p_value, up.p_value) < limits["p_value"]
    if not apart:
        return None
    return Sighting(
        f"in {len(held_out)} evaluations the reward rose by {gained:.3g} while held-out problems "
        f"fell from {held_out[0]:.3g} to {held_out[-1]:.3g}",
        {name: float(held_out[-1]), REWARD: float(rewards[-1]), "gained": gained, "lost": lost},
    )


RULE = Detector(
    id="D148",
    name="reward-hacked",
    severity="severe",
    symptom="The reward of training rises while held-out problems are answered worse.",
    why="The model has found what the reward pays for and nobody wants, or learns the training "
    "problems by heart.",
    false_alarms="Held-out problems of another kind than those trained on.",
    reads=("rollout.return_mean",),
    any_of=("language.accuracy", "eval.return_mean"),
    limits={"evaluations": 5, "over_noise": 2.0, "lost_over_noise": 3.0, "p_value": 0.1},
    calibrated_on="24 healthy runs of study C5 (GRPO on a small model, seeds 720 to 725): with two "
    "standard errors below the best evaluation it spoke on two of them, now on none",
    detect=detect,
    traits=("language",),
    references=("open-r1#373",),
)
