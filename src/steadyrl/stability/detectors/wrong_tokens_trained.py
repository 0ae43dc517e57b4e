"""D151: the loss is taken over other tokens than the completions'."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window

NAME = "language.mask_error"


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """A mask that is not what the tokens say it must be, in several Steps."""
    values = window.last(NAME, int(limits["steps"]))
    if len(values) < limits["steps"] or not float(values.min()) > limits["share"]:
        return None
    return Sighting(
        f"the mask of trained tokens is wrong at {values[-1]:.1%} of them", {NAME: values[-1]}
    )


RULE = Detector(
    id="D151",
    name="wrong-tokens-trained",
    severity="severe",
    symptom="Tokens of prompts or padding are trained, or tokens of completions are not.",
    why="The end of a completion that is not trained is never learned: answers no longer stop. "
    "Prompt tokens that are trained teach the model to ask instead of to answer.",
    false_alarms="None: it is counted from the tokens.",
    reads=("language.mask_error",),
    limits={"steps": 2, "share": 0.0},
    calibrated_on="an invariant: exactly 0 on correct code",
    detect=detect,
    traits=("language",),
    references=("The N+ Implementation Details of RLHF with PPO",),
)
