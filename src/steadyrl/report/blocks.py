"""Curves drawn with block characters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steadyrl.core.numbers import amount

BLOCKS = " ▁▂▃▄▅▆▇█"
BROKEN = "×"  # a value that is no number


def curve(
    values: Sequence[float], *, width: int = 76, height: int = 8, left: str, right: str
) -> str:
    """A block chart of a series, with the range on its left, `width` characters at most."""
    series = np.asarray(values, dtype=float)
    finite = np.where(np.isfinite(series), series, np.nan)
    low, high = float(np.nanmin(finite)), float(np.nanmax(finite))
    labels = {0: amount(high), height - 1: f"{amount(low)}"}
    margin = max(map(len, labels.values()))
    at = np.linspace(0, len(series) - 1, min(width - margin - 2, max(len(series) * 4, 32)))
    drawn = np.interp(at, np.arange(len(series)), finite)
    span = (high - low) or 1.0
    levels = np.nan_to_num((drawn - low) / span) * (height * 8 - 1) + 1
    rows = []
    for row in range(height):
        floor = (height - 1 - row) * 8
        cells = np.clip(np.round(levels - floor), 0, 8).astype(int)
        rows.append(labels.get(row, "").rjust(margin) + " ┤" + "".join(BLOCKS[c] for c in cells))
    axis = left + right.rjust(len(at) - len(left))
    return "\n".join([*rows, " " * (margin + 2) + axis])


def sparkline(
    places: Sequence[float],
    lows: Sequence[float],
    highs: Sequence[float],
    broken: Sequence[bool],
    width: int,
) -> str:
    """A series in one row of cells; its `places` are shares of that width.

    In every cell the value that is furthest from the middle of all, so that a spike of one value
    is as high as it was; where nothing was measured, what was known last. What was no number is a
    cross.
    """
    if not len(places) or width < 1:
        return ""
    low, high = np.asarray(lows, dtype=float), np.asarray(highs, dtype=float)
    known = low == low
    bottom = float(low[known].min()) if known.any() else 0.0
    top = float(high[known].max()) if known.any() else 0.0
    middle = float(np.median((low[known] + high[known]) / 2)) if known.any() else 0.0
    extremes = np.where(high - middle >= middle - low, high, low)
    drawn, furthest = [" "] * width, [-1.0] * width
    for place, value, wrong in zip(places, extremes.tolist(), broken, strict=True):
        cell = min(int(place * width), width - 1)
        far = np.inf if wrong else abs(value - middle)
        if far > furthest[cell]:
            level = (value - bottom) / (top - bottom) if top > bottom else 0.5
            drawn[cell] = BROKEN if wrong else BLOCKS[1 + round(7 * level)]
            furthest[cell] = far
    for cell in range(1, width):
        if furthest[cell] < 0:
            drawn[cell] = drawn[cell - 1]
    return "".join(drawn)
