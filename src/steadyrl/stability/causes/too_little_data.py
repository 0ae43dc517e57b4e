"""C265: too few recordings for the network."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight


def weigh(case: Case) -> Weight:
    """Overfitting, with little data."""
    finding, samples = case.found("D122"), case.window.latest("bc.samples")
    if finding is None:
        return Weight(0.0)
    few = samples < 5000
    said = f"there are {samples:,.0f} transitions"
    return Weight(0.85 if few else 0.5, (finding.message, said))


CAUSE = Cause(
    id="C265",
    name="too-little-data",
    explanation="The network has room for every recording's tremor and no reason to ignore it.",
    explains=("D122",),
    evidence_for="A validation error that rises, and few transitions.",
    evidence_against="None.",
    would_decide="A fork with more trajectories, or with dropout.",
    remedies=("R347", "R349"),
    weigh=weigh,
    traits=("cloning",),
)
