"""The catalogue of signals by group: what each number means, and how it is reduced to a Step.

A signal that is not declared here cannot be measured: its meaning, unit and reduction would be
improvised, and two runs could not be compared. Tags are Stable-Baselines3's where it has one.
"""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.core.catalogue import (
    aged,
    cloning,
    episodes,
    language,
    machine,
    networks,
    policy,
    replay,
    settings,
    trust_region,
    values,
    world,
)
from steadyrl.core.catalogue.signal import Reduction as Reduction
from steadyrl.core.catalogue.signal import Signal as Signal

_GROUPS = (
    episodes,
    world,
    values,
    networks,
    policy,
    trust_region,
    cloning,
    language,
    replay,
    aged,
    settings,
    machine,
)

CATALOGUE: Mapping[str, Signal] = {
    signal.name: signal for group in _GROUPS for signal in group.SIGNALS
}
