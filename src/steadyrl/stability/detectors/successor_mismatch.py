"""D020: what followed is not what is stored as having followed."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.stability.bands import at_most
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Inside an episode the next observation must be the following transition's observation."""
    if not window.latest("replay.misaligned_share") > limits["share"]:
        return None
    shares = window.last("replay.misaligned_share", int(limits["steps"]))
    if len(shares) < limits["steps"] or not float(shares.min()) > limits["share"]:
        return None
    share = float(shares[-1])
    return Sighting(
        f"{share:.0%} of the stored successors are not the observation that followed",
        {"replay.misaligned_share": share},
    )


RULE = Detector(
    id="D020",
    name="successor-mismatch",
    severity="severe",
    symptom="Stored next observations differ from the observations acted on next.",
    why="Transitions were put together wrongly: shifted by one, or taken after a reset.",
    false_alarms="Environments that return a new observation without being stepped.",
    reads=("replay.misaligned_share",),
    limits={"steps": 2, "share": 0.0},
    calibrated_on="an invariant",
    detect=detect,
    bands=at_most("share", "replay.misaligned_share"),
    traits=("off_policy",),
    references=("sinergym#511",),
)
