"""C245: the clip holds everything."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight
from steadyrl.stability.usual import clip_settings

USUAL = 0.05


def weigh(case: Case) -> Weight:
    """The setting, with samples that are clipped all the time."""
    held = {"clip_range": case.setting("clip_range"), **clip_settings(case.config)}
    narrow = {name: clip for name, clip in held.items() if clip is not None and clip < USUAL}
    if not narrow:
        return Weight(0.0)
    finding = case.found("D103", "D107")
    reasons = [f"{name} {clip:g} is below the usual 0.1 to 0.3" for name, clip in narrow.items()]
    if finding:
        reasons.append(finding.message)
    return Weight(0.92 if finding else 0.5, tuple(reasons))


CAUSE = Cause(
    id="C245",
    name="clip-range-too-small",
    explanation="Nearly every sample is clipped after the first steps: an update can hardly "
    "move the policy.",
    explains=("D103", "D107", "D011"),
    evidence_for="A clip range below the usual with many clipped samples.",
    evidence_against="A usual clip range.",
    would_decide="A fork with clip_range = 0.2.",
    remedies=("R331",),
    weigh=weigh,
    traits=("on_policy", "clipped"),
)
