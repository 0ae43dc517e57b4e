"""C221: the agent looks a few steps ahead only."""

from __future__ import annotations

import math

from steadyrl.maths.horizon import horizon
from steadyrl.stability.rules import Case, Cause, Weight

BLIND = 3.0  # steps ahead


def weigh(case: Case) -> Weight:
    """Nothing learned or nothing explained, with a horizon far below the episode's length."""
    gamma = case.setting("gamma")
    length = case.window.latest("rollout.length_mean")
    if gamma is None or not case.found("D011", "D106", "D009"):
        return Weight(0.0)
    ahead = horizon(gamma)
    if ahead > 0.1 * length:
        return Weight(0.05, (), (f"the horizon of {ahead:.0f} steps is long enough",))
    if math.isnan(length) and ahead > BLIND:
        return Weight(0.05, (), ("how long episodes are is not known",))
    seen = f"gamma {gamma:g} looks {ahead:.1f} steps ahead in episodes of {length:.0f}"
    # Some tasks are learned with ten steps (Pendulum is, at gamma 0.9), none with three.
    return Weight(0.75 if ahead <= BLIND else 0.4, (seen,))


CAUSE = Cause(
    id="C221",
    name="discount-too-low",
    explanation="Consequences beyond a few steps are invisible, so the policy is short-sighted.",
    explains=("D011", "D106", "D009"),
    evidence_for="1 / (1 - gamma) is a tenth of the episode or less.",
    evidence_against="A horizon comparable to the episode.",
    would_decide="A run with gamma = 0.99.",
    remedies=("R315", "R316"),
    weigh=weigh,
    traits=("acts",),
)
