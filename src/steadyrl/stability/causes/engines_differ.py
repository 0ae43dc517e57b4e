"""C277: the pass that samples and the pass that trains compute different probabilities."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight


def weigh(case: Case) -> Weight:
    """The gap itself is the evidence."""
    finding = case.found("D149")
    if finding is None or "language.sampler_gap" not in finding.evidence:
        return Weight(0.0)
    reasons = [finding.message]
    if case.window.latest("policy.first_ratio_error", 1.0) < 1e-3:
        reasons.append("two passes of the trainer agree with each other, so it is the sampler")
    return Weight(0.94 if finding.severity == "severe" else 0.7, tuple(reasons))


CAUSE = Cause(
    id="C277",
    name="engines-differ",
    explanation="The same tokens have other probabilities where they are sampled and where they "
    "are trained: a shift by one token, another mask or template, dropout, other weights than the "
    "newest, or low precision.",
    explains=("D149", "D101", "D102", "D009", "D011", "D142", "D146", "D156", "D157"),
    evidence_for="A gap between the log-probabilities of the two passes.",
    evidence_against="None.",
    would_decide="It is decided: compare both on one completion, token by token. A slope other "
    "than 1 is a temperature, single positions are a mask or a shift, a blur is precision.",
    remedies=("R390",),
    weigh=weigh,
    traits=("language",),
    references=("ms-swift#6678",),
)
