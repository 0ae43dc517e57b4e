"""C275: completions are sampled with another temperature or top_p than is trained."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight


def weigh(case: Case) -> Weight:
    """The settings, with a gap they explain or an entropy that goes their way."""
    temperature, top_p = case.setting("temperature"), case.setting("top_p")
    reasons = []
    if temperature is not None and temperature != 1.0:
        reasons.append(f"temperature is {temperature:g}")
    if top_p is not None and top_p < 1.0:
        reasons.append(f"top_p is {top_p:g}")
    if not reasons:
        return Weight(0.0)
    gap = case.found("D149")
    if gap and "language.sampling_gap" in gap.evidence:
        return Weight(0.92, (gap.message, *reasons))
    cold = (temperature or 1.0) < 1.0 or (top_p or 1.0) < 1.0
    finding = case.found("D143" if cold else "D144") or case.found("D011", "D146", "D156", "D009")
    if finding is None:
        return Weight(0.0)
    certain = finding.rule in ("D143", "D144")
    return Weight(0.6 if certain else 0.3, (finding.message, *reasons))


CAUSE = Cause(
    id="C275",
    name="sampled-otherwise",
    explanation="Tokens are drawn from a narrower or wider distribution than the one whose "
    "probabilities are trained: what is tried is not what the policy would do, and the ratios do "
    "not know.",
    explains=("D149", "D143", "D144", "D011", "D146", "D156", "D009"),
    evidence_for="A temperature other than 1 or a top_p below 1, with a gap of log-probabilities.",
    evidence_against="None.",
    would_decide="A fork with temperature = 1 and top_p = 1.",
    remedies=("R365",),
    weigh=weigh,
    traits=("language",),
    references=("trl#6789",),
)
