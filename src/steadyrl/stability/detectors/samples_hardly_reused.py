"""D160: replay is on and hardly used."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window

USE, HELD = "train.sample_efficiency", "aged.size"


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Samples used less often than replay is for, when it has had time."""
    if not (window.has(HELD) and window.progress >= limits["progress"]):
        return None
    use = window.latest(USE)
    if not use < limits["use"]:
        return None
    return Sighting(
        f"every sample was used {use:.2g} times so far, {window.latest(HELD):,.0f} items are kept",
        {USE: use, HELD: window.latest(HELD)},
    )


RULE = Detector(
    id="D160",
    name="samples-hardly-reused",
    severity="note",
    symptom="Replay is on, but samples are hardly used more than once.",
    why="A buffer that is too small, a reuse limit that is too low or items that go stale too "
    "soon leave nothing to draw: all of the cost of replay and none of its use.",
    false_alarms="A long wait for replay.minimum at the start of a short run.",
    reads=(USE, HELD),
    limits={"use": 1.5, "progress": 0.5},
    calibrated_on="seven healthy runs at seed 3 (the replay presets on CartPole, prioritised by "
    "TD errors too, efficient on Acrobot, standard that never goes stale), and three with reuse "
    "50, beta 0 and ten times the rate: 1.6 to 3.3 uses",
    detect=detect,
    traits=("clipped",),
)
