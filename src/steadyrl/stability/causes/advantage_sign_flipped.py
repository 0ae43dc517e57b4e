"""C248: updates go downhill."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight
from steadyrl.stability.usual import usual_rates

OVERSHOOTS = 0.5


def weigh(case: Case) -> Weight:
    """Falling objectives, unless steps overshoot."""
    finding = case.found("D108")
    if finding is None:
        return Weight(0.0)
    rate = case.setting("learning_rate")
    usual = rate is not None and rate <= usual_rates(case.config)[1]
    # Steps that are far too large may have frozen the policy since: it moved, and moves no more.
    frozen = rate is not None and not usual
    kl = case.window.highest("policy.kl") if frozen else case.window.latest("policy.kl")
    if kl > OVERSHOOTS:
        against = (f"the policy moves by {kl:.3g} nats: it overshoots",)
        reasons = [finding.message]
        if usual:  # then nothing but the sign explains why it runs away
            reasons.append("the learning rate is a usual one")
        return Weight(0.8 if usual else 0.4, tuple(reasons), against)
    return Weight(0.94, (finding.message,))


CAUSE = Cause(
    id="C248",
    name="advantage-sign-flipped",
    explanation="The policy is pushed towards what was worse than expected.",
    explains=(
        "D108",
        "D009",
        "D011",
        "D104",
        "D106",
        "D107",
        "D102",
        "D103",
        "D105",
        "D142",
        "D143",
        "D144",
        "D146",
        "D156",
        "D157",
    ),
    evidence_for="Updates that lower their own objective, time after time.",
    evidence_against="None.",
    would_decide="It is decided: read the sign of the loss.",
    remedies=("R390",),
    weigh=weigh,
    traits=("on_policy", "clipped"),
)
