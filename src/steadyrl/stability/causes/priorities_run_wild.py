"""C293: priorities decide too much."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight


def weigh(case: Case) -> Weight:
    """Draws that are too uneven, or uneven without a correction."""
    if collapsed := case.found("D162"):
        alpha = case.setting("replay.alpha")
        setting = (f"replay.alpha is {alpha:g}",) if alpha and alpha > 0.6 else ()
        return Weight(0.7 + 0.1 * len(setting), (collapsed.message, *setting))
    if uncorrected := case.found("D163"):
        beta = case.setting("replay.beta")
        setting = ("replay.beta is 0",) if beta == 0 else ()
        return Weight(0.7 + 0.2 * len(setting), (uncorrected.message, *setting))
    return Weight(0.0)


CAUSE = Cause(
    id="C293",
    name="priorities-run-wild",
    explanation="A few items take most of the draws, or the draws are uneven and their samples "
    "count as if they were not.",
    explains=("D162", "D163", "D009", "D010", "D011"),
    evidence_for="Few effective items, or weights of 1 at uneven draws.",
    evidence_against="Priorities of one size.",
    would_decide="A run that draws evenly.",
    remedies=("R382",),
    weigh=weigh,
    traits=("clipped",),
)
