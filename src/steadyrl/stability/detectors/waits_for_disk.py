"""D035: much of the time goes into writing the run."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """A fifth of the last minutes, or more."""
    share = window.latest("machine.writing_share")
    if not share >= limits["share"]:
        return None
    return Sighting(
        f"training waits {share:.0%} of its time for the disk",
        {"machine.writing_share": share},
    )


RULE = Detector(
    id="D035",
    name="waits-for-disk",
    severity="warning",
    symptom="Much of the run's time goes into writing its Steps and checkpoints.",
    why="What is written is safe, but a slow disk makes the run slow, and nothing else shows it.",
    false_alarms="Large checkpoints that are wanted so often.",
    reads=("machine.writing_share",),
    limits={"share": 0.2},
    calibrated_on="runs of a minute and more, seed 0, at most: ppo/cartpole 0.009, ddpg/pendulum "
    "0.001, language/tiny 0.001, ppo/breakout 0.0001; 0.96 with a disk that takes 1.5 s for each "
    "piece and a checkpoint every 3,000 steps of ppo",
    detect=detect,
    concerns="machine",
)
