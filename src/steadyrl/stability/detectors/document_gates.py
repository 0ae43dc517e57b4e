"""D040: the absolute gates of the source document, for those who want them.

They are off unless a run is judged with `limits: document`: a limit without the reward's scale says
nothing (a critic loss of 1e8 at rewards of -2000 is an error of 2 %). `D006` and `D005` are the
same questions without units.
"""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Critic loss, actor loss or evaluation length beyond the document's numbers."""
    critic, actor = window.latest("critic.loss"), abs(window.latest("actor.loss"))
    length = window.latest("eval.length_mean")
    failed = {
        name: value
        for name, value, bad in (
            ("critic.loss", critic, critic > limits["critic_loss"]),
            ("actor.loss", actor, actor > limits["actor_loss"]),
            ("eval.length_mean", length, length < limits["length"]),
        )
        if bad
    }
    if not failed:
        return None
    said = ", ".join(f"{name} {value:.4g}" for name, value in failed.items())
    return Sighting(f"outside the document's gates: {said}", failed)


RULE = Detector(
    id="D040",
    name="document-gates",
    severity="warning",
    symptom="Critic loss above 10,000, actor loss above 1,000, or episodes shorter than 50 steps.",
    why="The source document's success criteria for its stage 1.",
    false_alarms="Any task with another reward scale. Use it only for the document's own task.",
    reads=("critic.loss", "actor.loss", "eval.length_mean"),
    limits={"critic_loss": 10_000.0, "actor_loss": 1_000.0, "length": 50.0},
    calibrated_on="nothing: taken from the document as they stand",
    detect=detect,
    traits=("off_policy", "climbs_values"),
)
