"""C253: too few conjugate-gradient steps."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight


def weigh(case: Case) -> Weight:
    """An unsolved system, weightier if searches fail."""
    finding = case.found("D110")
    if finding is None:
        return Weight(0.0)
    return Weight(0.7 if case.found("D109") else 0.35, (finding.message,))


CAUSE = Cause(
    id="C253",
    name="curvature-not-solved",
    explanation="The natural gradient is a guess: its equation was left unsolved.",
    explains=("D110", "D109"),
    evidence_for="A residual near the gradient's own size.",
    evidence_against="A small residual.",
    would_decide="A fork with twice as many cg_iterations, or ten times the damping.",
    remedies=("R336",),
    weigh=weigh,
    traits=("on_policy", "trust_region"),
)
