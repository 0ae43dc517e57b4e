"""C213: the network sees one component only."""

from __future__ import annotations

from steadyrl.stability.detectors.observation_scale import RULE as D016
from steadyrl.stability.rules import Case, Cause, Weight

RATIO = "observation.scale_ratio"


def weigh(case: Case) -> Weight:
    """Very different scales, not normalised."""
    finding = case.found("D016")
    if finding is None:
        return Weight(0.0)
    if case.setting("normalize_observations"):
        return Weight(0.1, (finding.message,), ("observations are normalised",))
    if case.window.first(RATIO) < D016.limits["ratio"]:
        late = "while the policy was random, components spread alike: what it does came first"
        return Weight(0.4, (finding.message,), (late,))
    reasons = [finding.message, "they are not normalised"]
    first = case.asked("Q506", "gradient.first_layer_share")
    if first > 0.9:
        reasons.append(f"the first layer holds {first:.0%} of the gradient")
    troubled = case.found("D005", "D006", "D008", "D009", "D011", "D024", "D106", "D109")
    return Weight(0.85 if troubled else 0.5, tuple(reasons))


CAUSE = Cause(
    id="C213",
    name="observations-unscaled",
    explanation="One component of the observation is so large that it saturates the first layer.",
    explains=(
        "D016",
        "D004",
        "D005",
        "D006",
        "D008",
        "D009",
        "D011",
        "D023",
        "D024",
        "D025",
        "D106",
        "D109",
    ),
    evidence_for="A large ratio between the spreads of components, without normalisation.",
    evidence_against="normalize_observations is on; components that spread alike at first.",
    would_decide="A fork with normalize_observations = true.",
    remedies=("R310",),
    weigh=weigh,
    traits=("acts",),
)
