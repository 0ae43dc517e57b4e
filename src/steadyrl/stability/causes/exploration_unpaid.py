"""C276: nothing keeps a language model from saying the same thing every time."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight

WEAK = 0.01


def weigh(case: Case) -> Weight:
    """A collapsed entropy, and how much is paid for it."""
    finding, weight = case.found("D143"), case.setting("entropy_weight")
    if finding is None:
        return Weight(0.0)
    if weight is None:
        return Weight(0.3, (finding.message,))
    said = f"entropy_weight is {weight:g}"
    if weight >= WEAK:
        return Weight(0.25, (finding.message,), (said,))
    return Weight(0.5, (finding.message, said))


CAUSE = Cause(
    id="C276",
    name="exploration-unpaid",
    explanation="Whatever is a little more probable is reinforced more often: without a bonus, or "
    "room for rare tokens to rise, the model commits before it knows what is right.",
    explains=("D143", "D011"),
    evidence_for="A collapsed entropy with little or no entropy bonus.",
    evidence_against="A usual entropy bonus.",
    would_decide="A fork from before the collapse with entropy_weight = 0.02.",
    remedies=("R366", "R367"),
    weigh=weigh,
    traits=("language",),
    references=("DAPO, clip-higher",),
)
