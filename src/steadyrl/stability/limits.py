"""Named sets of limits: the run's own past by default, or the source documents' absolute numbers.

A set names rules and what is otherwise about their limits; a rule that is off by default is on in a
set that names it. Which set judges a run is its setting `limits`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, get_args

from steadyrl.core.choices import Limits
from steadyrl.stability.detectors import DEFAULT, OPTIONAL
from steadyrl.stability.rules import Detector

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig

SETS: Mapping[Limits, Mapping[str, Mapping[str, float]]] = {
    "relative": {},
    "document": {
        "D040": {},  # stage gates of value learners
        "D142": {"kl": 0.5},
        "D143": {"entropy": 0.5},
        "D145": {"range": 0.3},
        "D146": {"newest": 1, "past": 9, "over_noise": 0.0},
    },
}

assert set(SETS) == set(get_args(Limits))


def detectors_of(config: RunConfig | None) -> tuple[Detector, ...]:
    """All rules that are on for a run, with the limits it is held to."""
    return _held_to(config.limits if config else "relative")


@cache
def _held_to(name: Limits) -> tuple[Detector, ...]:
    changed = SETS[name]
    optional = [rule for rule in OPTIONAL if rule.id in changed]
    return tuple(
        replace(rule, limits={**rule.limits, **changed.get(rule.id, {})})
        for rule in (*DEFAULT, *optional)
    )


def sets_of(rule: Detector) -> dict[str, Mapping[str, float]]:
    """The sets that say something about a rule, and what."""
    return {name: rules[rule.id] for name, rules in SETS.items() if rule.id in rules}
