"""C274: one gradient may lead a language model anywhere."""

from __future__ import annotations

from steadyrl.maths.robust import median
from steadyrl.stability.rules import Case, Cause, Weight

SPIKE = 10.0


def weigh(case: Case) -> Weight:
    """No clipping, and whether it would have held anything back."""
    finding = case.found("D146", "D156", "D157", "D009", "D142", "D001", "D102", "D150")
    config = case.config
    if finding is None or config is None or not config.has("gradient_clip"):
        return Weight(0.0)
    if config.value_of("gradient_clip") is not None:
        return Weight(0.0)
    reasons, confidence = [finding.message, "gradient_clip is null: nothing is clipped"], 0.4
    norms = case.window.last("policy.gradient_norm_max")
    if len(norms) and float(norms.max()) > SPIKE * median(norms):
        reasons.append(f"a gradient of norm {norms.max():.3g}; {median(norms):.3g} is usual")
        confidence += 0.35
    return Weight(confidence, tuple(reasons))


CAUSE = Cause(
    id="C274",
    name="gradients-unclipped",
    explanation="Without a limit on the gradient's norm one unlucky batch can undo what many "
    "updates have learned.",
    explains=("D146", "D156", "D157", "D009", "D142", "D001", "D102", "D150"),
    evidence_for="No clipping, and a gradient many times the usual one.",
    evidence_against="Gradients of one size.",
    would_decide="A fork from before the fall with gradient_clip = 1.",
    remedies=("R364",),
    weigh=weigh,
    traits=("language",),
)
