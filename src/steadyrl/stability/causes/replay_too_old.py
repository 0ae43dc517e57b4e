"""C291: old samples are too old for the policy."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight

BOLD_STALENESS = 200  # updates; the document keeps 50 to 200


def weigh(case: Case) -> Weight:
    """Old samples that count little; more so if the older half counts less than the younger."""
    if not case.setting("replay.enabled"):
        return Weight(0.0)
    finding = case.found("D161")
    staleness = case.setting("replay.staleness")
    bold = staleness is not None and staleness > BOLD_STALENESS
    setting = (f"replay.staleness is {staleness}",) if bold else ()
    if finding is None:
        lost = case.found("D009", "D010", "D011")
        return Weight(0.3, (lost.message, *setting)) if lost and bold else Weight(0.0)
    by_age = finding.evidence.get("aged.effective_share_old", 1.0) < 0.8 * finding.evidence.get(
        "aged.effective_share_young", 0.0
    )
    reasons = (finding.message, *setting)
    against = () if by_age else ("younger samples count as little as older ones",)
    return Weight(0.4 + 0.25 * by_age + 0.2 * bold, reasons, against)


CAUSE = Cause(
    id="C291",
    name="replay-too-old",
    explanation="Between the making of a sample and its use the policy has changed so much that "
    "it would not do the same any more; such samples teach mostly noise.",
    explains=("D161", "D009", "D010", "D011", "D102"),
    evidence_for="Old samples count less the older they are.",
    evidence_against="Young ones count as little: then the policy moves too fast for any replay.",
    would_decide="A run with replay.staleness at a quarter.",
    remedies=("R381", "R383"),
    weigh=weigh,
    traits=("clipped",),
)
