"""C247: acting and learning disagree about probabilities."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight

ROUNDING = 1e-3


def weigh(case: Case) -> Weight:
    """The invariant itself is the evidence."""
    finding = case.found("D101")
    if finding is None:
        return Weight(0.0)
    apart = case.found("D149")
    if apart and "language.sampler_gap" in apart.evidence:
        against = ("what samples and what trains differ as a whole: C277 says how",)
        return Weight(0.6, (finding.message,), against)
    if case.window.lowest("policy.first_ratio_error") > ROUNDING:
        return Weight(0.96, (finding.message, "it was so in every update"))
    against = ("some updates began with ratios of 1: the numbers have grown beyond float32",)
    return Weight(0.4, (finding.message,), against)


CAUSE = Cause(
    id="C247",
    name="probabilities-mismatch",
    explanation="Log-probabilities are computed differently when acting and when learning, so "
    "that every ratio is wrong from the start.",
    explains=("D101", "D102", "D103", "D104", "D108", "D009", "D011", "D106"),
    evidence_for="A violated invariant: on correct code it holds exactly, whatever the settings.",
    evidence_against="Of a language model, a gap between the passes that sample and train (C277).",
    would_decide="It is decided: compare the two computations on one observation.",
    remedies=("R390",),
    weigh=weigh,
    traits=("on_policy",),
)
