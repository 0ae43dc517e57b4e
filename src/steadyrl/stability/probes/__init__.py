"""All probes, listed. They are asked only on alarm: each costs a few updates' time."""

from __future__ import annotations

import math
from collections.abc import Mapping

from steadyrl.core.records import Evidence
from steadyrl.stability.probes import (
    batch_composition,
    error_concentration,
    feature_rank,
    gradient_decomposition,
    leap_culprits,
    loss_leap,
    same_batch,
    terminal_targets,
)
from steadyrl.stability.rules import Probe

PROBES: tuple[Probe, ...] = (
    same_batch.PROBE,
    terminal_targets.PROBE,
    error_concentration.PROBE,
    batch_composition.PROBE,
    feature_rank.PROBE,
    gradient_decomposition.PROBE,
    loss_leap.PROBE,
    leap_culprits.PROBE,
)


def ask_all(look: Mapping[str, float]) -> dict[str, Evidence]:
    """Every probe's answer to a closer look, by the probe's id."""
    # A closer look at NaN weights sees NaN: only finite numbers can answer anything.
    look = {name: value for name, value in look.items() if math.isfinite(value)}
    answers = ((probe.id, _answer(probe, look)) for probe in PROBES)
    return {identity: evidence for identity, evidence in answers if evidence is not None}


def _answer(probe: Probe, look: Mapping[str, float]) -> Evidence | None:
    """A probe's answer; half a look is none, and must not end the training that it is about."""
    try:
        return probe.answer(look)
    except KeyError:
        return None
