"""D009: the return was good and is not any more."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from steadyrl.core.numbers import amount
from steadyrl.maths.robust import median, page_hinkley_drop
from steadyrl.stability.bands import Band
from steadyrl.stability.course import FEWEST
from steadyrl.stability.rewards import RIGHT, start_accuracy
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.score import (
    called,
    evaluation_noise,
    few_episodes,
    objective,
    returns_of,
    score_of,
)
from steadyrl.stability.window import EPISODES, TRAINING_RETURN, Floats, Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """The last evaluations all lost most of what had been gained, beyond their own noise."""
    name = objective(window)
    if not window.fresh(name):
        return None
    if window.ended:
        return _at_the_end(window, limits)
    if name == TRAINING_RETURN:
        return _of_episodes(window, limits)
    returns = returns_of(window, name)
    recent, many = int(limits["evaluations"]), int(limits["severe_evaluations"])
    band = bands(window, limits).get(name)
    if band is None or not (returns[-recent:] < band.low).all():
        return None
    start, best = _gain(window, returns)
    fall = page_hinkley_drop(returns, slack=0.5)
    if fall < limits["fall"]:
        return None
    # While there are hardly more than that, the best is one of them.
    held = (returns[-many:] < band.low).all()
    return _sighting(
        called(window, name), name, start, best, float(returns[-1]), severe=bool(held), fall=fall
    )


def bands(window: Window, limits: Mapping[str, float]) -> Mapping[str, Band]:
    """Of evaluations: above what is left when most of the gain is lost, once there is a gain."""
    name = objective(window)
    returns = returns_of(window, name)
    if name == TRAINING_RETURN or len(returns) < limits["evaluations"] + 3:
        return {}
    start, best = _gain(window, returns)
    noise = evaluation_noise(window)
    if best <= start or best - start <= limits["gain_over_noise"] * noise:
        return {}
    return {name: Band(low=best - limits["lost"] * (best - start))}


def _gain(window: Window, returns: Floats) -> tuple[float, float]:
    """Where it began, and the best evaluation but one."""
    start = median(returns[:2])
    # A language model may have learned most before its first evaluation. (Where a score is no
    # share of right answers, the two cannot be compared.)
    if window.first(RIGHT) == window.first("eval.return_mean") and start_accuracy(window) < start:
        start = start_accuracy(window)
    return start, float(np.sort(returns)[-2])


def _of_episodes(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """The same for training episodes: by blocks of the whole run, with the chance that is theirs.

    A policy that knows nothing yet wanders: what it gained must be clear of the noise and must
    have been there for a while, so that there was something to lose.
    """
    name = EPISODES if window.has(EPISODES) else TRAINING_RETURN
    course = window.course(name)
    recent, many = int(limits["evaluations"]), int(limits["severe_evaluations"])
    if course is None or len(course.means) < limits["episode_means"]:
        return None
    if window.progress < limits["first_wiggles"] or few_episodes(window):
        return None
    gained, error = course.best - course.start, float(course.errors.max())
    if not gained > limits["gain_over_error"] * error:
        return None
    lost = (course.best - course.means[-many:]) / gained
    if not (lost[-recent:] > limits["lost"]).all():
        return None
    held = bool((lost > limits["lost"]).all()) and course.fell
    return _sighting(
        called(window, name), name, course.start, course.best, float(course.means[-1]), severe=held
    )


def _at_the_end(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Of a finished record: how much of the best gain its last tenth still has."""
    judged_by = score_of(window)
    for name in dict.fromkeys((judged_by, EPISODES, TRAINING_RETURN)):
        course = window.course(name) if name else None
        if name is None or course is None or course.values < FEWEST:
            continue
        if name == TRAINING_RETURN and few_episodes(window):
            continue
        if course.kept < 1.0 - limits["lost"]:
            # Evaluations that hold while training episodes fall are worth a warning.
            severe = name == judged_by and course.fell
            return _sighting(
                called(window, name), name, course.start, course.best, course.final, severe=severe
            )
        if name == EPISODES:
            break  # the running mean says the same, later
    return None


def _sighting(
    score: str, name: str, start: float, best: float, latest: float, *, severe: bool, **also: float
) -> Sighting:
    lost = (best - latest) / (best - start)
    said = f"{lost:.0%} of the gain is lost" if lost <= 1 else "below where it began"
    return Sighting(
        f"the {score} fell from {amount(best)} to {amount(latest)}: {said}",
        {"best": best, name: latest, "lost": lost, **also},
        severity="severe" if severe else "warning",
    )


RULE = Detector(
    id="D009",
    name="return-collapse",
    severity="severe",
    symptom="Evaluations lose most of what training had gained, and stay there.",
    why="A policy that was learned has been destroyed; going on seldom brings it back.",
    false_alarms="Noisy evaluations of few episodes: the drop must exceed their spread.",
    reads=(),
    any_of=("eval.return_mean", "rollout.return_mean", "rollout.success_rate"),
    looks_back=True,
    limits={
        "evaluations": 3,
        "severe_evaluations": 5,
        "lost": 0.6,
        "gain_over_noise": 2.0,
        "fall": 4.0,
        "episode_means": 15,
        "gain_over_error": 6.0,
        "first_wiggles": 0.1,
    },
    calibrated_on="62 healthy bench runs (seeds 2000, 2001): one, on the sparse task, lost all for "
    "three evaluations and came back. Severe therefore at five, a warning at three. Training "
    "episodes and finished records: half of 90 public runs of the SB3 zoo (docs/public-runs.md)",
    detect=detect,
    bands=bands,
    references=("stable-baselines#837", "mesozoic-labs#173"),
)
