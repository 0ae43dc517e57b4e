"""C204: the target network is not updated."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight

STILL = 1e-4  # tau: ten thousand updates move the target by two thirds of the way


def weigh(case: Case) -> Weight:
    """A frozen target; tau tells a setting from a bug."""
    finding, tau = case.found("D012"), case.setting("tau")
    if finding is None:
        return _by_settings(case)
    if isinstance(tau, float | int) and tau < STILL:
        return Weight(0.97, (finding.message, f"tau is {tau:g}"))
    said = f"tau is {tau:g}, so the update itself is missing" if tau is not None else ""
    return Weight(0.95, tuple(text for text in (finding.message, said) if text))


def _by_settings(case: Case) -> Weight:
    """Where nobody measured the targets: settings by which they cannot follow in this budget."""
    if case.window.has("target.change"):
        return Weight(0.0)
    tau, interval = case.setting("tau"), case.setting("target_interval")
    budget = case.window.budget or 0
    if tau is not None and tau < STILL:
        return Weight(0.65, (f"tau is {tau:g}: the target stays where it began",))
    if interval and 0 < budget < 2 * interval:
        said = f"the target is copied every {interval:,.0f} steps, in a run of {budget:,}"
        return Weight(0.65, (said,))
    return Weight(0.0)


CAUSE = Cause(
    id="C204",
    name="target-not-updated",
    explanation="Targets come from a network that never learns, so values never grow past one "
    "step.",
    explains=("D012", "D006", "D011", "D008", "D025", "D009", "D023"),
    evidence_for="The target's weights hardly move while the online critic's do; where nobody "
    "measured it, a tau near 0 or copies further apart than half of the run.",
    evidence_against="None where it is measured directly.",
    would_decide="Reading the target's weights before and after an update.",
    remedies=("R304", "R390"),
    weigh=weigh,
    traits=("off_policy",),
)
