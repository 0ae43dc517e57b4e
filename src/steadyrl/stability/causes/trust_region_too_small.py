"""C254: the trust region trusts too little."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight

USUAL = 5e-4


def weigh(case: Case) -> Weight:
    """The setting, with a policy that stands still."""
    region = case.setting("max_kl")
    if region is None or region >= USUAL:
        return Weight(0.0)
    finding = case.found("D107", "D011")
    reasons = [f"max_kl {region:g} is below the usual 0.001 to 0.05"]
    if finding:
        reasons.append(finding.message)
    return Weight(0.93 if finding else 0.5, tuple(reasons))


CAUSE = Cause(
    id="C254",
    name="trust-region-too-small",
    explanation="Every update is allowed so short a step that the budget ends before anything is "
    "learned.",
    explains=("D107", "D011", "D105", "D109"),
    evidence_for="A max_kl below the usual with a policy that stands still.",
    evidence_against="A usual max_kl.",
    would_decide="Forks with max_kl = 0.01 and 0.03.",
    remedies=("R334", "R338"),
    weigh=weigh,
    traits=("on_policy", "trust_region"),
)
