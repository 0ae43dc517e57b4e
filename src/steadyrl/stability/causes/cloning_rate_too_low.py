"""C263: steps too small for a clone."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight

USUAL = 1e-5


def weigh(case: Case) -> Weight:
    """The setting, with an error that does not fall."""
    rate, finding = case.setting("learning_rate"), case.found("D123")
    if rate is None or finding is None:
        return Weight(0.0)
    if rate >= USUAL:
        return Weight(0.1, (finding.message,), (f"learning_rate {rate:g} is a usual one",))
    return Weight(0.92, (finding.message, f"learning_rate {rate:g} is below the usual {USUAL:g}"))


CAUSE = Cause(
    id="C263",
    name="cloning-rate-too-low",
    explanation="The budget ends before the clone has moved.",
    explains=("D123",),
    evidence_for="A learning rate below the usual with an error near the actions' variance.",
    evidence_against="A usual learning rate.",
    would_decide="A fork with learning_rate x 10.",
    remedies=("R302",),
    weigh=weigh,
    traits=("cloning",),
)
