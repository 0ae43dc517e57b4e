"""D004: a single gradient far larger than all before it."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.maths.robust import median, robust_z
from steadyrl.stability.bands import Band
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Newest largest norm against the last Steps' largest norms: ratio and robust z together."""
    for part in ("critic", "actor"):
        name = f"{part}.gradient_norm_max"
        if not window.latest(name) > limits["ratio"] * window.lowest(name):
            continue
        past = window.last(name, int(limits["past"]) + 1)[:-1]
        if len(past) < limits["past"] or not window.fresh(name):
            continue
        latest, typical = window.latest(name), median(past)
        if typical <= 0 or not latest > limits["ratio"] * typical:
            continue
        z = robust_z(latest, past)
        if z > limits["z"]:
            return Sighting(
                f"a {part} gradient of norm {latest:.3g}, {latest / typical:.0f} times the usual",
                {name: latest, "typical": typical, "z": z},
            )
    return None


def bands(window: Window, limits: Mapping[str, float]) -> Mapping[str, Band]:
    """Norms up to so many times what was usual before."""
    found = {}
    for name in ("critic.gradient_norm_max", "actor.gradient_norm_max"):
        past = window.last(name, int(limits["past"]) + 1)[:-1]
        if len(past) >= limits["past"]:
            found[name] = Band(high=limits["ratio"] * median(past))
    return found


RULE = Detector(
    id="D004",
    name="gradient-spike",
    severity="warning",
    symptom="One update's gradient norm is many times that of the updates before it.",
    why="One bad batch or a diverging network; unclipped, the step it makes undoes earlier ones.",
    false_alarms="A rare, truly surprising transition (a first big reward).",
    reads=("critic.gradient_norm_max",),
    limits={"past": 20, "ratio": 50.0, "z": 8.0},
    calibrated_on="healthy bench runs, 10 variants x 2 seeds: largest ratio 4.4 (pendulum), 8.1 "
    "(point-mass)",
    detect=detect,
    bands=bands,
    traits=("off_policy",),
    references=("tuning_playbook, instability section",),
)
