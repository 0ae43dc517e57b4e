"""D157: one update of a language model led far away, and the rewards were gone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from steadyrl.stability.bands import Band
from steadyrl.stability.rewards import CHANCE, REWARD, reward_noise
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


class Loss(NamedTuple):
    """A large update, and the mean reward before it."""

    moved: float
    before: float
    least: float  # below it is less than chance explains
    then: float


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """The last large update after which every reward is below the one before it."""
    loss = find_loss(window, limits)
    if loss is None:
        return None
    return Sighting(
        f"one update moved the policy by {loss.moved:.3g} nats, and the mean reward fell from "
        f"{loss.before:.3g} to {loss.then:.3g} with it; it has not come back",
        {"policy.kl": loss.moved, "before": loss.before, REWARD: window.latest(REWARD)},
    )


def find_loss(window: Window, limits: Mapping[str, float]) -> Loss | None:
    """An update's reward is that of the policy before it: samples are drawn first."""
    rewards, moved = window.paired(REWARD, "policy.kl")
    chances = window.last(CHANCE)[-len(rewards) :]
    known = len(chances) == len(rewards)
    jumps = np.flatnonzero(moved[: max(0, len(moved) - int(limits["updates"]))] > limits["kl"])
    for at in jumps[::-1]:
        chance = float(chances[at]) if known else reward_noise(window)
        least = float(rewards[at]) - limits["over_noise"] * chance
        if chance > 0 and (rewards[at + 1 :] < least).all():
            return Loss(float(moved[at]), float(rewards[at]), least, float(rewards[at + 1]))
    return None


def bands(window: Window, limits: Mapping[str, float]) -> Mapping[str, Band]:
    """How far an update may lead, and what rewards must come back to."""
    loss = find_loss(window, limits)
    back = {} if loss is None else {REWARD: Band(low=loss.least)}
    return {"policy.kl": Band(high=limits["kl"]), **back}


RULE = Detector(
    id="D157",
    name="reward-lost-in-a-jump",
    severity="severe",
    symptom="One update moved the policy far, and the rewards fell with it and stayed down.",
    why="What the model could do is gone. Where no completion earns anything any more, none is "
    "better than another and the gradient is zero: it cannot come back by itself, and the small "
    "updates that follow look harmless.",
    false_alarms="A policy that jumps and recovers within three updates is not reported.",
    reads=("rollout.return_mean", "policy.kl"),
    limits={"kl": 0.5, "updates": 3, "over_noise": 3.0},
    calibrated_on="SmolLM2 on two-digit sums at a learning rate of 5e-4, seed 0: 1.72 nats in the "
    "first update, rewards 0.25 to 0.004. Healthy runs of the same model at 2e-5 (seeds 0 and 1, "
    "with an entropy bonus, groups of 8 and 32): at most 0.09 nats in any update. On three other "
    "seeds at 5e-4: seen in two, in the third D102 speaks. Three runs at 5e-5: quiet",
    detect=detect,
    bands=bands,
    traits=("language",),
)
