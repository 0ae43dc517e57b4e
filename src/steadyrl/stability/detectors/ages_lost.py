"""D166: the buffer has forgotten how old its items are."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window

CROWD = "aged.birth_crowding"


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """An invariant: no more items can be of one age than ever came at once."""
    crowd = window.latest(CROWD)
    if not crowd > limits["crowd"]:
        return None
    return Sighting(f"{crowd:.3g} times as many items are of one age as ever came", {CROWD: crowd})


RULE = Detector(
    id="D166",
    name="ages-lost",
    severity="severe",
    symptom="More items are of one age than ever came into the buffer at once.",
    why="Births were lost, in most cases by a resume that restored the items and not their ages: "
    "what is stale then passes for fresh.",
    false_alarms="None: it is an invariant.",
    reads=(CROWD,),
    limits={"crowd": 1.0},
    calibrated_on="an invariant; by tests, not by runs",
    detect=detect,
    traits=("clipped",),
)
