"""C201: steps too large for the critic to settle."""

from __future__ import annotations

from steadyrl.stability.detectors.weights_frozen import NEGLIGIBLE
from steadyrl.stability.rules import Case, Cause, Weight

WORSENED = 3.0  # the probe's own line between "the same" and "far higher"
USUAL = 3e-3  # above this, Adam on small networks seldom settles; see docs/rules


def weigh(case: Case) -> Weight:
    """Divergence or misfit, with large relative weight changes."""
    return _weighed(case) if case.descends() else Weight(0.0)


def _weighed(case: Case) -> Weight:
    reasons, against = [], []
    confidence = 0.25
    changes = case.window.latest("critic.update_ratio", 0.0)
    updates = case.window.last("train.updates", 2)
    per_update = changes / max(updates[-1] - updates[0], 1.0) if len(updates) == 2 else 0.0
    rate = case.setting("learning_rate")
    if isinstance(rate, float) and rate > USUAL:
        reasons.append(f"learning_rate {rate:g} is above the usual {USUAL:g}")
        confidence += 0.45
    elif rate is not None:
        against.append(f"learning_rate {rate:g} is in the usual range")
    if per_update > 1e-3:
        reasons.append(f"the critic changes by {per_update:.1e} of its size in every update")
        confidence += 0.15
    for rule, text in (
        ("D005", "the critic diverged"),
        ("D042", "the critic's values left the scale of the returns"),
        ("D004", "gradients spiked"),
        ("D024", "units died"),
    ):
        if case.found(rule):
            reasons.append(text)
            confidence += 0.05
    frozen = case.found("D002")
    if frozen and frozen.evidence.get("actor.gradient_norm", 1.0) <= NEGLIGIBLE:
        reasons.append("the actor is so saturated that its gradient is as good as zero")
        confidence += 0.1
    if case.asked("Q501", "now") > WORSENED * case.asked("Q501", "one_step_ago"):
        reasons.append("the same batch was easier a Step ago: the steps did it, not the data")
        confidence += 0.1
    tau = case.setting("tau")
    if isinstance(tau, float) and tau > 0.1 and case.found("D013"):
        against.append(f"tau {tau:g} alone can do this")
        confidence -= 0.1
    if case.found("D018", "D020", "D021"):
        against.append("an invariant is violated, which explains it without any setting")
        confidence -= 0.4
    return Weight(confidence, tuple(reasons), tuple(against))


CAUSE = Cause(
    id="C201",
    name="learning-rate-too-high",
    explanation="Every update overshoots: the networks jump about instead of settling, units die, "
    "actions saturate, and the critic may diverge.",
    explains=(
        "D001",
        "D002",
        "D004",
        "D005",
        "D006",
        "D008",
        "D009",
        "D011",
        "D024",
        "D025",
        "D042",
    ),
    evidence_for="A learning rate above the usual range; large weight change per update; spikes.",
    evidence_against="A usual learning rate; a violated invariant.",
    would_decide="A fork with learning_rate / 10 and nothing else changed.",
    remedies=("R301",),
    weigh=weigh,
    traits=("acts",),
)
