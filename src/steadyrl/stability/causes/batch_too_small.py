"""C273: each update of a language model follows the chance of its own few samples."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight

ENOUGH = 256
FEW = 64


def weigh(case: Case) -> Weight:
    """Swings, and how many completions an update rests on."""
    swings = case.found("D145", "D147")
    finding = swings or case.found("D146", "D156", "D157", "D142", "D102", "D009", "D011")
    samples = case.config.samples_per_update if case.config else 0
    if finding is None or (not samples and swings is None):
        return Weight(0.0)
    if not samples:
        return Weight(0.35, (finding.message,))
    said = f"an update rests on {samples} completions"
    if samples >= ENOUGH:
        return Weight(0.2 if swings else 0.0, (finding.message,), (said,))
    confidence = 0.6 if swings else 0.3
    return Weight(confidence + (0.1 if samples <= FEW else 0.0), (finding.message, said))


CAUSE = Cause(
    id="C273",
    name="batch-too-small",
    explanation="The gradient of few completions is mostly noise: updates point now this way and "
    "now that, and steps that would be right on average add up to nothing or to harm.",
    explains=("D145", "D147", "D146", "D156", "D157", "D142", "D102", "D009", "D011"),
    evidence_for="Rewards or lengths that swing to and fro; fewer than 256 completions per update.",
    evidence_against="Many completions per update.",
    would_decide="'steadyrl noise' measures how many completions a gradient needs.",
    remedies=("R363", "R301"),
    weigh=weigh,
    traits=("language",),
)
