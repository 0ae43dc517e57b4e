"""C262: steps too large for a clone."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight

USUAL = 3e-3


def weigh(case: Case) -> Weight:
    """The setting, with a squared error that leaps or does not fall."""
    rate = case.setting("learning_rate")
    finding = case.found("D123", "D120", "D001")
    if rate is None or finding is None:
        return Weight(0.0)
    reasons, confidence = [finding.message], 0.1
    ratio = finding.evidence.get("mse_ratio", 1.0)
    if rate > USUAL:
        reasons.append(f"learning_rate {rate:g} is above the usual {USUAL:g}")
        confidence = 0.92
    elif ratio > 3.0:
        reasons.append(f"the squared error is {ratio:.2g} times the usual")
        confidence = 0.5
    return Weight(confidence, tuple(reasons))


CAUSE = Cause(
    id="C262",
    name="cloning-rate-too-high",
    explanation="Steps overshoot: means and deviations are thrown about together.",
    explains=("D120", "D123", "D001", "D121"),
    evidence_for="A learning rate above the usual; a squared error that leaps too.",
    evidence_against="A flat squared error.",
    would_decide="A fork with learning_rate / 10.",
    remedies=("R301",),
    weigh=weigh,
    traits=("cloning",),
)
