"""C206: terminal-mask-missing."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight


def weigh(case: Case) -> Weight:
    """The invariant itself is the evidence."""
    finding = case.found("D018")
    if finding:
        return Weight(0.96, (finding.message,))
    error = case.asked("Q502", "terminal_error")
    if error > 1e-6:
        return Weight(0.93, (f"targets of terminal transitions are off by {error:.3g}",))
    return Weight(0.0)


CAUSE = Cause(
    id="C206",
    name="terminal-mask-missing",
    explanation="Terminal states are given a future that does not exist; values grow beyond "
    "what is possible.",
    explains=("D018", "D005", "D006", "D007", "D009", "D011", "D008", "D025", "D010", "D004"),
    evidence_for="A violated invariant: on correct code it holds exactly, whatever the settings.",
    evidence_against="None.",
    would_decide="It is decided: read the code that the remedy names.",
    remedies=("R390",),
    weigh=weigh,
    traits=("acts",),
)
