"""D022: batches repeat what little the buffer holds."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.maths.robust import median
from steadyrl.stability.bands import at_most
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Duplicates within a batch over several Steps, long after the start."""
    if not window.latest("replay.duplicate_share") >= limits["duplicates"]:
        return None
    steps = int(limits["steps"])
    shares = window.last("replay.duplicate_share", steps)
    if len(shares) < steps or median(shares) < limits["duplicates"]:
        return None
    share = median(shares)
    return Sighting(
        f"{share:.0%} of a batch repeats other items of the same batch",
        {
            "replay.duplicate_share": share,
            "replay.batch_share": window.latest("replay.batch_share"),
        },
    )


RULE = Detector(
    id="D022",
    name="batch-exceeds-content",
    severity="warning",
    symptom="A batch is as large as the buffer's content, so it mostly repeats itself.",
    why="The effective batch is smaller than it looks, and the few items are fitted to death.",
    false_alarms="The first Steps after learning begins.",
    reads=("replay.duplicate_share",),
    limits={"steps": 15, "duplicates": 0.2},
    calibrated_on="healthy bench runs, 10 variants x 2 seeds: at most 0.10; fires on ddpg/stage2 "
    "and stage3, whose first batches do repeat themselves",
    detect=detect,
    bands=at_most("duplicates", "replay.duplicate_share"),
    traits=("off_policy",),
)
