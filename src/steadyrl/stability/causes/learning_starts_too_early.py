"""C223: updates begin before there is anything to learn from."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight


def weigh(case: Case) -> Weight:
    """Repetitive batches while the buffer itself is large enough."""
    finding = case.found("D022")
    if finding is None:
        return Weight(0.0)
    starts, batch = case.setting("learning_starts"), case.setting("batch_size")
    if starts is None or not batch:
        return Weight(0.3, (finding.message,))
    if starts >= 5 * batch:
        return Weight(0.05, (finding.message,), (f"learning_starts {starts:,} is late enough",))
    said = f"learning_starts {starts:,} is {starts / batch:.1f} batches of {batch:,}"
    return Weight(0.45, (finding.message, said))


CAUSE = Cause(
    id="C223",
    name="learning-starts-too-early",
    explanation="The first batches are drawn from a buffer that holds hardly more than they do: "
    "the same few transitions are fitted again and again.",
    explains=("D022", "D023", "D025"),
    evidence_for="Batches that repeat themselves, learning that starts within a few batches.",
    evidence_against="A late start; then the buffer is too small.",
    would_decide="A run that begins to learn after five batches' worth of steps.",
    remedies=("R314",),
    weigh=weigh,
    traits=("off_policy",),
)
