"""One quantity over time, as a log holds it; and how many of them become Steps.

Logs record different things at different moments: losses at each update, returns at each episode's
end, evaluations now and then. The moments of the updates become Steps; what was recorded since the
one before is reduced as the catalogue declares.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from steadyrl.core.catalogue import CATALOGUE
from steadyrl.core.coarsen import reduce_blocks
from steadyrl.core.foreign_config import Scalar
from steadyrl.core.records import Step

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

_EPISODIC = ("rollout.", "eval.", "run.")  # recorded when something else happens than an update
_PAUSE = 60.0  # seconds without a value, and
_LONG = 30.0  # times as long as usual: the program was not running
_FEW_UPDATES = 40  # rows of losses below which episodes are moments of their own
_BETWEEN = 200  # such moments
_EPISODES_ALONE = 250  # Steps of a log that has nothing else: few rules look, and at means
_LOOPS = 2  # beginnings anew from which a log is a loop of several
_INTERLEAVED = 0.1  # share of backward steps above which several writers share a log


@dataclass(frozen=True, slots=True)
class Series:
    """Values in the order in which they were recorded."""

    steps: Places
    times: Floats  # seconds; of the clock, or since the start
    values: Floats
    order: Floats  # when it was recorded: rises through the whole log, whatever the clock does

    @staticmethod
    def joined(parts: Sequence[Series]) -> Series:
        """One after the other."""
        if len(parts) == 1:
            return parts[0]
        return Series(
            np.concatenate([part.steps for part in parts]),
            np.concatenate([part.times for part in parts]),
            np.concatenate([part.values for part in parts]),
            np.concatenate([part.order for part in parts]),
        )

    def take(self, which: Places | NDArray[np.bool_]) -> Series:
        """Some of the values."""
        return Series(self.steps[which], self.times[which], self.values[which], self.order[which])

    def with_values(self, values: Floats) -> Series:
        """Other values at the same moments."""
        return Series(self.steps, self.times, values, self.order)

    def times_factor(self, factor: float) -> Series:
        """In another unit."""
        with np.errstate(invalid="ignore", over="ignore"):
            return self.with_values(self.values * factor)

    def __len__(self) -> int:
        return len(self.steps)


STEADY = ("entropy_weight", "gradient_clip")  # settings that are seldom scheduled

NOTHING = Series(np.empty(0, dtype=np.int64), np.empty(0), np.empty(0), np.empty(0))


def unlooped(named: Mapping[str, Series]) -> tuple[dict[str, Series], int]:
    """One run where a program called learn() again and again, each time counting from 0.

    The steps begin anew several times while the clock runs on: they are counted on instead. Also
    says how often that was.
    """
    begun = {name: _beginnings(series) for name, series in named.items()}
    most = max((len(at) for at in begun.values()), default=0)
    if most < _LOOPS:
        return dict(named), 0
    # Of the names that a program records together, the first one says when it began anew.
    first = min(
        (name for name, at in begun.items() if len(at) == most),
        key=lambda name: float(named[name].order[begun[name][0]]),
    )
    moments = named[first].order[begun[first]]
    lengths = np.zeros(most + 1, dtype=np.int64)
    for series in named.values():
        np.maximum.at(lengths, np.searchsorted(moments, series.order, side="right"), series.steps)
    offsets = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    moved = {
        name: Series(
            s.steps + offsets[np.searchsorted(moments, s.order, side="right")],
            s.times,
            s.values,
            s.order,
        )
        for name, s in named.items()
    }
    return moved, most


def _beginnings(series: Series) -> Places:
    """Where a series counts from its first step again, without a pause of the clock."""
    if len(series) < _LOOPS:
        return np.empty(0, dtype=np.int64)
    back = np.flatnonzero(np.diff(series.steps) < 0) + 1
    anew = back[series.steps[back] <= series.steps[0]]
    waits = _waits(series.times)
    usual = float(np.median(waits)) if len(waits) else 0.0
    on: Places = anew[waits[anew - 1] <= max(_PAUSE, _LONG * usual)]
    return on if len(on) == len(back) else np.empty(0, dtype=np.int64)


def without_restarts(signals: Mapping[str, Series]) -> tuple[dict[str, Series], int]:
    """By rising steps, with the restarts as a signal, and how many values they have replaced.

    Where a log goes back and on from there, the run was restarted: whatever had been recorded
    beyond that point is history that did not happen. A single late value is put in its place.
    """
    restarts = {moment for series in signals.values() for moment in _restarts(series)}
    result, replaced = {}, 0
    for name, series in signals.items():
        void = np.zeros(len(series), dtype=bool)
        for step, moment in restarts:
            void |= (series.steps >= step) & (series.order < moment)
        replaced += int(np.count_nonzero(void))
        rest = series.take(~void) if void.any() else series
        late = bool((rest.steps[1:] < rest.steps[:-1]).any())
        result[name] = rest.take(np.argsort(rest.steps, kind="stable")) if late else rest
    begun = _begun(result, [step for step, _ in restarts])
    return (result | {"run.restarted": begun} if len(begun) else result), replaced


def _begun(signals: Mapping[str, Series], back: Sequence[int]) -> Series:
    """Where the program was started again: where the log went back, and after long silences."""
    longest = max(signals.values(), key=len, default=NOTHING)
    if not len(longest):
        return NOTHING
    waits = _waits(longest.times)
    usual = float(np.median(waits)) if len(waits) else 0.0
    silent = np.flatnonzero(waits > max(_PAUSE, _LONG * usual)) + 1
    steps = np.unique(np.concatenate([longest.steps[silent], np.array(back, dtype=np.int64)]))
    at = np.minimum(np.searchsorted(longest.steps, steps), len(longest) - 1)
    return Series(steps, longest.times[at], np.ones(len(steps)), longest.order[at])


def _waits(times: Floats) -> Floats:
    """How long it was between one moment and the next; clocks may say anything."""
    with np.errstate(invalid="ignore", over="ignore"):
        waits = np.diff(times)
    waits[~np.isfinite(waits)] = 0.0
    return waits


def _restarts(series: Series) -> list[tuple[int, float]]:
    """Where a series goes back for good: the step it goes on from, and when."""
    steps = series.steps
    back = (np.flatnonzero(np.diff(steps) < 0) + 1).tolist()
    if len(back) > max(3, _INTERLEAVED * len(steps)):
        return []
    for_good = [at for at in back if at + 1 < len(steps) and steps[at + 1] < steps[at - 1]]
    return [(int(steps[at]), float(series.order[at])) for at in for_good]


def running_mean(series: Series, count: int) -> Series:
    """Each value replaced by the mean of the last `count`; what is not finite is left out."""
    series = series.take(np.isfinite(series.values))
    if not len(series):
        return series
    sums = np.concatenate([[0.0], np.cumsum(series.values)])
    ends = np.arange(1, len(series) + 1)
    starts = np.maximum(ends - count, 0)
    return series.with_values((sums[ends] - sums[starts]) / (ends - starts))


def to_steps(signals: Mapping[str, Series], *, thin: int) -> list[Step]:
    """Steps at the moments of the updates, at most about `thin` of them."""
    signals = {name: series for name, series in signals.items() if len(series)}
    if not signals:
        return []
    anchors = _anchors(signals)
    if all(name.startswith(_EPISODIC) for name in signals):
        thin = min(thin, _EPISODES_ALONE)
    if len(anchors) > thin:
        size = -(-len(anchors) // thin)
        anchors = np.unique(np.append(anchors[size - 1 :: size], anchors[-1:]))
    times = _times(signals, anchors)
    values: list[dict[str, float]] = [{} for _ in anchors]
    for name, series in signals.items():
        declared = CATALOGUE.get(name)
        blocks = np.searchsorted(anchors, series.steps, side="left")
        with np.errstate(invalid="ignore", over="ignore"):  # NaN and infinity are to be found
            held, reduced = reduce_blocks(
                blocks, series.values, declared.reduce if declared else "mean"
            )
        for block, value in zip(held.tolist(), reduced.tolist(), strict=True):
            values[block][name] = value
    begin = min(float(series.times[0]) for series in signals.values())
    return [
        Step(index + 1, int(anchor), max(0.0, float(time) - begin), found)
        for index, (anchor, time, found) in enumerate(zip(anchors, times, values, strict=True))
        if found
    ]


def _anchors(signals: Mapping[str, Series]) -> Places:
    """The moments at which something but episodes was recorded, and the very last one."""
    updates = [s.steps for name, s in signals.items() if not name.startswith(_EPISODIC)]
    chosen = updates or [series.steps for series in signals.values()]
    last = max(int(series.steps[-1]) for series in signals.values())
    anchors: Places = np.concatenate(chosen)
    if anchors[-1] != last or (anchors[1:] <= anchors[:-1]).any():
        anchors = np.unique(np.append(anchors, last))
    episodes = signals.get("rollout.episode_return", NOTHING)
    if len(anchors) < _FEW_UPDATES < len(episodes):
        # A dozen rows of losses must not hide hundreds of episodes.
        spaced = np.linspace(0, len(episodes) - 1, min(len(episodes), _BETWEEN)).astype(int)
        anchors = np.unique(np.concatenate([anchors, episodes.steps[spaced]]))
    return anchors


def _times(signals: Mapping[str, Series], anchors: Places) -> Floats:
    """When each of the moments was, by the longest series."""
    longest = max(signals.values(), key=len)
    at = np.searchsorted(longest.steps, anchors, side="right") - 1
    return longest.times[np.maximum(at, 0)]


def with_settings(steps: Sequence[Step], known: Mapping[str, Scalar]) -> list[Step]:
    """Settings that stay as they are and are not logged, as signals: rules look at signals."""
    logged = {name for step in steps for name in step.signals}
    given = {f"setting.{name}": known.get(name) for name in STEADY}
    added = {
        name: float(value)
        for name, value in given.items()
        if isinstance(value, int | float) and name not in logged
    }
    if not added:
        return list(steps)
    return [replace(step, signals={**step.signals, **added}) for step in steps]
