"""C209: nothing new is ever tried."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight


def weigh(case: Case) -> Weight:
    """Missing noise together with a lack of progress."""
    finding = case.found("D014")
    if finding is None:
        return Weight(0.0)
    noise = case.setting("noise_std")
    reasons = [finding.message]
    if noise is not None:
        reasons.append(f"noise_std is {noise:g}")
    confidence = 0.7 if case.found("D011", "D009", "D008", "D006") else 0.4
    return Weight(confidence, tuple(reasons))


CAUSE = Cause(
    id="C209",
    name="exploration-too-small",
    explanation="The policy only ever sees the results of its own actions and cannot improve on"
    " them.",
    explains=("D014", "D011", "D009", "D008", "D025", "D023"),
    evidence_for="Played actions equal the policy's.",
    evidence_against="A task that varies by itself.",
    would_decide="A fork with noise_std = 0.1.",
    remedies=("R308",),
    weigh=weigh,
    traits=("off_policy", "climbs_values"),
)
