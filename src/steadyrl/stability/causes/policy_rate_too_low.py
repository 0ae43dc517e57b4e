"""C242: gradient steps too small for a policy."""

from __future__ import annotations

from steadyrl.maths.robust import median
from steadyrl.stability.rules import Case, Cause, Weight
from steadyrl.stability.usual import usual_rates

STILL = 1e-5  # change of a language model's weights per update


def weigh(case: Case) -> Weight:
    """A policy that stands still, and the setting."""
    rate = case.setting("learning_rate")
    if rate is None:
        return Weight(0.0)
    finding, usual = case.found("D107"), usual_rates(case.config)[0]
    if rate >= usual and (still := _still(case)):
        return Weight(0.5, (still,), (f"learning_rate {rate:g} is in the usual range",))
    if rate >= usual:
        against = (f"learning_rate {rate:g} is in the usual range",)
        return Weight(0.15, (finding.message,) if finding else (), against)
    reasons = [finding.message] if finding else []
    reasons.append(f"learning_rate {rate:g} is below the usual {usual:g}")
    return Weight(0.9 if finding else 0.6, tuple(reasons))


def _still(case: Case) -> str:
    """What says that a language model hardly moves; KL does not where an update is one step."""
    changes = case.window.last("policy.update_ratio", 10)
    if case.config is None or not case.config.is_a("language") or not len(changes):
        return ""
    change = median(changes)
    return f"the weights change by {change:.1e} per update" if 0 < change < STILL else ""


CAUSE = Cause(
    id="C242",
    name="policy-learning-rate-too-low",
    explanation="The policy hardly moves; the budget ends before anything is learned.",
    explains=("D107", "D011", "D105", "D106"),
    evidence_for="KL per update of a hundred-thousandth; a learning rate below the usual.",
    evidence_against="A usual learning rate.",
    would_decide="A fork with learning_rate x 10 and nothing else changed.",
    remedies=("R302",),
    weigh=weigh,
    traits=("on_policy", "clipped"),
)
