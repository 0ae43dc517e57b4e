"""What counts as a run's end: the last tenth of what was measured, at least three values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steadyrl.core.traits import Score

FINAL_SHARE = 0.1
FEWEST = 3


def final_mean(values: Sequence[float]) -> float:
    """The mean of the end; NaN if there is nothing."""
    return float(np.mean(values[-_count(values) :])) if len(values) else float("nan")


def first_mean(values: Sequence[float]) -> float:
    """The mean of a beginning of the same length."""
    return float(np.mean(values[: _count(values)])) if len(values) else float("nan")


def final_score(score: Score, values: Sequence[float]) -> float:
    """The end of a score's values, higher always better; NaN if there are none."""
    if not len(values):
        return float("nan")
    end = final_mean(values) if score.last is None else float(np.median(values[-score.last :]))
    return score.rank(end)


def _count(values: Sequence[float]) -> int:
    return max(1, min(len(values), max(FEWEST, round(FINAL_SHARE * len(values)))))
