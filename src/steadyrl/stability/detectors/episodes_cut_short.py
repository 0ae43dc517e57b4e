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
    at_once = _at_once(window, limits)
    if at_once is not None:
        return at_once
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


def _at_once(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Episodes of two or three steps, of many more before, each of which costs.

    No goal is that near for a policy that began far from it: whoever learns this has found a way
    out. Logs without the kind of an end have lengths and returns, which is enough.
    """
    steps = int(limits["steps"])
    lengths = window.last("rollout.length_mean", steps)
    if len(lengths) < steps or not float(lengths.max()) <= limits["at_once"]:
        return None
    if window.latest("rollout.terminated_share", 1.0) < limits["terminated"]:
        return None
    latest, best = median(lengths), window.highest("rollout.length_mean")
    if not latest > 0:
        return None  # episodes of no steps are none
    returns = window.latest("rollout.return_mean")
    paid = window.latest("rollout.reward_mean", returns / latest)
    if not (best >= limits["times_as_long"] * latest and paid < 0):
        return None
    return Sighting(
        f"episodes end after {latest:.1f} steps ({best:.0f} at best), and a step costs "
        f"{amount(-paid)}: ending at once is what is learned",
        {"rollout.length_mean": latest, "best": best, "reward_per_step": paid},
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
    reads=("rollout.length_mean",),
    limits={
        "steps": 10,
        "severe_steps": 20,
        "late": 0.8,
        "terminated": 0.9,
        "of_best": 0.5,
        "of_first": 0.7,
        "reward_ratio": 1.02,
        "at_once": 3.0,
        "times_as_long": 4.0,
    },
    calibrated_on="20 healthy residual bench runs (seeds 2000, 2001): learning may begin with such "
    "a dip, for at most 10 Steps; faulty ones (seeds 1000 to 1002) stay there for 14 to 25 of "
    "their 50, ddpg/stage1 for 67 and more. Severe therefore at 20, or in "
    "the last fifth of the budget; a warning at 10. At once: DDPG on Pendulum with an exit "
    "(seed 0), from 9 steps to 1.5; goals of Acrobot and MountainCar are 70 steps away and more",
    detect=detect,
    bands=bands,
    traits=("acts",),
)
