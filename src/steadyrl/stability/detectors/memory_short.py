"""D027: the buffer forgets faster than it can teach."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """A full buffer that holds only a sliver of what has been experienced."""
    if window.step is None or window.count("critic.loss") < limits["warm_up"]:
        return None
    size, seen = window.latest("replay.size"), window.step.taken
    sizes = window.last("replay.size", 5)
    full = len(sizes) == 5 and sizes[0] == sizes[-1]
    if not full or size > limits["share"] * seen or size > limits["items"]:
        return None
    return Sighting(
        f"the buffer holds the last {size:,.0f} of {seen:,} transitions",
        {"replay.size": size, "taken": float(seen)},
    )


RULE = Detector(
    id="D027",
    name="memory-short",
    severity="warning",
    symptom="The replay buffer is full and covers only the newest moments.",
    why="Learning is then almost on-policy and correlated: each batch shows the same situation.",
    false_alarms="Tasks that change so fast that old experience misleads.",
    reads=("replay.size",),
    limits={"warm_up": 10, "share": 0.2, "items": 2000},
    calibrated_on="a starting point; fires on buffers of 64, 128 and 512, quiet on 20,000",
    detect=detect,
    traits=("off_policy",),
)
