"""C234: the reward is drowned in noise."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight


def weigh(case: Case) -> Weight:
    """Like transitions that do not earn alike."""
    finding = case.found("D048")
    if finding is None:
        return Weight(0.0)
    blind = case.found("D046", "D047", "D017")
    if blind:
        against = f"{blind.message}: what is paid for is then not what was seen and done"
        return Weight(0.35, (finding.message,), (against,))
    return Weight(0.8, (finding.message,))


CAUSE = Cause(
    id="C234",
    name="reward-drowned-in-noise",
    explanation="Noise in the reward is far larger than what actions change of it.",
    explains=("D048", "D011", "D009", "D106", "D006", "D007", "D025", "D023", "D043"),
    evidence_for="Transitions that are nearly alike do not share the reward's variance.",
    evidence_against="Actions that are lost or late, and observations that never change.",
    would_decide="steadyrl check --environment: the same seed and actions, rewards compared.",
    remedies=("R397",),
    weigh=weigh,
    traits=("acts",),
)
