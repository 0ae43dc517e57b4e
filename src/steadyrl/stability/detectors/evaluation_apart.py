"""D041: training episodes get better and evaluations do not."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.core.numbers import amount
from steadyrl.stability.course import FEWEST
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import EPISODES, TRAINING_RETURN, Window

EVALUATION = "eval.return_mean"


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """At the end: what training gained is not there when the policy is evaluated."""
    if not window.ended:
        return None
    training = window.course(EPISODES if window.has(EPISODES) else TRAINING_RETURN)
    evaluated = window.course(EVALUATION)
    if training is None or evaluated is None:
        return None
    if training.values < FEWEST or evaluated.values < limits["evaluations"]:
        return None
    gain = training.final - training.start
    if training.learned != "yes" or evaluated.final - evaluated.start > limits["follows"] * gain:
        return None
    gap = training.final - evaluated.final
    spread = window.latest("eval.return_std", 0.0)
    if gap < max(limits["gap"] * gain, limits["over_spread"] * spread):
        return None
    return Sighting(
        f"training episodes went from {amount(training.start)} to {amount(training.final)}, "
        f"evaluations from {amount(evaluated.start)} to {amount(evaluated.final)}",
        {TRAINING_RETURN: training.final, EVALUATION: evaluated.final, "gap": gap},
    )


RULE = Detector(
    id="D041",
    name="evaluation-apart",
    severity="severe",
    symptom="The return of training episodes has risen, that of evaluations has not.",
    why="What is evaluated is not what was trained: other statistics of the normaliser, another "
    "environment or wrapper, or a policy that only works with its exploration noise.",
    false_alarms="Evaluations on purpose harder than training, or on held-out tasks.",
    reads=(EVALUATION, TRAINING_RETURN),
    limits={"evaluations": 5, "follows": 0.3, "gap": 0.7, "over_spread": 2.0},
    calibrated_on="38 public runs of the SB3 zoo that ended well and have both (quiet), one "
    "stranger's whose evaluation lacked the normaliser's statistics (docs/public-runs.md)",
    detect=detect,
    traits=("acts",),
    looks_back=True,
)
