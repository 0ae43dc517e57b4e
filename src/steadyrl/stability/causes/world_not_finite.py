"""C236: the environment gives numbers that are none."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight

WORLD = ("rollout.reward", "rollout.return", "rollout.episode_return", "observation.")


def weigh(case: Case) -> Weight:
    """What was not finite at first came from the environment, and nothing of the learner did."""
    finding = case.found("D001")
    if finding is None:
        return Weight(0.0)
    world = [name for name in finding.evidence if name.startswith(WORLD)]
    if not world:
        return Weight(0.0)
    if len(world) == len(finding.evidence):
        return Weight(0.9, (finding.message,))
    others = "losses or weights are not finite either: they may have come first"
    return Weight(0.35, (finding.message,), (others,))


CAUSE = Cause(
    id="C236",
    name="environment-not-finite",
    explanation="A reward or an observation is NaN or infinite: a division by zero or an "
    "unstable simulation. The learner is poisoned by it in its next update.",
    explains=("D001", "D002", "D009", "D011"),
    evidence_for="Rewards or observations that are not finite, before anything of the learner is.",
    evidence_against="Losses or weights that are not finite in the same Step.",
    would_decide="steadyrl.CheckedEnv around the environment: it raises where it happens.",
    remedies=("R397",),
    weigh=weigh,
    traits=("acts",),
)
