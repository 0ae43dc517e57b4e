"""D010: episodes end sooner and sooner, and each step is no better for it."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.core.numbers import amount
from steadyrl.maths.robust import median
from steadyrl.stability.bands import Band
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Length far below its best, by termination, with reward per step no better than at first."""
    if not window.latest("rollout.terminated_share") >= limits["terminated"]:
        return None
    steps = int(limits["steps"])
    lengths, ends = (
        window.last("rollout.length_mean", steps),
        window.last("rollout.terminated_share", steps),
    )
    if len(lengths) < steps or len(ends) < steps:
        return None
    many = window.last("rollout.length_mean", int(limits["severe_steps"]))
    first = window.first("rollout.length_mean")
    best = max(window.highest("rollout.length_mean"), window.highest("eval.length_mean"))
    latest = median(lengths)
    if median(ends) < limits["terminated"]:
        return None
    if latest > bands(window, limits)["rollout.length_mean"].low:
        return None
    before, now = (
        window.first("rollout.reward_mean"),
        median(window.last("rollout.reward_mean", steps)),
    )
    if now >= 0 or now > before * limits["reward_ratio"]:
        return None
    # While there are fewer, the beginning is one of them and is not short of itself.
    held = float(many.max()) <= limits["of_first"] * first
    held = held or window.progress >= limits["late"]  # no beginning's dip any more
    return Sighting(
        f"episodes end after {latest:,.0f} steps ({best:,.0f} at best, {first:,.0f} at first) and "
        f"a step's reward is {amount(now)} ({amount(before)} at first)",
        {"rollout.length_mean": latest, "best": best, "first": first, "reward_per_step": now},
        severity="severe" if held else "warning",
    )


def bands(window: Window, limits: Mapping[str, float]) -> Mapping[str, Band]:
    """Lengths above a share of the best one, or of the first."""
    first = window.first("rollout.length_mean")
    best = max(window.highest("rollout.length_mean"), window.highest("eval.length_mean"))
    low = min(limits["of_best"] * best, limits["of_first"] * first)
    return {"rollout.length_mean": Band(low=low)}


RULE = Detector(
    id="D010",
    name="episodes-cut-short",
    severity="severe",
    symptom="Episodes terminate earlier than those of the first, untrained policy, while the "
    "reward "
    "per step is as negative as before or worse.",
    why="The agent learns to end episodes. The return may even improve, so return alone hides it.",
    false_alarms="Tasks whose goal ends the episode and whose reward does not improve on the way.",
    reads=("rollout.length_mean", "rollout.terminated_share", "rollout.reward_mean"),
    limits={
        "steps": 10,
        "severe_steps": 20,
        "late": 0.8,
        "terminated": 0.9,
        "of_best": 0.5,
        "of_first": 0.7,
        "reward_ratio": 1.02,
    },
    calibrated_on="20 healthy residual bench runs (seeds 2000, 2001): learning may begin with such "
    "a dip, for at most 10 Steps; faulty ones (seeds 1000 to 1002) stay there for 14 to 25 of "
    "their 50, ddpg/stage1 for 67 and more. Severe therefore at 20, or in "
    "the last fifth of the budget; a warning at 10",
    detect=detect,
    bands=bands,
    traits=("acts",),
)
