"""C261: a batch of hard samples."""

from __future__ import annotations

import math

from steadyrl.stability.rules import Case, Cause, Weight


def weigh(case: Case) -> Weight:
    """The same batch was as costly before, and the whole data did not move."""
    finding = case.found("D120")
    if finding is None:
        return Weight(0.0)
    batch, full = case.asked("Q510", "batch_rise"), case.asked("Q510", "rise")
    leap = finding.evidence.get("bc.nll_max", 0.0) - finding.evidence.get("usual", 0.0)
    if math.isnan(batch):  # not asked
        return Weight(0.4, (finding.message,))
    if batch < 0.2 * leap and full < 0.2 * leap:
        said = f"the same batch cost only {batch:.2g} nats less with the weights of before"
        return Weight(0.9, (finding.message, said))
    against = (f"the same batch cost {batch:.3g} nats less with the weights of before",)
    return Weight(0.05, (finding.message,), against)


CAUSE = Cause(
    id="C261",
    name="hard-batch",
    explanation="By chance, or because the data is uneven, a batch holds far harder samples than "
    "usual.",
    explains=("D120",),
    evidence_for="The batch is as costly with older weights; the whole data costs what it did.",
    evidence_against="The batch was cheap with older weights: then the weights moved.",
    would_decide="Measuring the batch with the last Step's weights: it has been, if a probe spoke.",
    remedies=("R344", "R345", "R347"),
    weigh=weigh,
    traits=("cloning",),
)
