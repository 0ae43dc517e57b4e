"""D104: the policy no longer explores, and has not learned."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.core.numbers import amount
from steadyrl.maths.robust import median
from steadyrl.stability.bands import at_least
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.score import called, evaluation_noise, objective, returns_of
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Entropy or deviation below the limit while the return stands where it began."""
    left = _left(window, limits)
    if left is None:
        return None
    name = objective(window)
    returns = returns_of(window, name)
    if len(returns) < 4:
        return None
    start, recent = median(returns[:2]), median(returns[-3:])
    if recent - start > limits["gain_over_noise"] * evaluation_noise(window) + 0.1 * abs(start):
        return None
    of, signal, share = left
    return Sighting(
        f"the policy has {share:.1%} of its {of} left, and the "
        f"{called(window, name)} is {amount(recent)} ({amount(start)} at first)",
        {signal: window.latest(signal), name: recent},
    )


def _left(window: Window, limits: Mapping[str, float]) -> tuple[str, str, float] | None:
    """What is left of the policy's randomness, if that is too little: discrete or continuous."""
    steps = int(limits["steps"])
    shares = window.last("policy.entropy_share", steps)
    if len(shares) == steps and float(shares.max()) < limits["share"]:
        return "possible entropy", "policy.entropy_share", float(shares[-1])
    name = "policy.std_min" if window.has("policy.std_min") else "policy.std"
    spreads, first = window.last(name, steps), window.first(name)
    if len(spreads) == steps and float(spreads.max()) < limits["std_share"] * first:
        return "first standard deviation", name, float(spreads[-1]) / first
    return None


RULE = Detector(
    id="D104",
    name="entropy-collapsed",
    severity="severe",
    symptom="The policy is almost deterministic although evaluations are no better than at "
    "the start.",
    why="What is never tried is never learned: from here the gradient is nearly zero "
    "and nothing brings it back.",
    false_alarms="A task that is solved: low entropy at a good return is what success looks "
    "like, and is not reported.",
    reads=(),
    any_of=("policy.entropy_share", "policy.std_min", "policy.std"),
    limits={"share": 0.05, "std_share": 0.1, "steps": 5, "gain_over_noise": 2.0},
    calibrated_on="healthy PPO runs (CartPole, Acrobot, seed 0): 0.09 at least, at a good return. "
    "A clip range of 5 falls to 0.018 at a poor one. Deviations: 42 healthy bench runs (seed 4000) "
    "keep 0.16 of their first one and more; large clip ranges fall to 0.06 to 0.09",
    detect=detect,
    bands=at_least("share", "policy.entropy_share"),
    traits=("acts",),
    references=("ml-agents#281", "rsl_rl#190"),
)
