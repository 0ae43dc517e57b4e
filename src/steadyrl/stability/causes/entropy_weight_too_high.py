"""C246: randomness pays more than reward."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight
from steadyrl.stability.usual import usual_entropy_weight

PAYS = 0.01  # with such a weight, deviations that grow without end are paid for


def weigh(case: Case) -> Weight:
    """The weight in force, with a policy that stays random."""
    configured = case.setting("entropy_weight")
    in_force = case.window.has("setting.entropy_weight")
    weight = case.window.latest("setting.entropy_weight") if in_force else configured
    if weight is None:
        return Weight(0.0)
    finding, usual = case.found("D113", "D105", "D144"), usual_entropy_weight(case.config)
    if weight <= usual:
        # Usual, and yet too much here: what counts is how hard it pulls against the surrogate.
        pulls = finding is not None and finding.rule == "D113"
        grows = finding is not None and "policy.std" in finding.evidence and weight >= PAYS
        if finding is None or not (pulls or grows):
            return Weight(0.0)
        return Weight(0.7, (f"entropy_weight is {weight:g}", finding.message))
    reasons = [f"entropy_weight {weight:g} is above the usual {usual:g}"]
    if finding:
        reasons.append(finding.message)
    pull = case.window.latest("trpo.entropy_pull")
    if pull > 1:
        reasons.append(f"the bonus pulls {pull:.1f} times as hard as the surrogate")
    return Weight(0.93 if finding else 0.6, tuple(reasons))


CAUSE = Cause(
    id="C246",
    name="entropy-weight-too-high",
    explanation="The entropy bonus outweighs the advantages: the policy is paid for being random.",
    explains=("D105", "D113", "D144", "D011", "D009", "D109", "D142", "D146", "D156"),
    evidence_for="A policy that stays random with a large entropy weight.",
    evidence_against="A small entropy weight.",
    would_decide="A fork with entropy_weight = 0.01.",
    remedies=("R332",),
    weigh=weigh,
    traits=("on_policy",),
)
