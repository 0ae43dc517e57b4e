"""How many held-out answers a language run got right, before and after, in one line each."""

from __future__ import annotations

from collections.abc import Sequence

from steadyrl.core.records import Step

STAGES = (
    ("before", "language.accuracy_untrained"),
    ("after the warm start", "language.accuracy_warm"),
    ("at the end", "language.accuracy"),
    ("at the end, sampled", "language.accuracy_sampled"),
)


def answers(steps: Sequence[Step]) -> list[tuple[str, str]]:
    """(when, share right with its exact 95 % interval) of what was measured; [] if nothing was."""
    counted = [s.signals["language.evaluated"] for s in steps if "language.evaluated" in s.signals]
    if not counted:
        return []
    from steadyrl.maths.statistics import share_interval  # SciPy takes longer than the rest

    total, found = int(counted[-1]), []
    for when, signal in STAGES:
        shares = [step.signals[signal] for step in steps if signal in step.signals]
        if shares:
            interval = share_interval(round(shares[-1] * total), total)
            said = f"{interval.value:.1%} [{interval.low:.1%}, {interval.high:.1%}] of {total:,}"
            found.append((when, said))
    return found
