"""D011: a good part of the budget is spent and nothing has been learned."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from steadyrl.core.numbers import amount
from steadyrl.maths.robust import median, trend
from steadyrl.stability.rewards import has_risen, is_solved
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.score import (
    called,
    evaluation_noise,
    few_episodes,
    objective,
    returns_of,
    score_of,
)
from steadyrl.stability.standing import learned
from steadyrl.stability.window import TRAINING_RETURN, Window

SOLVED = 0.9  # share of the rise that a solved language task keeps


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Neither the discounted nor the plain return has risen.

    Both are looked at: with a short horizon the discounted return of the first steps says little,
    and where every step costs the plain one may fall while the policy learns to live.
    """
    if not window.fresh(objective(window)) or not window.progress >= limits["progress"]:
        return None
    if window.ended:
        return _at_the_end(window, limits)
    if window.has_any("language.") and has_risen(window, limits["gain_over_noise"]):
        return None  # of a language model's answers the likeliest may be right from the start
    sightings = [
        _stands_still(window, name, limits)
        for name in ("eval.return_mean", "eval.discounted_mean")
        if window.has(name)
    ] or [_stands_still(window, TRAINING_RETURN, limits)]
    return sightings[-1] if all(sightings) else None


def _at_the_end(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Of a finished record: whether its end is above its beginning, as far as chance allows."""
    if learned(window) != "no":
        return None
    if window.has_any("language.") and is_solved(window, limits["gain_over_noise"], SOLVED):
        return None
    name = score_of(window)
    course = window.course(name) if name else None
    if name is None or course is None:
        return None
    if name.startswith("rollout.") and course.values < limits["episode_means"]:
        return None
    noise = course.noise
    constant = " and never anything else" if not float(np.ptp(course.means)) else ""
    return Sighting(
        f"the {called(window, name)} ends at {amount(course.final)}{constant}; it began at "
        f"{amount(course.start)}, and chance alone moves it by {amount(noise, 2)}",
        {"start": course.start, name: course.final, "noise": noise},
    )


def _stands_still(window: Window, name: str, limits: Mapping[str, float]) -> Sighting | None:
    """No evaluation above the first ones by more than their noise, and no upward trend."""
    returns = returns_of(window, name)
    needed = "episode_means" if name == TRAINING_RETURN else "evaluations"
    if len(returns) < limits[needed] or (name == TRAINING_RETURN and few_episodes(window)):
        return None
    start = median(returns[:2])
    noise = evaluation_noise(window, name) + 1e-9 * abs(start)
    recent = median(returns[-3:])
    solved = recent > start and recent == float(returns.max())
    if solved and float(np.ptp(returns[-3:])) == 0.0:
        return None  # exactly the best, time after time: there is nothing more to get
    if recent - start > limits["gain_over_noise"] * noise:
        return None
    upward = trend(returns[-20:])
    if upward.slope > 0 and upward.p_value < limits["p_value"]:
        return None
    return Sighting(
        f"{window.so_far} the {called(window, name)} is {amount(recent)}; it began at "
        f"{amount(start)}",
        {"start": start, name: recent, "noise": noise, "p_value": upward.p_value},
    )


RULE = Detector(
    id="D011",
    name="no-progress",
    severity="warning",
    symptom="Evaluations are no better than at the beginning.",
    why="Something keeps the policy from improving. Other findings say what.",
    false_alarms="Sparse rewards, slow learners, or a policy that was good from the start.",
    reads=(),
    any_of=("eval.return_mean", "rollout.return_mean", "rollout.success_rate"),
    looks_back=True,
    limits={
        "progress": 0.6,
        "evaluations": 6,
        "episode_means": 15,
        "gain_over_noise": 1.0,
        "p_value": 0.05,
    },
    calibrated_on="healthy bench runs, 10 variants x 2 seeds: fires on 4 of 62, slow learners; a "
    "lower share of the budget fired on 12. Finished records of other programs: half of 90 public "
    "runs of the SB3 zoo and of 54 others (docs/public-runs.md)",
    detect=detect,
)
