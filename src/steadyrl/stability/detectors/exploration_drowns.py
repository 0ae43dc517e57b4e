"""D015: noise decides the actions, not the policy."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.maths.robust import median
from steadyrl.stability.bands import at_most
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Played actions are further from the policy's than a quarter of the whole range."""
    if not window.latest("action.noise") >= limits["noise"]:
        return None
    noise = window.last("action.noise", int(limits["steps"]))
    if len(noise) < limits["steps"] or median(noise) < limits["noise"]:
        return None
    level = median(noise)
    gap = window.latest("eval.return_mean") - window.latest("rollout.return_mean")
    return Sighting(
        f"played actions differ from the policy's by {level:.2g} of half the action range",
        {"action.noise": level, "eval_minus_rollout": gap},
    )


RULE = Detector(
    id="D015",
    name="exploration-drowns",
    severity="warning",
    symptom="Exploration noise is as large as the actions themselves.",
    why="The buffer fills with what noise does; most actions are clipped to the bounds.",
    false_alarms="Short tasks with a tiny action range, where big noise is needed.",
    reads=("action.noise",),
    limits={"steps": 10, "noise": 0.4},
    calibrated_on="healthy bench runs, 10 variants x 2 seeds, noise_std 0.1-0.2: at most 0.17; "
    "fires on noise_std 1, 2, 5. Quiet on 10 healthy runs of Stable-Baselines3's DDPG and TD3 (0.5 "
    "to 0.9 in their first five Steps, while the actor itself moves, below 0.3 after ten)",
    detect=detect,
    bands=at_most("noise", "action.noise"),
    traits=("off_policy", "climbs_values"),
)
