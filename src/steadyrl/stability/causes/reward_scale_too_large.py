"""C203: rewards of thousands."""

from __future__ import annotations

import math

from steadyrl.core.numbers import amount
from steadyrl.stability.rules import Case, Cause, Weight


def weigh(case: Case) -> Weight:
    """Large targets that stay below their bound."""
    finding = case.found("D007")
    if finding is None:
        return Weight(0.0)
    largest = case.window.highest("rollout.reward_abs_max")
    scale = case.setting("reward_scale") or 1.0
    reasons = [finding.message]
    against, confidence = [], 0.45
    if not math.isnan(largest):
        reasons.append(f"rewards reach {amount(largest * scale)} as the critic sees them")
    ratio = case.window.highest("q.bound_ratio")
    if ratio <= 1.0:
        reasons.append(f"|Q| stays within its bound ({ratio:.2g}): it is scale, not divergence")
        confidence += 0.2
    elif ratio > 1.0:
        against.append(f"|Q| exceeded its bound ({ratio:.2g}): that is divergence")
        confidence -= 0.1
    beyond = case.found("D042")
    if beyond:
        against.append(f"{beyond.message}: that is divergence")
        confidence -= 0.3
    if largest * scale >= 100:
        confidence += 0.15
    if case.found("D010"):
        against.append("episodes are cut short, which scaling does not change")
        confidence -= 0.3
    return Weight(confidence, tuple(reasons), tuple(against))


CAUSE = Cause(
    id="C203",
    name="reward-scale-too-large",
    explanation="Rewards are so large that the critic spends the budget growing, and losses look "
    "like explosions though they are only squares of large numbers.",
    explains=("D007", "D006", "D011", "D004", "D008"),
    evidence_for="Target scale in the thousands, |Q| within its bound.",
    evidence_against="|Q| beyond its bound; episodes cut short.",
    would_decide="A run with reward_scale divided by the targets' spread.",
    remedies=("R303",),
    weigh=weigh,
    traits=("off_policy",),
    references=("Henderson et al. 2018, reward scale",),
)
