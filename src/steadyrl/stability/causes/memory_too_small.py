"""C231: too much is held in memory at once."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight


def weigh(case: Case) -> Weight:
    """The finding says it all."""
    finding = case.found("D034")
    return Weight(0.9, (finding.message,)) if finding else Weight(0.0)


CAUSE = Cause(
    id="C231",
    name="memory-too-small",
    explanation="More completions, activations or logits are held at once than there is memory "
    "for. What is learned does not depend on how many are.",
    explains=("D034", "D032"),
    evidence_for="An update that did not fit; hardly any free memory.",
    evidence_against="None: this is measured directly.",
    would_decide="It is decided: resume with smaller parts.",
    remedies=("R370", "R371", "R372", "R373"),
    weigh=weigh,
    concerns="machine",
)
