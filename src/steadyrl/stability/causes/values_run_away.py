"""C229: the critic feeds on its own errors."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight


def weigh(case: Case) -> Weight:
    """Values beyond all returns; by which door they left, a log does not say."""
    finding = case.found("D042")
    return Weight(0.5, (finding.message,)) if finding else Weight(0.0)


CAUSE = Cause(
    id="C229",
    name="values-run-away",
    explanation="Bootstrapped targets rise with the values they are made of: steps too large, "
    "targets that follow too fast, ends that are bootstrapped across, or rewards in a scale that "
    "the critic cannot hold.",
    explains=("D042", "D005", "D011", "D009"),
    evidence_for="Mean action values many times the largest return.",
    evidence_against="None.",
    would_decide="A callback's record: it has the bound that rewards allow, the error at ends and "
    "how far targets move.",
    remedies=("R301", "R303"),
    weigh=weigh,
    traits=("off_policy",),
)
