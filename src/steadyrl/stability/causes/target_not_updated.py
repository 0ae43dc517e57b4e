"""C204: the target network is not updated."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight


def weigh(case: Case) -> Weight:
    """A frozen target; tau tells a setting from a bug."""
    finding = case.found("D012")
    if finding is None:
        return Weight(0.0)
    tau = case.setting("tau")
    if isinstance(tau, float | int) and tau < 1e-4:
        return Weight(0.97, (finding.message, f"tau is {tau:g}"))
    said = f"tau is {tau:g}, so the update itself is missing" if tau is not None else ""
    return Weight(0.95, tuple(text for text in (finding.message, said) if text))


CAUSE = Cause(
    id="C204",
    name="target-not-updated",
    explanation="Targets come from a network that never learns, so values never grow past one "
    "step.",
    explains=("D012", "D006", "D011", "D008", "D025", "D009", "D023"),
    evidence_for="The target's weights hardly move while the online critic's do.",
    evidence_against="None: this is measured directly.",
    would_decide="Reading the target's weights before and after an update.",
    remedies=("R304", "R390"),
    weigh=weigh,
    traits=("off_policy", "climbs_values"),
)
