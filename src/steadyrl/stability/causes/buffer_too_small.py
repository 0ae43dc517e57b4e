"""C216: the buffer is too small for what it should remember."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight

FEW = 10  # batches


def weigh(case: Case) -> Weight:
    """A short memory or a batch as large as the content."""
    finding = case.found("D027", "D022")
    size, batch = case.setting("buffer_size"), case.setting("batch_size")
    if finding is None:
        return _by_settings(case, size, batch)
    reasons = [finding.message]
    few = bool(size and batch and size < FEW * batch)
    if size and (few or case.found("D027")):
        reasons.append(f"buffer_size is {size:,}")
    share = case.asked("Q504", "data.buffer_share")
    if share > 0.1:
        reasons.append(f"a batch is {share:.0%} of all that is remembered")
    if case.found("D027"):
        return Weight(0.8, tuple(reasons))
    if size and batch and not few:
        return Weight(
            0.1, (finding.message,), (f"buffer_size {size:,} is {size // batch} batches",)
        )
    return Weight(0.6, tuple(reasons))


def _by_settings(case: Case, size: float | None, batch: float | None) -> Weight:
    """Where nobody looked into the buffer: one of a few batches, in a run that needs more."""
    if case.window.has("replay.size") or not size or not batch or size >= FEW * batch:
        return Weight(0.0)
    return Weight(0.5, (f"buffer_size {size:,} is {size / batch:.0f} batches",))


CAUSE = Cause(
    id="C216",
    name="buffer-too-small",
    explanation="Experience is forgotten before it is learned from; batches show one situation.",
    explains=("D027", "D022", "D006", "D009", "D011", "D008", "D023", "D025", "D004"),
    evidence_for="A full buffer that covers a sliver of the run.",
    evidence_against="A large buffer.",
    would_decide="A run with a buffer of 100,000.",
    remedies=("R311",),
    weigh=weigh,
    traits=("off_policy",),
)
