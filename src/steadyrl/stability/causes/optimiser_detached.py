"""C212: the optimiser does not hold the network's parameters."""

from __future__ import annotations

from steadyrl.stability.detectors.weights_frozen import NEGLIGIBLE
from steadyrl.stability.rules import Case, Cause, Weight


def weigh(case: Case) -> Weight:
    """Frozen weights although there is a gradient and a learning rate."""
    finding = case.found("D002")
    if finding is None:
        return Weight(0.0)
    critic = any(name.startswith("value.") for name in finding.evidence)
    rate = case.setting("critic_learning_rate") if critic else None
    rate = case.setting("learning_rate") if rate is None else rate
    norms = [value for name, value in finding.evidence.items() if name.endswith("norm")]
    if any(norm <= NEGLIGIBLE for norm in norms):
        against = ("without a gradient there is nothing that the optimiser could have applied",)
        return Weight(0.3, (finding.message,), against)
    if rate == 0:
        return Weight(0.1, (finding.message,), ("the learning rate is 0, which explains it",))
    return Weight(0.94, (finding.message, f"the learning rate is {rate}"))


CAUSE = Cause(
    id="C212",
    name="optimiser-detached",
    explanation="Updates are made on other parameters, or the graph to them is cut.",
    explains=("D002", "D006", "D008", "D009", "D011", "D012", "D013", "D003", "D021", "D025"),
    evidence_for="Weights exactly constant while updates are counted.",
    evidence_against="A learning rate of zero.",
    would_decide="Comparing the optimiser's parameters with the network's, by identity.",
    remedies=("R390",),
    weigh=weigh,
    references=("tianshou#425",),
)
