"""C244: the clip does not hold."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight
from steadyrl.stability.usual import clip_settings

USUAL = 0.4


def weigh(case: Case) -> Weight:
    """The setting, with a policy that jumps."""
    held = {"clip_range": case.setting("clip_range"), **clip_settings(case.config)}
    wide = {name: clip for name, clip in held.items() if clip is not None and clip > USUAL}
    if not wide:
        return Weight(0.0)
    finding = case.found("D102", "D009", "D104", "D142", "D143", "D144", "D146", "D156", "D157")
    reasons = [f"{name} {clip:g} is above the usual 0.1 to 0.3" for name, clip in wide.items()]
    if finding:
        reasons.append(finding.message)
    return Weight(0.8 if finding else 0.4, tuple(reasons))


CAUSE = Cause(
    id="C244",
    name="clip-range-too-large",
    explanation="With a wide clip range PPO is plain policy gradient repeated on old data: "
    "nothing stops the policy from leaving.",
    explains=("D102", "D104", "D009", "D011", "D142", "D143", "D144", "D146", "D156", "D157"),
    evidence_for="A clip range above the usual, a large KL, few clipped samples.",
    evidence_against="A usual clip range.",
    would_decide="A fork with clip_range = 0.2.",
    remedies=("R331",),
    weigh=weigh,
    traits=("on_policy", "clipped"),
)
