"""C217: more updates than the data can feed."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight

MANY = 4.0  # updates per step that are suspicious by themselves, as S011 has it
LOW_RANK = 0.05  # as the feature-rank probe has it


def weigh(case: Case) -> Weight:
    """Overfitting to the buffer with several updates per environment step."""
    finding, rate = case.found("D023", "D024", "D025"), _rate(case)
    if finding is None and rate >= MANY and not case.window.has("td.fresh_ratio"):
        return Weight(0.45, (f"{rate:.2g} updates per environment step",))
    if finding is None:
        return Weight(0.0)
    if rate < 2:
        against = (f"only {rate:.2g} updates per environment step",)
        return Weight(0.25, (finding.message,), against)
    reasons = [finding.message, f"{rate:.2g} updates per environment step"]
    rank = case.asked("Q505", "rank_share")
    if rank < LOW_RANK:
        reasons.append(f"the critic's features have {rank:.0%} of their rank left")
        return Weight(0.75, tuple(reasons))
    return Weight(0.7, tuple(reasons))


def _rate(case: Case) -> float:
    """Updates per environment step, as recorded or by their number."""
    step = case.window.step
    counted = case.window.latest("train.updates", 0.0) / step.taken if step and step.taken else 0.0
    return case.window.latest("replay.updates_per_env_step", counted)


CAUSE = Cause(
    id="C217",
    name="too-many-updates",
    explanation="The critic memorises its buffer and is surprised by everything new.",
    explains=("D023", "D024", "D025", "D006", "D009", "D011"),
    evidence_for="New transitions surprise more than old ones; many updates per step.",
    evidence_against="One update per step or fewer.",
    would_decide="A fork with one update per environment step.",
    remedies=("R312",),
    weigh=weigh,
    traits=("off_policy",),
    references=("Nikishin et al. 2022",),
)
