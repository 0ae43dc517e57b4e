"""C272: steps too large for a language model."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight

USUAL = 1e-4


def weigh(case: Case) -> Weight:
    """Distance from the reference, and the learning rate."""
    finding = case.found("D142", "D009", "D001")
    if finding is None:
        return Weight(0.0)
    rate = case.setting("learning_rate")
    reasons, against, confidence = [finding.message], [], 0.45
    if rate is not None and rate > USUAL:
        reasons.append(f"learning_rate {rate:g} is above the usual {USUAL:g}")
        confidence += 0.4
    elif rate is not None:
        against.append(f"learning_rate {rate:g} is in the usual range")
    return Weight(confidence, tuple(reasons), tuple(against))


CAUSE = Cause(
    id="C272",
    name="reference-abandoned",
    explanation="Updates are larger than the rewards can justify, and nothing ties the model to "
    "where it came from.",
    explains=("D142", "D009", "D001"),
    evidence_for="A KL per token of whole nats; a learning rate above the usual.",
    evidence_against="A usual learning rate.",
    would_decide="A run with a tenth of the learning rate, or with beta = 0.01.",
    remedies=("R362",),
    weigh=weigh,
    traits=("language",),
)
