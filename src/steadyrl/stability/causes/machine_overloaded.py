"""C230: the machine has too little of something."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight


def weigh(case: Case) -> Weight:
    """Any of the machine's own findings."""
    finding = case.found("D031", "D032", "D033", "D030")
    if finding is None:
        return Weight(0.0)
    reasons = [f.message for f in case.findings if f.rule in ("D030", "D031", "D032", "D033")]
    return Weight(0.85 if len(reasons) > 1 or finding.rule != "D030" else 0.6, tuple(reasons))


CAUSE = Cause(
    id="C230",
    name="machine-overloaded",
    explanation="Cores, memory or disk are short: training is slow or will stop, but not wrong.",
    explains=("D030", "D031", "D032", "D033"),
    evidence_for="Load per core, swap traffic, free space, and the run's own speed.",
    evidence_against="None: this is measured directly.",
    would_decide="Running it alone on the machine.",
    remedies=("R320",),
    weigh=weigh,
    concerns="machine",
)
