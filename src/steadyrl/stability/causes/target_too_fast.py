"""C205: no target network to speak of."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight


def weigh(case: Case) -> Weight:
    """The target follows at once and something else is wrong too."""
    finding = case.found("D013")
    if finding is None:
        return Weight(0.0)
    tau = case.setting("tau")
    reasons, confidence = [finding.message], 0.5
    if isinstance(tau, float | int) and tau >= 0.1:
        reasons.append(f"tau is {tau:g}; 0.005 is usual")
        confidence += 0.25
    if case.found("D005", "D006", "D009", "D011"):
        confidence += 0.1
    rate = case.setting("learning_rate")
    against: tuple[str, ...] = ()
    if isinstance(rate, float) and rate > 3e-3:
        against = (f"learning_rate {rate:g} is high as well",)
        confidence -= 0.15
    return Weight(confidence, tuple(reasons), against)


CAUSE = Cause(
    id="C205",
    name="target-too-fast",
    explanation="The critic bootstraps from itself; each error becomes the next target.",
    explains=("D013", "D005", "D006", "D009", "D011", "D008", "D025"),
    evidence_for="Target and online critic are the same for practical purposes.",
    evidence_against="A learning rate that would explain it alone.",
    would_decide="A fork with tau = 0.005 and nothing else changed.",
    remedies=("R304",),
    weigh=weigh,
    traits=("off_policy", "climbs_values"),
)
