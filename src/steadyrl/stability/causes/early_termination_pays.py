"""C208: the task rewards failing early."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight


def weigh(case: Case) -> Weight:
    """Episodes cut short in a task whose every step costs."""
    finding = case.found("D010")
    if finding is None:
        return Weight(0.0)
    reasons, against, confidence = [finding.message], [], 0.6
    negative = case.window.latest("rollout.reward_negative_share")
    if negative >= 0.99:
        reasons.append("every single reward is negative: each step survived costs")
        confidence += 0.25
    elif negative < 0.5:
        against.append("rewards are not always negative")
        confidence -= 0.3
    ratio = case.window.highest("q.bound_ratio")
    if ratio < 1:
        reasons.append(f"the critic is sound (|Q| at most {ratio:.2g} of its bound): it is right")
        confidence += 0.08
    if case.found("D018", "D020", "D021"):
        against.append("an invariant is violated, which explains it without the task")
        confidence -= 0.5
    return Weight(confidence, tuple(reasons), tuple(against))


CAUSE = Cause(
    id="C208",
    name="early-termination-pays",
    explanation="Every step costs and ending the episode is free, so the best policy is to fail at "
    "once. The learner found it. Batch size, learning rate and clipping do not change that.",
    explains=("D010", "D008", "D009", "D011", "D007", "D006", "D023", "D025", "D004"),
    evidence_for="Always negative rewards; episodes that end sooner than an untrained policy's.",
    evidence_against="Positive rewards; a violated invariant; episodes that end at a goal.",
    would_decide="A run in which termination costs as much as living on would have.",
    remedies=("R306", "R391"),
    weigh=weigh,
    traits=("acts",),
)
