"""C281: the reference holds a language model back."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight

STRONG = 0.2


def weigh(case: Case) -> Weight:
    """No progress, and a heavy KL term."""
    finding = case.found("D011", "D107", "D146", "D156")
    weight, where = case.setting("kl_weight"), case.setting("kl")
    if finding is None or weight is None or where in (None, "none") or weight <= STRONG:
        return Weight(0.0)
    said = f"kl_weight {weight:g} is above {STRONG:g}"
    return Weight(0.75 if weight >= 1.0 else 0.5, (finding.message, said))


CAUSE = Cause(
    id="C281",
    name="reference-too-strong",
    explanation="Every token that the reference finds less likely costs more than a right answer "
    "earns, so the model stays where it began.",
    explains=("D011", "D107", "D146", "D156"),
    evidence_for="No progress with a KL weight far above the usual 0.01 to 0.1.",
    evidence_against="None.",
    would_decide="A fork with kl_weight = 0.02.",
    remedies=("R369",),
    weigh=weigh,
    traits=("language",),
)
