"""D143: a language model says the same thing every time, and has not learned."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.stability.rewards import REWARD, has_risen, reward_now
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window

NAME = "policy.entropy"


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """A sliver of the first entropy left, and nothing gained; or below an absolute limit."""
    steps, first = int(limits["steps"]), window.first(NAME)
    values = window.last(NAME, steps)
    if not len(values):
        return None
    entropy = float(values[-1])
    if entropy < limits["entropy"]:
        return Sighting(
            f"the entropy is {entropy:.3g} nats per token", {NAME: entropy}, severity="warning"
        )
    if len(values) < steps or not float(values.max()) < limits["share"] * first:
        return None
    if has_risen(window, limits["over_noise"]):
        return None
    reward = reward_now(window)
    return Sighting(
        f"the entropy fell from {first:.3g} to {entropy:.3g} nats per token, and the reward is "
        f"{reward:.3g} ({window.first(REWARD):.3g} at first)",
        {NAME: entropy, "first": first, REWARD: reward},
    )


RULE = Detector(
    id="D143",
    name="token-entropy-collapsed",
    severity="severe",
    symptom="The entropy of the tokens has fallen to a sliver of what it was, without any gain.",
    why="Completions of a prompt become the same, so none is better than the others and nothing "
    "more can be learned.",
    false_alarms="A solved task: low entropy at a higher reward is what success looks like, and is "
    "not reported. No number of nats is right for every model.",
    reads=("policy.entropy",),
    limits={"steps": 5, "share": 0.2, "over_noise": 2.0, "entropy": 0.0},
    calibrated_on="six healthy runs of tiny models (PPO and GRPO, 64 to 512 samples per update, "
    "18 to 70 updates): three tenths of the first entropy or more, at a higher reward. Rates of "
    "1e-3 and 3e-3 at 64 samples: a sixth and less within 40 updates, at a reward of 0",
    detect=detect,
    traits=("language",),
    references=("verl#5953",),
)
