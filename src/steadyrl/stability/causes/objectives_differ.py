"""C252: the search judges by another objective than the gradient follows."""

from __future__ import annotations

from steadyrl.stability.detectors.line_search_fails import REASONS
from steadyrl.stability.rules import Case, Cause, Weight


def weigh(case: Case) -> Weight:
    """Failures without improvement where nothing else explains them."""
    finding = case.found("D109")
    if finding is None:
        return Weight(0.0)
    evidence = finding.evidence
    others = sum(evidence.get(r, 0.0) for r in REASONS if r != "no_improvement")
    if others >= evidence.get("no_improvement", 0.0):
        return Weight(0.1, (finding.message,), ("most searches fail for another reason",))
    if case.found("D110"):
        return Weight(0.4, (finding.message,), ("conjugate gradients have not converged",))
    return Weight(0.75, (finding.message,))


CAUSE = Cause(
    id="C252",
    name="objectives-differ",
    explanation="The direction is made for one objective and accepted by another: good steps "
    "are rejected however short they are.",
    explains=("D109", "D011", "D113"),
    evidence_for="Searches that fail for lack of improvement although CG has converged and the "
    "region is small.",
    evidence_against="Failures by KL, or an unsolved system.",
    would_decide="Recomputing the objective at the old weights: it must equal the one stored.",
    remedies=("R390",),
    weigh=weigh,
    traits=("on_policy", "trust_region"),
)
