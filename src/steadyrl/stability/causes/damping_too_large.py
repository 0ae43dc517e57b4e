"""C250: the step is shortened before it is measured."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight

USUAL = 0.5


def weigh(case: Case) -> Weight:
    """The setting, with steps that stay far inside."""
    damping, finding = case.setting("damping"), case.found("D111", "D107")
    if damping is None or damping <= USUAL:
        return Weight(0.0)
    reasons = [f"damping {damping:g} is above the usual 0.001 to 0.2"]
    if finding:
        reasons.append(finding.message)
    return Weight(0.93 if finding else 0.5, tuple(reasons))


CAUSE = Cause(
    id="C250",
    name="damping-too-large",
    explanation="Damping outweighs the Fisher matrix: the direction becomes the plain gradient "
    "and the step a fraction of the trust region.",
    explains=("D111", "D107", "D011"),
    evidence_for="Accepted steps that use a sliver of max_kl with a large damping.",
    evidence_against="A usual damping.",
    would_decide="A fork with damping = 0.1.",
    remedies=("R333",),
    weigh=weigh,
    traits=("on_policy", "trust_region"),
)
