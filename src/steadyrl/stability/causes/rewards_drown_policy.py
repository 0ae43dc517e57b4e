"""C255: the value loss takes the whole of the clipped gradient."""

from __future__ import annotations

import math

from steadyrl.maths.robust import median
from steadyrl.stability.rules import Case, Cause, Weight

# With shared layers, tried on seeds 1300 and 1301 that set nothing: CartPole, Pendulum and point
# mass as they are have 0.1 to 8, CartPole with rewards times 1e3, 1e5 and 1e7 6e3, 6e5 and 6e7.
RATIO = 3e4
LARGE = 100.0  # a value gradient that is large by itself


def weigh(case: Case) -> Weight:
    """Value gradients so much larger that clipping leaves nothing of the policy's."""
    clip = case.setting("gradient_clip")
    size, ratio, told = _of_one(case) if case.setting("shared_layers") else _of_two(case)
    if clip is None or not (ratio >= RATIO and size >= LARGE):
        return Weight(0.0)
    reasons = [f"{told}, and both are clipped to gradient_clip = {clip:g} together"]
    finding = case.found("D107", "D011", "D105")
    if finding:
        reasons.append(finding.message)
    against = []
    if case.setting("normalize_rewards"):
        against.append("rewards are normalised")
    other = case.found("D104", "D016")
    if other:
        against.append(f"{other.message}, which explains it as well")
    return Weight((0.91 if finding else 0.4) - 0.4 * len(against), tuple(reasons), tuple(against))


def _of_two(case: Case) -> tuple[float, float, str]:
    """How large the value's gradient is, how much larger than the policy's, and in words."""
    values = case.window.last("value.gradient_norm", 10)
    policies = case.window.last("policy.gradient_norm", 10)
    if not len(values) or not len(policies):
        return 0.0, 0.0, ""
    size = float(median(values))
    ratio = size / max(float(median(policies)), 1e-12)
    return size, ratio, f"the value gradient is {ratio:,.0f} times the policy's"


def _of_one(case: Case) -> tuple[float, float, str]:
    """The same where one gradient is the sum of both: told by the errors that it comes from.

    A sample pulls at the value by twice its weighted error, at the policy by its advantage, which
    is about 1 once normalised.
    """
    errors = case.window.last("value.loss", 10)
    gradients = case.window.last("policy.gradient_norm", 10)
    if not len(errors) or not len(gradients) or not case.setting("normalize_advantages"):
        return 0.0, 0.0, ""
    ratio = 2.0 * float(case.setting("value_weight") or 0.0) * math.sqrt(median(errors))
    told = f"errors of the values pull {ratio:,.0f} times as hard as normalised advantages"
    return float(median(gradients)), ratio, told


CAUSE = Cause(
    id="C255",
    name="rewards-drown-policy",
    explanation="Returns are so large that the value loss owns the gradient; clipped together with "
    "it, the policy's part falls below Adam's epsilon and the policy stands still.",
    explains=("D107", "D011", "D105", "D106"),
    evidence_for="Value gradients tens of thousands of times the policy's, clipped as one.",
    evidence_against="Normalised rewards; no gradient clipping.",
    would_decide="A fork with normalize_rewards = true.",
    remedies=("R337",),
    weigh=weigh,
    traits=("on_policy", "clipped"),
)
