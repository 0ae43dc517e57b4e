"""C242: gradient steps too small for a policy."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight

USUAL = 3e-5


def weigh(case: Case) -> Weight:
    """A policy that stands still, and the setting."""
    rate = case.setting("learning_rate")
    if rate is None:
        return Weight(0.0)
    finding = case.found("D107")
    if rate >= USUAL:
        against = (f"learning_rate {rate:g} is in the usual range",)
        return Weight(0.15, (finding.message,) if finding else (), against)
    reasons = [finding.message] if finding else []
    reasons.append(f"learning_rate {rate:g} is below the usual {USUAL:g}")
    return Weight(0.9 if finding else 0.6, tuple(reasons))


CAUSE = Cause(
    id="C242",
    name="policy-learning-rate-too-low",
    explanation="The policy hardly moves; the budget ends before anything is learned.",
    explains=("D107", "D011", "D105", "D106"),
    evidence_for="KL per update of a hundred-thousandth; a learning rate below the usual.",
    evidence_against="A usual learning rate.",
    would_decide="A fork with learning_rate x 10 and nothing else changed.",
    remedies=("R302",),
    weigh=weigh,
    traits=("on_policy", "clipped"),
)
