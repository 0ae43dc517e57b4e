"""C255: the value loss takes the whole of the clipped gradient."""

from __future__ import annotations

from steadyrl.maths.robust import median
from steadyrl.stability.rules import Case, Cause, Weight

RATIO = 3e4
LARGE = 100.0  # a value gradient that is large by itself


def weigh(case: Case) -> Weight:
    """Value gradients so much larger that clipping leaves nothing of the policy's."""
    clip = case.setting("gradient_clip")
    values = case.window.last("value.gradient_norm", 10)
    policies = case.window.last("policy.gradient_norm", 10)
    if clip is None or not len(values) or not len(policies):
        return Weight(0.0)
    ratio = float(median(values) / max(median(policies), 1e-12))
    if not (ratio >= RATIO and median(values) >= LARGE):
        return Weight(0.0)
    reasons = [
        f"the value gradient is {ratio:,.0f} times the policy's, and both are clipped to "
        f"gradient_clip = {clip:g} together"
    ]
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
