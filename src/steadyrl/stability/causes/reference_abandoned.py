"""C272: nothing ties a language model to where it came from."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight

FIRM = 0.1


def weigh(case: Case) -> Weight:
    """Distance from the reference or a lost reward, and how hard the reference pulls."""
    left = case.found("D142")
    finding = left or case.found("D148", "D146", "D156", "D009")
    if finding is None or (not case.window.has("language.length_mean") and left is None):
        return Weight(0.0)
    where, pull = case.setting("kl"), case.setting("kl_weight")
    confidence = 0.45 if left else 0.25
    if where == "none":
        return Weight(confidence + 0.05, (finding.message, "kl is none: nothing holds it back"))
    if where is None or pull is None:
        return Weight(confidence, (finding.message,))
    if pull >= FIRM:
        against = (f"kl_weight {pull:g} pulls firmly",)
        return Weight(confidence - 0.2, (finding.message,), against)
    return Weight(confidence, (finding.message, f"kl_weight {pull:g} pulls weakly"))


CAUSE = Cause(
    id="C272",
    name="reference-abandoned",
    explanation="Updates lead further than the rewards can justify, and nothing, or too little, "
    "ties the model to where it came from.",
    explains=("D142", "D146", "D156", "D148", "D009"),
    evidence_for="A growing distance from the reference; no KL term, or a weak one.",
    evidence_against="A KL term that pulls firmly.",
    would_decide="A fork with kl_weight = 0.1, or with a tenth of the learning rate.",
    remedies=("R362", "R301"),
    weigh=weigh,
    traits=("language",),
)
