"""C210: noise plays, the policy watches."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight


def weigh(case: Case) -> Weight:
    """Dominating noise."""
    finding = case.found("D015")
    if finding is None:
        return Weight(0.0)
    noise = case.setting("noise_std")
    reasons, confidence = [finding.message], 0.65
    if isinstance(noise, float | int) and noise >= 0.5:
        reasons.append(f"noise_std is {noise:g}; actions span -1..1")
        confidence += 0.2
    return Weight(confidence, tuple(reasons))


CAUSE = Cause(
    id="C210",
    name="exploration-too-large",
    explanation="Actions are decided by noise and clipped to their bounds: the buffer says little "
    "about what the policy would do.",
    explains=("D015", "D011", "D009", "D008", "D006", "D023", "D025"),
    evidence_for="Played actions are far from the policy's.",
    evidence_against="None: this is measured directly.",
    would_decide="A fork with noise_std = 0.1.",
    remedies=("R308",),
    weigh=weigh,
    traits=("off_policy", "climbs_values"),
)
