"""D145: the reward of a language model goes to and fro."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from steadyrl.maths.robust import reversals
from steadyrl.stability.rewards import REWARD, reward_noise
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Several ways up and down beyond chance; or a range beyond an absolute limit."""
    few = window.last(REWARD, int(limits["range_steps"]))
    if len(few) == limits["range_steps"] and np.ptp(few) > limits["range"]:
        return Sighting(
            f"the reward moved between {few.min():.3g} and {few.max():.3g} within {len(few)} "
            "updates",
            {REWARD: float(few[-1]), "range": float(np.ptp(few))},
        )
    values = window.last(REWARD, int(limits["steps"]))
    if len(values) < limits["steps"]:
        return None
    noise = reward_noise(window, estimated=False)
    least = max(
        limits["over_noise"] * noise,
        limits["share"] * (window.highest(REWARD) - window.lowest(REWARD)),
    )
    if not noise > 0 or reversals(values, least) < limits["turns"]:
        return None
    turns = reversals(values, least)
    return Sighting(
        f"the reward turned {turns} times by {least:.2g} or more within {len(values)} updates; "
        f"chance alone moves it by {noise:.2g}",
        {REWARD: float(values[-1]), "turns": float(turns), "noise": noise},
    )


RULE = Detector(
    id="D145",
    name="reward-swings",
    severity="warning",
    symptom="The mean reward goes up and down by more than chance explains.",
    why="Updates undo each other: each follows the noise of its own batch, or leaps too far.",
    false_alarms="Prompts in an order that is not random, easy and hard ones in turns.",
    reads=("rollout.return_mean", "language.reward_error"),
    limits={
        "steps": 20,
        "turns": 3,
        "over_noise": 5.0,
        "share": 0.15,
        "range_steps": 10,
        "range": float("inf"),
    },
    calibrated_on="six healthy runs of tiny models (PPO and GRPO, 64 to 512 samples per update, "
    "18 to 70 updates): no two ways back of five standard errors. Not seen on a recorded run yet",
    detect=detect,
    traits=("language",),
)
