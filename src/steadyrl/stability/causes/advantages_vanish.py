"""C256: success leaves only noise to learn from."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight


def weigh(case: Case) -> Weight:
    """The jump itself, unless advantages are taken as they are."""
    finding = case.found("D114")
    if finding is None:
        return Weight(0.0)
    if case.setting("normalize_advantages") is False:
        return Weight(0.2, (finding.message,), ("advantages are not normalised",))
    reasons = [finding.message]
    if case.setting("target_kl") is None:
        reasons.append("no target_kl ends an update that goes too far")
    return Weight(0.7, tuple(reasons))  # a setting far from the usual explains a jump better


CAUSE = Cause(
    id="C256",
    name="advantages-vanish",
    explanation="The task is solved, returns are all alike, and normalising turns the critic's "
    "error into advantages of full size: the policy follows noise out of the solution.",
    explains=("D114", "D102", "D103", "D009", "D011", "D106"),
    evidence_for="A jump of the policy right after advantages have shrunk to a few hundredths.",
    evidence_against="Advantages that are not normalised.",
    would_decide="It is decided by D114; a fork from before the jump with target_kl = 0.02 stays.",
    remedies=("R339", "R330"),
    weigh=weigh,
    traits=("on_policy", "clipped"),
)
