"""Curves for charts: thinned without losing a spike, and every value that is no number kept."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from steadyrl.core.coarsen import Columns, chunks_of, in_stretches, length_of
from steadyrl.core.records import number_to_json
from steadyrl.core.signals import CATALOGUE
from steadyrl.store.foreign.run import ForeignRun

if TYPE_CHECKING:
    from steadyrl.judging import Recorded

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

POINTS = 1200  # per curve; extremes of each bucket are kept, so spikes stay visible
DIGITS = 6  # that a screen could ever show


@dataclass(frozen=True)
class Curve:
    """A line: where it has no number there is a gap, and `odd` says what stands there instead."""

    x: Sequence[float]
    y: Sequence[float | None]
    odd: Sequence[tuple[float, str]] = ()

    def to_json(self) -> dict[str, Any]:
        """As plain values; without what is empty."""
        odd = {"odd": [list(pair) for pair in self.odd]} if self.odd else {}
        return {"x": list(self.x), "y": list(self.y), **odd}


def curve(x: Floats, y: Floats, points: int = POINTS) -> Curve:
    """A curve of about so many points."""
    kept = thin(y, points)
    return _line(x[kept], y[kept])


def _line(x: Floats, y: Floats) -> Curve:
    finite = np.isfinite(y)
    found = zip(x[~finite].tolist(), y[~finite].tolist(), strict=True)
    return Curve(
        x=_plain(x),
        y=[value if known else None for value, known in zip(rounded(y), finite, strict=True)],
        odd=[(at, str(number_to_json(value))) for at, value in found],
    )


def curves_of(store: Recorded, columns: Columns | None, points: int = POINTS) -> dict[str, Curve]:
    """Every recorded signal, in the catalogue's order; of other programs every value they hold."""
    if isinstance(store, ForeignRun):
        held = {n: (series.steps, series.values) for n, series in store.series().items()}
        return {name: _curve(*held[name], points) for name in _in_order(held)}
    if columns is None:
        return {}
    return {name: _curve_of(columns, name, points) for name in _in_order(columns.signals)}


def _curve_of(columns: Columns, name: str, points: int) -> Curve:
    """The curve of one signal, of which only a part is in memory at a time."""
    count, signals = length_of(columns.signals, name), columns.signals
    size = _size(count, points)
    xs, ys, seen = [np.empty(0)], [np.empty(0)], 0
    for places, values in in_stretches(chunks_of(signals, name), size):
        ends = [at - seen for at in (0, count - 1) if 0 <= at - seen < len(values)]
        kept = np.union1d(_extremes(values, size), np.array(ends, dtype=np.int64))
        xs.append(columns.takens[places[kept]].astype(np.float64))
        ys.append(values[kept])
        seen += len(values)
    return _line(np.concatenate(xs), np.concatenate(ys))


def _curve(x: Integers, y: Floats, points: int) -> Curve:
    return curve(x.astype(np.float64), y, points)


def _in_order(names: Collection[str]) -> list[str]:
    known = [name for name in CATALOGUE if name in names]
    return [*known, *(name for name in names if name not in CATALOGUE)]


def thin(y: Floats, points: int = POINTS) -> Integers:
    """Which values to draw: of each bucket the lowest and the highest, and both ends.

    And of each bucket the first NaN and the first infinity of either sign.
    """
    count = len(y)
    ends = np.array([0, count - 1] if count else [], dtype=np.int64)
    return np.union1d(_extremes(y, _size(count, points)), ends)


def _size(count: int, points: int) -> int:
    """How many values a bucket has."""
    return 1 if count <= points else -(-count // (points // 2))


def _extremes(y: Floats, size: int) -> Integers:
    """Of each bucket the lowest, the highest, and the first of each kind of no number."""
    count = len(y)
    if size == 1:
        return np.arange(count)
    rows = -(-count // size)
    padded = np.full(rows * size, np.nan)
    padded[:count] = y
    table = padded.reshape(rows, size)
    known = np.isfinite(table)
    some = np.flatnonzero(known.any(axis=1))
    starts = some * size
    lows = starts + np.where(known, table, np.inf)[some].argmin(axis=1)
    highs = starts + np.where(known, table, -np.inf)[some].argmax(axis=1)
    kept = [lows, highs]
    for odd in (np.isnan(y), np.isposinf(y), np.isneginf(y)):
        where = np.flatnonzero(odd)
        kept.append(where[np.unique(where // size, return_index=True)[1]])
    return np.unique(np.concatenate(kept))


def rounded(values: Floats) -> list[float]:
    """With as many digits as anybody could see."""
    return [float(f"{value:.{DIGITS}g}") for value in values.tolist()]


def _plain(x: Floats) -> list[float]:
    """Whole numbers without a point: most axes count something."""
    return [int(value) if value == int(value) else value for value in x.tolist()]
