"""C207: truncation-as-termination."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight


def weigh(case: Case) -> Weight:
    """The invariant itself is the evidence."""
    finding = case.found("D019")
    if finding:
        return Weight(0.95, (finding.message,))
    cut = case.asked("Q502", "truncated_as_terminated")
    if cut > 0:
        return Weight(0.9, (f"{cut:.0%} of the time limits are stored as ends",))
    return Weight(0.0)


CAUSE = Cause(
    id="C207",
    name="truncation-as-termination",
    explanation="A time limit is learned as death: values near the limit are wrong for no "
    "visible reason.",
    explains=("D019", "D006", "D011", "D009", "D025"),
    evidence_for="A violated invariant: on correct code it holds exactly, whatever the settings.",
    evidence_against="None.",
    would_decide="It is decided: read the code that the remedy names.",
    remedies=("R390",),
    weigh=weigh,
    traits=("acts",),
)
