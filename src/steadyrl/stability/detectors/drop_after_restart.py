"""D028: the return fell when the program was started again."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.core.numbers import amount
from steadyrl.maths.robust import median
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.score import called, evaluation_noise, objective
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """The first returns after a restart, against the last ones before it and what was gained."""
    restart = window.last_raised("run.restarted")
    if restart is None:
        return None
    name, few = objective(window), int(limits["values"])
    before, then = window.split(name, restart)
    if len(before) < few or len(then) < few:
        return None
    was, now = median(before[-few:]), median(then[:few])
    gained = was - window.first(name)
    if not was - now > max(limits["share"] * gained, limits["noise"] * evaluation_noise(window)):
        return None
    return Sighting(
        f"the {called(window, name)} fell from {amount(was)} to {amount(now)} when the program was "
        "started again",
        {"before": was, "after": now},
    )


RULE = Detector(
    id="D028",
    name="drop-after-restart",
    severity="warning",
    symptom="Training goes on after a restart at a much lower return than it had reached.",
    why="What a run knows is more than its weights: normalisation statistics, the optimiser's "
    "memory, the replay buffer, adaptive coefficients and schedules. What was not saved begins "
    "anew.",
    false_alarms="A task that was changed on purpose at the restart, or an average over episodes "
    "that begins anew with a few bad ones.",
    reads=(),  # of most runs there is nothing to read: they were never restarted
    limits={"values": 3, "share": 0.3, "noise": 2.0},
    calibrated_on="by reasoning, on made-up logs; not seen on a recorded run yet",
    detect=detect,
    references=("stable-baselines3#1256", "stable-baselines3#435", "ray#22444", "brax#655"),
)
