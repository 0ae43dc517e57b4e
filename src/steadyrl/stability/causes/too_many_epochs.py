"""C243: a rollout is used until nothing is left of it."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight
from steadyrl.stability.usual import usual_epochs

FEW = 2
GROWTH = 3.0


def weigh(case: Case) -> Weight:
    """KL that comes with the epochs, and how many there are."""
    epochs = case.setting("epochs")
    if epochs is None:
        return Weight(0.0)
    if epochs <= usual_epochs(case.config):
        finding, tokens = case.found("D102"), case.config and case.config.is_a("language")
        if finding and tokens and epochs > FEW:
            said = f"{epochs} epochs over every batch: the later ones add to it"
            return Weight(0.35, (finding.message, said), (f"{epochs} epochs are usual",))
        return Weight(0.1, (), (f"{epochs} epochs are usual",))
    reasons, confidence = [f"{epochs} epochs over every rollout"], 0.6
    first, last = case.window.latest("policy.kl_first_epoch"), case.window.latest("policy.kl")
    if last > GROWTH * first:
        reasons.append(f"KL grows from {first:.3g} in the first epoch to {last:.3g}")
        confidence += 0.25
    return Weight(confidence, tuple(reasons))


CAUSE = Cause(
    id="C243",
    name="too-many-epochs",
    explanation="Later epochs optimise a surrogate that no longer resembles the return: the "
    "policy drifts far from the one that acted.",
    explains=(
        "D102",
        "D103",
        "D104",
        "D106",
        "D009",
        "D011",
        "D142",
        "D144",
        "D146",
        "D156",
        "D157",
    ),
    evidence_for="KL that grows epoch by epoch; many epochs.",
    evidence_against="Few epochs; a large KL in the first one.",
    would_decide="A fork with 10 epochs, or with target_kl = 0.02.",
    remedies=("R330",),
    weigh=weigh,
    traits=("on_policy", "clipped"),
)
