"""D031: more runnable threads than cores."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.maths.robust import median
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Load per core high while this process gets less CPU time than wall time."""
    if not window.latest("machine.load_per_core") >= limits["load"]:
        return None
    loads, shares = window.last("machine.load_per_core", 5), window.last("machine.cpu_share", 5)
    if len(loads) < 5 or len(shares) < 5:
        return None
    load, share = median(loads), median(shares)
    if load < limits["load"] or share > limits["share"]:
        return None
    return Sighting(
        f"{load:.1f} runnable tasks per core; this process gets {share:.0%} of one",
        {"machine.load_per_core": load, "machine.cpu_share": share},
    )


RULE = Detector(
    id="D031",
    name="cores-oversubscribed",
    severity="warning",
    symptom="The machine has more work than cores and training waits for its turn.",
    why="Threads that spin while waiting make it worse by an order of magnitude.",
    false_alarms="Short bursts by other programs.",
    reads=("machine.load_per_core", "machine.cpu_share"),
    limits={"load": 1.5, "share": 0.7},
    calibrated_on="a starting point; fires with three and four runs on two cores, quiet in the "
    "bench (two runs on two cores)",
    detect=detect,
    concerns="machine",
)
