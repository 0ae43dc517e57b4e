"""C270: the reward does not tell completions apart."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight


def weigh(case: Case) -> Weight:
    """Groups without spread; whether the rewards ever differed says which kind it is."""
    finding = case.found("D140") or case.found("D150")
    if finding is None or "language.skipped_share" in finding.evidence:
        return Weight(0.0)
    reasons, confidence = [finding.message], 0.7
    highest, lowest = (
        case.window.highest("rollout.return_mean"),
        case.window.lowest("rollout.return_mean"),
    )
    if highest == lowest:
        reasons.append(f"the reward has been {highest:g} from the first step on")
        confidence = 0.92
    elif case.window.highest("language.reward_std") > 0:
        reasons.append("rewards did differ once: the prompts have become too easy, or too hard")
    if lost := case.found("D157"):
        return Weight(0.2, tuple(reasons), (lost.message,))
    return Weight(confidence, tuple(reasons))


CAUSE = Cause(
    id="C270",
    name="rewards-without-spread",
    explanation="The reward function gives all completions of a prompt the same: the prompts are "
    "too easy or too hard, or the function fails (a parser that never matches, an exception taken "
    "for zero).",
    explains=("D140", "D011", "D150"),
    evidence_for="Groups without spread; a reward that never changed.",
    evidence_against="Rewards that were lost in one large update.",
    would_decide="Printing the rewards of one prompt's completions beside their text.",
    remedies=("R360",),
    weigh=weigh,
    traits=("language",),
    references=("DAPO, dynamic sampling",),
)
