"""C282: the first steps are made at the full learning rate."""

from __future__ import annotations

from steadyrl.maths.robust import median
from steadyrl.stability.rules import Case, Cause, Weight

FIRST = 3  # updates
JUMP = 0.2  # nats
TIMES = 5.0


def weigh(case: Case) -> Weight:
    """A policy that jumped in its first updates and never again, at a rate that did not rise."""
    finding = case.found("D156", "D157", "D146", "D009", "D011", "D102")
    warm_up = case.setting("warm_up")
    begun = case.setting("critic_warm_up") or 0  # until then the policy stays as it is
    first, later = case.window.split("policy.kl", begun + FIRST + 1)
    if finding is None or warm_up is None or not len(first) or len(later) < FIRST:
        return Weight(0.0)
    jump, usual = float(first.max()), median(later)
    if not (jump > JUMP and jump > TIMES * usual):
        return Weight(0.0)
    moved = f"one of the first {FIRST} updates moved the policy by {jump:.3g} nats, later ones by "
    reasons = [moved + f"{usual:.3g}", finding.message]
    if warm_up > 0:
        return Weight(0.2, tuple(reasons), (f"the rate rises over {warm_up:g} updates",))
    return Weight(0.8, (*reasons, "the learning rate is at its full value from the first step on"))


CAUSE = Cause(
    id="C282",
    name="full-rate-at-once",
    explanation="Adam's first steps are as long as the learning rate allows, whatever the "
    "gradient, since it has no record of how large gradients are. A model that begins well loses "
    "in one update what it could do.",
    explains=("D156", "D157", "D146", "D009", "D011", "D102"),
    evidence_for="One of the first updates moves the policy far more than all later ones; "
    "warm_up 0.",
    evidence_against="A rate that rises over several updates; updates that all move it far.",
    would_decide="The same run from its beginning with warm_up 5.",
    remedies=("R374", "R301"),
    weigh=weigh,
    traits=("language",),
)
