"""C260: certainty without end, and an optimiser that remembers too long."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight

SMALL = -4.0  # log deviation
FLAT = 3.0  # times the usual squared error


def weigh(case: Case) -> Weight:
    """The loss leapt where deviations are tiny, the error did not, and a floor explains it away."""
    finding = case.found("D120", "D121")
    if finding is None or not case.window.latest("bc.log_std_min") < SMALL:
        return Weight(0.0)
    low = case.window.lowest("bc.log_std_min")
    reasons = [finding.message, f"the smallest log standard deviation is {low:.2f}"]
    against, confidence = [], 0.6
    ratio = finding.evidence.get("mse_ratio", 1.0)
    if ratio > FLAT:
        against.append(f"the squared error moved too ({ratio:.2g} times the usual)")
        confidence -= 0.3
    leap = case.asked("Q510", "rise")
    honest = case.asked("Q510", "honest_rise")
    if leap > 0 and honest < 0.1 * leap:
        reasons.append(
            f"with no deviation below 0.05 the same weights cost {honest:.2g} nats more, "
            f"not {leap:.3g}"
        )
        confidence += 0.2
    spread = case.window.latest("bc.batch_spread")
    if leap > 5 * spread:
        reasons.append(f"drawing alone moves a batch's loss by {spread:.2g} nats")
        confidence += 0.1
    memory = case.asked("Q511", "gradient_over_memory")
    if memory > 3:
        reasons.append(f"the gradient's square was {memory:.2g} times what Adam remembered")
        confidence += 0.05
    return Weight(min(confidence, 0.95), tuple(reasons), tuple(against))


CAUSE = Cause(
    id="C260",
    name="deviation-collapse",
    explanation="On data that is fitted well the likelihood pays for ever smaller deviations; the "
    "curvature grows as 1 / sigma^2 until an ordinary step overshoots, and Adam's long memory of "
    "small gradients makes that step a large one.",
    explains=("D120", "D121"),
    evidence_for="Tiny deviations, a flat squared error, a leap that a floor explains away.",
    evidence_against="A squared error that leaps with it.",
    would_decide="A fork with std_floor = 0.05: the leaps must be gone at every batch size.",
    remedies=("R340", "R341", "R342", "R343", "R344", "R345", "R346", "R347", "R348"),
    weigh=weigh,
    traits=("cloning",),
    references=("Seitzer et al. 2022",),
)
