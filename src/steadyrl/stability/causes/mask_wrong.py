"""C278: the mask of trained tokens is wrong."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight


def weigh(case: Case) -> Weight:
    """The invariant itself is the evidence."""
    finding = case.found("D151")
    return Weight(0.97, (finding.message,)) if finding else Weight(0.0)


CAUSE = Cause(
    id="C278",
    name="mask-wrong",
    explanation="Prompts or padding are trained, or the end of completions is not: a mask shifted "
    "by one, or a padding token that is also the end of text.",
    explains=(
        "D151",
        "D141",
        "D142",
        "D143",
        "D144",
        "D146",
        "D156",
        "D157",
        "D149",
        "D009",
        "D011",
    ),
    evidence_for="A violated invariant: on correct code it holds exactly, whatever the settings.",
    evidence_against="None.",
    would_decide="It is decided: print one completion's tokens beside its mask.",
    remedies=("R390",),
    weigh=weigh,
    traits=("language",),
    references=("The N+ Implementation Details of RLHF with PPO",),
)
