"""How the components of observations vary."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray


def spread(observations: NDArray[Any]) -> dict[str, float]:
    """Whether components (the last axis) vary along the first, and on one scale.

    A component that differs between environments but never changes within one is constant.
    """
    others = tuple(range(observations.ndim - 1))
    moving = (observations != observations[:1]).any(axis=others)
    varying = observations.std(axis=others)[moving]
    signals = {"observation.constant_share": 1.0 - len(varying) / len(moving)}
    varying = varying[varying > 0]  # a change too small for the arithmetic is on no scale
    if len(varying):
        signals["observation.scale_ratio"] = float(varying.max() / varying.min())
    return signals
