"""C210: noise plays, the policy watches."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight

LARGE = 0.5  # deviation of the noise, where actions span -1..1


def weigh(case: Case) -> Weight:
    """Dominating noise."""
    finding = case.found("D015")
    if finding is None:
        return Weight(0.0)
    noise = case.setting("noise_std")
    if not isinstance(noise, float | int):
        return Weight(0.65, (finding.message,))
    said = f"noise_std is {noise:g}; actions span -1..1"
    if noise < LARGE:  # then it is the policy that has moved since they were played
        return Weight(0.25, (finding.message,), (said,))
    return Weight(0.85, (finding.message, said))


CAUSE = Cause(
    id="C210",
    name="exploration-too-large",
    explanation="Actions are decided by noise and clipped to their bounds: the buffer says little "
    "about what the policy would do.",
    explains=("D015", "D011", "D009", "D008", "D006", "D023", "D025"),
    evidence_for="Played actions are far from the policy's.",
    evidence_against="A small noise_std: then the policy has moved since.",
    would_decide="A fork with noise_std = 0.1.",
    remedies=("R308",),
    weigh=weigh,
    traits=("off_policy", "climbs_values"),
)
