"""C224: a restart forgot part of the run."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight


def weigh(case: Case) -> Weight:
    """The drop itself; nothing else happens exactly at a restart."""
    finding = case.found("D028")
    return Weight(0.8, (finding.message,)) if finding else Weight(0.0)


CAUSE = Cause(
    id="C224",
    name="state-not-restored",
    explanation="The weights were loaded and something else was not: observation statistics, the "
    "optimiser, the replay buffer, a coefficient that adapts, or a schedule that began anew.",
    explains=("D028", "D009", "D010", "D102", "D011"),
    evidence_for="The return falls exactly where the program was started again.",
    evidence_against="Training episodes and evaluations go on as before.",
    would_decide="It is decided by the moment. Evaluate the saved model before and after loading "
    "it: if it plays as well, look at what training needs beside it.",
    remedies=("R393",),
    weigh=weigh,
)
