"""D009: the return was good and is not any more."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from steadyrl.maths.robust import page_hinkley_drop
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import (
    TRAINING_RETURN,
    Window,
    called,
    evaluation_noise,
    objective,
    returns_of,
)


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """The last evaluations all lost most of what had been gained, beyond their own noise."""
    name = objective(window)
    if not window.fresh(name):
        return None
    returns = returns_of(window, name)
    recent, many = int(limits["evaluations"]), int(limits["severe_evaluations"])
    if len(returns) < (limits["episode_means"] if name == TRAINING_RETURN else recent + 3):
        return None
    start, best = float(np.median(returns[:2])), float(np.sort(returns)[-2])
    gained = best - start
    noise = evaluation_noise(window)
    if gained <= limits["gain_over_noise"] * noise:
        return None
    lost = (best - returns[-recent:]) / gained
    if not (lost > limits["lost"]).all():
        return None
    fall = page_hinkley_drop(returns, slack=0.5)
    if fall < limits["fall"]:
        return None
    # While there are hardly more than that, the best is one of them.
    held = ((best - returns[-many:]) / gained > limits["lost"]).all()
    latest = float(returns[-1])
    return Sighting(
        f"the {called(name)} fell from {best:,.4g} to {latest:,.4g}: {lost[-1]:.0%} of the gain is "
        "lost",
        {"best": best, name: latest, "lost": float(lost[-1]), "fall": fall},
        severity="severe" if held else "warning",
    )


RULE = Detector(
    id="D009",
    name="return-collapse",
    severity="severe",
    symptom="Evaluations lose most of what training had gained, and stay there.",
    why="A policy that was learned has been destroyed; going on seldom brings it back.",
    false_alarms="Noisy evaluations of few episodes: the drop must exceed their spread.",
    reads=(),
    any_of=("eval.return_mean", "rollout.return_mean"),
    limits={
        "evaluations": 3,
        "severe_evaluations": 5,
        "lost": 0.6,
        "gain_over_noise": 2.0,
        "fall": 4.0,
        "episode_means": 15,
    },
    calibrated_on="62 healthy bench runs (seeds 2000, 2001): one, on the sparse task, lost all for "
    "three evaluations and came back. Severe therefore at five, a warning at three",
    detect=detect,
    references=("stable-baselines#837", "mesozoic-labs#173"),
)
