"""D162: a few items take most draws."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window

SPREAD, HELD = "aged.priority_spread", "aged.size"


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """The effective share of items by priority, low in several Steps."""
    spreads = window.last(SPREAD, int(limits["steps"]))
    held = window.latest(HELD)
    if len(spreads) < limits["steps"] or held < limits["items"]:
        return None
    if not float(spreads.max()) < limits["spread"]:
        return None
    spread = float(spreads[-1])
    return Sighting(
        f"{held:,.0f} items are drawn as if they were {spread * held:,.0f}",
        {SPREAD: spread, HELD: held},
    )


RULE = Detector(
    id="D162",
    name="priorities-collapsed",
    severity="warning",
    symptom="A few items of the buffer take most of the draws.",
    why="Priorities that differ by orders of magnitude (an alpha near 1, a reward with outliers, "
    "priorities that are never renewed) make a large buffer a small one.",
    false_alarms="A buffer in which hardly anything is surprising.",
    reads=(SPREAD, HELD),
    limits={"spread": 0.2, "items": 50, "steps": 3},
    calibrated_on="seven healthy runs at seed 3 (the replay presets on CartPole, prioritised by "
    "TD errors too, efficient on Acrobot, standard that never goes stale), and three with reuse "
    "50, beta 0 and ten times the rate: 0.79 and more",
    detect=detect,
    traits=("clipped",),
)
