"""C219: the maximum over noisy values is too high."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight


def weigh(case: Case) -> Weight:
    """Optimism below the bound, with one critic."""
    finding = case.found("D025")
    if finding is None:
        return Weight(0.0)
    if case.setting("twin_critics"):
        return Weight(0.2, (finding.message,), ("twin critics are on",))
    return Weight(0.45, (finding.message, "there is one critic"))


CAUSE = Cause(
    id="C219",
    name="value-overestimation",
    explanation="The actor exploits the critic's positive errors and bootstrapping spreads them.",
    explains=("D025", "D009", "D011"),
    evidence_for="Q above the discounted return, one critic.",
    evidence_against="Twin critics are on.",
    would_decide="A fork with twin_critics = true.",
    remedies=("R313",),
    weigh=weigh,
    traits=("off_policy", "climbs_values"),
)
