"""What rules on language models ask of the mean reward: chance, whether it rose, whether solved."""

from __future__ import annotations

import math

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from steadyrl.maths.robust import median
from steadyrl.stability.score import evaluation_noise
from steadyrl.stability.window import Window

REWARD, CHANCE = "rollout.return_mean", "language.reward_error"
RIGHT = "language.accuracy"
STARTS = ("language.accuracy_warm", "language.accuracy_untrained")  # the first that was measured
CLEARLY = 3.0  # above the start, in units of chance
RECENT = 5  # updates whose median is where the reward stands


def reward_noise(window: Window, *, estimated: bool = True) -> float:
    """Standard error of an update's mean reward; where it is not measured, by its neighbours.

    Neighbours that swing to and fro are no measure of chance: `estimated=False` gives NaN instead.
    """
    if window.has(CHANCE):
        return median(window.last(CHANCE, RECENT))
    if not estimated:
        return math.nan
    steps = np.diff(window.last(REWARD))
    # Not by medians: a reward that is mostly exactly 0 would have no noise at all.
    return float(np.sqrt(np.mean(steps**2) / 2.0)) if len(steps) else 0.0


def reward_now(window: Window) -> float:
    """Where the mean reward stands: the median of the last few updates."""
    values = window.last(REWARD, RECENT)
    return median(values) if len(values) else math.nan


def reward_best(window: Window) -> float:
    """The highest that it stood: by medians of as many updates, for the best of many is luck."""
    values = window.last(REWARD)
    if len(values) <= RECENT:
        return reward_now(window)
    return float(np.median(sliding_window_view(values, RECENT), axis=1).max())


def start_accuracy(window: Window) -> float:
    """What the model that training began with got right of the held-out problems; NaN: unknown."""
    return next((window.first(name) for name in STARTS if window.has(name)), math.nan)


def accuracy_noise(window: Window) -> float:
    """By how much two evaluations of held-out problems differ by chance."""
    return math.sqrt(2) * evaluation_noise(window, "eval.return_mean")


def accuracy_gained(window: Window) -> float:
    """How far the last evaluations are above the start, in units of chance; NaN: not known.

    Much may be learned before the first evaluation.
    """
    values, noise = window.last(RIGHT, 3), accuracy_noise(window)
    if len(values) < 3 or not noise > 0:
        return math.nan
    return (median(values) - start_accuracy(window)) / noise


def has_risen(window: Window, over_noise: float) -> bool:
    """Whether the reward, or what is right of the held-out problems, is above where it began."""
    rise = reward_now(window) - window.first(REWARD)
    if rise > over_noise * reward_noise(window) or accuracy_gained(window) > CLEARLY:
        return True
    held_out = window.last("eval.return_mean")
    if len(held_out) < 4:
        return False
    gain = median(held_out[-3:]) - median(held_out[:2])
    return gain > over_noise * evaluation_noise(window, "eval.return_mean")


def is_solved(window: Window, over_noise: float, share: float) -> bool:
    """Whether the reward has risen and stands about as high as it ever did, or just rises there."""
    if window.latest(REWARD) >= window.highest(REWARD) > window.lowest(REWARD):
        return True  # it may be on its way
    first = window.first(REWARD)
    rise, best = reward_now(window) - first, reward_best(window) - first
    return rise > over_noise * reward_noise(window) and rise >= share * best
