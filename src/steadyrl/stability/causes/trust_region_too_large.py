"""C251: the trust region trusts too much."""

from __future__ import annotations

import numpy as np

from steadyrl.maths.robust import median
from steadyrl.stability.rules import Case, Cause, Weight

USUAL = 0.1
POOR = 0.3  # of the promised gain


def weigh(case: Case) -> Weight:
    """The setting, with a policy that jumps."""
    region = case.setting("max_kl")
    if region is None or region <= USUAL:
        return Weight(0.0)
    finding = case.found("D102", "D109", "D104", "D009")
    reasons = [f"max_kl {region:g} is above the usual 0.01 to 0.05"]
    if finding:
        reasons.append(finding.message)
    gains = case.window.last("trpo.gain_ratio", 10)
    gains = gains[np.isfinite(gains)]
    if len(gains) and median(gains) < POOR:
        reasons.append(f"steps gain {median(gains):.0%} of what the gradient promised")
    return Weight(0.9 if finding else 0.5, tuple(reasons))


CAUSE = Cause(
    id="C251",
    name="trust-region-too-large",
    explanation="Within so wide a region the linear objective and the quadratic KL no longer "
    "describe the policy.",
    explains=("D102", "D104", "D109", "D009", "D011"),
    evidence_for="A max_kl above the usual with a policy that jumps or searches that fail.",
    evidence_against="A usual max_kl.",
    would_decide="Forks with max_kl = 0.01 and 0.03.",
    remedies=("R334", "R338"),
    weigh=weigh,
    traits=("on_policy", "trust_region"),
)
