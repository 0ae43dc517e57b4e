"""D144: a language model becomes ever more random."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.stability.rewards import REWARD, has_risen, reward_now
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window

NAME = "policy.entropy"


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Clearly more entropy than at first in every one of the last Steps, and no higher reward."""
    steps, first = int(limits["steps"]), window.first(NAME)
    values = window.last(NAME, steps)
    if len(values) < steps or not float(values.min()) > limits["growth"] * first:
        return None
    if has_risen(window, limits["over_noise"]):
        return None
    return Sighting(
        f"the entropy grew from {first:.3g} to {values[-1]:.3g} nats per token, and the reward is "
        f"{reward_now(window):.3g} ({window.first(REWARD):.3g} at first)",
        {NAME: float(values[-1]), "first": first, REWARD: reward_now(window)},
    )


RULE = Detector(
    id="D144",
    name="token-entropy-grows",
    severity="severe",
    symptom="The entropy of the tokens grows and the reward does not.",
    why="Something pulls harder towards randomness than the reward does towards right answers: the "
    "model forgets how to write.",
    false_alarms="A model that began almost deterministic and explores for a while.",
    reads=("policy.entropy",),
    limits={"steps": 5, "growth": 1.5, "over_noise": 2.0},
    calibrated_on="six healthy runs of tiny models (PPO and GRPO, 64 to 512 samples per update, "
    "18 to 70 updates): never above the first entropy. Not seen on a recorded run yet",
    detect=detect,
    traits=("language",),
    references=("verl#2738", "rllm#116"),
)
