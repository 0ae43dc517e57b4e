"""D146: the reward of a language model falls below all it has lately been."""

from __future__ import annotations

import math
from collections.abc import Mapping

from steadyrl.maths.robust import median
from steadyrl.stability.rewards import CHANCE, REWARD, reward_noise, reward_now
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """All that was earned is lost; or the newest values are below the least of those before."""
    return _lost(window, limits) or _below_the_least(window, limits)


def _lost(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """It stands at the bottom of a range that chance does not explain."""
    if window.count(REWARD) < limits["updates"]:
        return None
    low, high, now = window.lowest(REWARD), window.highest(REWARD), reward_now(window)
    # At the bottom all rewards may be equal: chance is what it was before.
    noise = max(reward_noise(window), window.highest(CHANCE) if window.has(CHANCE) else 0.0)
    # The best of many is luck: so far do the extremes of as many values lie apart by chance.
    luck = math.sqrt(2.0 * math.log(window.count(REWARD)))
    if not high - low > (limits["range_over_noise"] + luck) * noise:
        return None
    if not now - low <= limits["bottom"] * (high - low):
        return None
    return Sighting(
        f"the reward is {now:.3g}; it has been {high:.3g}",
        {REWARD: now, "best": high, "noise": noise},
    )


def _below_the_least(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    few, past = int(limits["newest"]), int(limits["past"])
    values = window.last(REWARD, few + past)
    if len(values) < few + past:
        return None
    least, now = float(values[:past].min()), median(values[past:])
    noise = reward_noise(window)
    if not now < least - limits["over_noise"] * noise:
        return None
    return Sighting(
        f"the reward fell to {now:.3g}; the least of the {past} updates before was {least:.3g}",
        {REWARD: now, "least": least, "noise": noise},
        severity="warning",
    )


RULE = Detector(
    id="D146",
    name="reward-falls",
    severity="severe",
    symptom="The mean reward falls below the least of the updates before by more than chance, or "
    "all that was ever earned is lost.",
    why="What was learned is being undone; the first is the earliest sign of a collapse, the "
    "second its end.",
    false_alarms="Harder prompts from here on (a curriculum).",
    reads=("rollout.return_mean",),
    limits={
        "newest": 3,
        "past": 10,
        "over_noise": 3.0,
        "updates": 10,
        "bottom": 0.1,
        "range_over_noise": 3.5,
    },
    calibrated_on="six healthy runs of tiny models (PPO and GRPO, 64 to 512 samples per update, "
    "18 to 70 updates): quiet. 64 samples per update with learning rates of 5e-4 to 3e-3 (five "
    "runs, all of which collapse): found between the 10th and the 51st update. A healthy run of "
    "the bench (PPO, seed 6000) whose rewards of 0.30 +- 0.03 had once been 0.38 was called sick "
    "until the luck of the best was counted",
    detect=detect,
    traits=("language",),
)
