"""Whether there was enough to see: only then does silence mean health.

Rules speak after up to ENOUGH values in a row, most of them (their limits say after how many). Of
a run that ended before that, or whose record is full of holes, nobody can say that it was healthy.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from steadyrl.core.numbers import amount
from steadyrl.core.traits import ENV_STEPS
from steadyrl.stability.course import FEWEST
from steadyrl.stability.references import Reference
from steadyrl.stability.rules import Detector
from steadyrl.stability.standing import Standing
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig

Integers = NDArray[np.integer[Any]]
ENOUGH = 10  # values that a rule about training has had to look at
FEWEST_TAKEN = 2000  # env steps of a run of which anything is said
READABLE = 0.9  # share of the Steps that can be read


def doubts(window: Window, rules: Iterable[Detector]) -> list[str]:
    """Why silence does not mean health, by what was measured."""
    seen = max((values_seen(r, window) for r in rules if r.concerns == "training"), default=0)
    if not seen:
        return ["nothing was recorded that a rule about training looks at"]
    if seen < ENOUGH:
        return [f"rules need {ENOUGH} Steps, {seen} could be looked at"]
    if window.latest("train.updates") == 0:
        return ["no update was made"]
    return []


def too_short(window: Window, config: RunConfig) -> list[str]:
    """Of a run that acts: whether it had time to learn anything."""
    taken = window.step.taken if window.step else 0
    acts = "acts" in (config.traits or ()) and config.unit.one == ENV_STEPS.one
    if not acts or taken >= FEWEST_TAKEN:
        return []
    return [f"{config.unit.of(taken)} are too few to learn any task that is known"]


def not_learned(standing: Standing, known: Reference | None = None) -> list[str]:
    """Why another program's run cannot be called healthy: nothing shows that it learned."""
    if not standing.score:
        return ["no return or other score was recorded"]
    if standing.values < FEWEST:
        return [f"the {standing.score} has {standing.values} values, {FEWEST} are needed"]
    if known is not None and known.at_random:
        return [
            f"{amount(standing.last)} is hardly more than a random policy gets: {known.sentence}"
        ]
    if standing.learned == "yes":
        return []
    began, ends = amount(standing.first), amount(standing.last)
    return [f"the {standing.score} ends at {ends} and began at {began}: not clearly better"]


def values_seen(rule: Detector, window: Window) -> int:
    """How many values a rule has had to look at; settings say nothing of how training went."""
    counts = [window.count(name) for name in rule.reads if not name.startswith("setting.")]
    if rule.any_of:
        counts.append(max(window.count(name) for name in rule.any_of))
    return min(counts, default=0)


def missing_steps(indices: Integers, last: int = 0) -> int:
    """How many Steps are lacking in 1, 2, 3 ... up to the last one known of."""
    rises = bool((indices[1:] > indices[:-1]).all())  # nearly always: then all are different
    distinct = len(indices) if rises else len(np.unique(indices))
    return max(last, int(indices.max(initial=0))) - distinct
