"""What counts as a run's end: the last tenth of what was measured, at least three values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

FINAL_SHARE = 0.1
FEWEST = 3


def final_mean(values: Sequence[float]) -> float:
    """The mean of the end; NaN if there is nothing."""
    return float(np.mean(values[-_count(values) :])) if len(values) else float("nan")


def first_mean(values: Sequence[float]) -> float:
    """The mean of a beginning of the same length."""
    return float(np.mean(values[: _count(values)])) if len(values) else float("nan")


def _count(values: Sequence[float]) -> int:
    return max(1, min(len(values), max(FEWEST, round(FINAL_SHARE * len(values)))))
