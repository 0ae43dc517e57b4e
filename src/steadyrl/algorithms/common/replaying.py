"""What both kinds of experience replay share, and what they tell of themselves."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import numpy as np
import psutil
from numpy.typing import NDArray

from steadyrl.algorithms.common.replay_config import ReplayConfig
from steadyrl.core.errors import ConfigError
from steadyrl.experience.aged import AgedExperience, Limits
from steadyrl.maths.off_policy import effective_share

Array = NDArray[Any]
LOGGER = logging.getLogger("steadyrl")


def empty_buffer(settings: ReplayConfig) -> AgedExperience:
    """Room for as much as is ever kept."""
    room = max(settings.capacity, settings.capacity_first or 0)
    return AgedExperience(room, alpha=settings.exponent, beta=settings.beta)


def limits_at(settings: ReplayConfig, progress: float) -> Limits:
    """What may be drawn when this share of the budget is used."""
    return Limits(settings.capacity_at(progress), settings.staleness, settings.reuse)


def suit(experience: AgedExperience, settings: ReplayConfig, mask: tuple[int, ...]) -> None:
    """Follow settings that may have changed; items that no longer fit them are forgotten, aloud."""
    experience.set_alpha(settings.exponent)
    if lost := experience.forget_others(mask):
        LOGGER.info("replay: %d items of another shape are forgotten", lost)


def announce(experience: AgedExperience, items: Mapping[str, Array]) -> None:
    """Say what the buffer will take, before it does; one that does not fit is refused."""
    if experience.added:
        return
    size, free = experience.bytes_of(items), psutil.virtual_memory().available
    what = f"replay.capacity = {experience.capacity:,} items take {size / 1e6:,.1f} MB"
    if size > free:
        raise ConfigError(
            f"{what}, but only {free / 1e6:,.0f} MB are free. Use a capacity of at most "
            f"{int(0.8 * free * experience.capacity / size):,}."
        )
    LOGGER.info("%s", what)


def effective_by_age(ratios: Array, ages: Array) -> dict[str, float]:
    """Effective sample size of policy ratios as a share: of all, of the younger half, the older."""
    middle = np.median(ages)
    return {
        "aged.effective_share": effective_share(ratios),
        "aged.effective_share_young": effective_share(ratios[ages <= middle]),
        "aged.effective_share_old": effective_share(ratios[ages >= middle]),
    }
