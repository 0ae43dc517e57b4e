"""D017: the agent always sees the same."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.stability.bands import at_most
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """All (severe) or most components of the observation never vary."""
    if not window.latest("observation.constant_share") >= limits["share"]:
        return None
    shares = window.last("observation.constant_share", int(limits["steps"]))
    if len(shares) < limits["steps"] or float(shares.min()) < limits["share"]:
        return None
    share = float(shares[-1])
    everything = share >= 1.0
    what = "the observation never changes" if everything else f"{share:.0%} of it never changes"
    return Sighting(what, {"observation.constant_share": share}, None if everything else "warning")


RULE = Detector(
    id="D017",
    name="observation-constant",
    severity="severe",
    symptom="Observations in the buffer are all the same.",
    why="The environment is not stepped, or a stale observation is stored.",
    false_alarms="Bandit-like tasks with a constant observation.",
    reads=("observation.constant_share",),
    limits={"steps": 3, "share": 0.5},
    calibrated_on="an invariant for these tasks; quiet on all healthy bench runs",
    detect=detect,
    bands=at_most("share", "observation.constant_share"),
    traits=("acts",),
)
