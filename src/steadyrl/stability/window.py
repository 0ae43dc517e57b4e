"""Recent Steps by signal: what detectors look through.

Each signal, evaluations too, keeps its last SPAN values, its first EARLY ones, its extremes and its
count, so appending and looking cost the same at Step 100 and at Step 100,000.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from steadyrl.core.records import Step
from steadyrl.maths.robust import median
from steadyrl.stability.blocks import Blocks
from steadyrl.stability.course import Course

if TYPE_CHECKING:
    from steadyrl.core.coarsen import Columns

SPAN = 256
EARLY = 5  # values that make up a signal's beginning
TRAINING_RETURN = "rollout.return_mean"
EPISODES = "rollout.episode_return"  # the same without a running mean, where it is recorded
# Of these the whole course is kept, in blocks: whether a run learned cannot be seen in its end.
SCORES = (
    "eval.return_mean",
    "eval.discounted_mean",
    EPISODES,
    TRAINING_RETURN,
    "eval.success_rate",
    "rollout.success_rate",
)
Floats = NDArray[np.float64]
Number = TypeVar("Number", np.float64, np.int64)


class _Ring:
    """The last SPAN values of one signal, with running extremes over all of them."""

    def __init__(self) -> None:
        self._values = np.empty(SPAN)
        self._indices = np.empty(SPAN, dtype=np.int64)
        self.count = 0
        self.lowest, self.highest = math.inf, -math.inf
        self.early: list[float] = []

    def append(self, index: int, value: float) -> None:
        at = self.count % SPAN
        self._values[at], self._indices[at] = value, index
        if self.count < EARLY:
            self.early.append(value)
        self.count += 1
        if value < self.lowest:
            self.lowest = value
        if value > self.highest:
            self.highest = value

    @classmethod
    def filled(cls, indices: NDArray[np.int64], values: Floats) -> _Ring:
        """As if every value had been appended; `indices` are those of the last few alone."""
        ring = cls()
        ring.count = max(0, len(values) - SPAN)
        past = values[: ring.count]
        ring.early = past[:EARLY].tolist()
        # A NaN is neither a lowest nor a highest value, as in append().
        ring.lowest = float(np.fmin.reduce(past, initial=math.inf))
        ring.highest = float(np.fmax.reduce(past, initial=-math.inf))
        for index, value in zip(indices, values[-SPAN:], strict=True):
            ring.append(int(index), float(value))
        return ring

    def last(self, count: int = SPAN) -> Floats:
        return _newest(self._values, self.count, count)

    def indices(self) -> NDArray[np.int64]:
        """Of the Steps that what is remembered is from, oldest first."""
        return _newest(self._indices, self.count, SPAN)

    def split(self, index: int) -> tuple[Floats, Floats]:
        values, later = self.last(), self.indices() >= index
        return values[~later], values[later]

    def paired(self, other: _Ring) -> tuple[Floats, Floats]:
        _, mine, its = np.intersect1d(self.indices(), other.indices(), return_indices=True)
        return self.last()[mine], other.last()[its]

    @property
    def last_raised(self) -> int | None:
        raised = np.flatnonzero(self.last() > 0)
        return int(self.indices()[raised[-1]]) if len(raised) else None

    @property
    def latest(self) -> float:
        return float(self._values[(self.count - 1) % SPAN])

    @property
    def latest_index(self) -> int:
        return int(self._indices[(self.count - 1) % SPAN])


def _apart(name: str) -> bool:
    """Whether no two values of a return share an episode."""
    return name == EPISODES or name.startswith("eval.")


def _newest(ring: NDArray[Number], written: int, count: int) -> NDArray[Number]:
    """A copy of the newest of so many items that were written into a ring, oldest first."""
    end = written % SPAN
    start = end - min(count, written, SPAN)
    if start >= 0:
        return ring[start:end].copy()
    return np.concatenate([ring[start:], ring[:end]])


class Window:
    """What has been seen so far, through a view of fixed size."""

    def __init__(self, budget: int | None = None, environment: str = "") -> None:
        self.budget, self.environment = budget, environment
        self.step: Step | None = None
        self.ended = False  # set by who judges a finished record: then all of it is looked at
        self._rings: dict[str, _Ring] = {}
        self._blocks: dict[str, Blocks] = {}

    @classmethod
    def at_end_of(
        cls, columns: Columns, budget: int | None = None, environment: str = ""
    ) -> Window:
        """The window at the end of a recorded run, of any length: as if it had been watched."""
        window = cls(budget, environment)
        window.step = columns.last
        for name, (positions, values) in columns.signals.items():
            window._rings[name] = _Ring.filled(columns.indices[positions[-SPAN:]], values)
            if name in SCORES:
                takens = columns.takens[positions].astype(np.float64)
                window._blocks[name] = Blocks.filled(takens, values, apart=_apart(name))
        return window

    def append(self, step: Step) -> None:
        """Take one Step."""
        self.step = step
        rings = self._rings
        for name, value in step.signals.items():
            ring = rings.get(name)
            if ring is None:
                ring = rings[name] = _Ring()
            ring.append(step.index, value)
            if name in SCORES:
                self._gather(name, step.taken, value)

    def _gather(self, name: str, taken: int, value: float) -> None:
        blocks = self._blocks.get(name)
        if blocks is None:
            blocks = self._blocks[name] = Blocks(apart=_apart(name))
        blocks.append(taken, value)

    def course(self, name: str) -> Course | None:
        """How one of SCORES went from the beginning until now."""
        blocks = self._blocks.get(name)
        if not blocks or not blocks.count:
            return None
        course = blocks.course()
        # An update's completions are its own: a language model's mean reward is no running mean.
        if name == TRAINING_RETURN and self.has_any("language."):
            return replace(course, apart=True)
        return course

    def last_raised(self, name: str) -> int | None:
        """The index of the newest Step that had this signal above zero, if it is remembered."""
        ring = self._rings.get(name)
        return ring.last_raised if ring else None

    def split(self, name: str, index: int) -> tuple[Floats, Floats]:
        """What is remembered of a signal: before the Step of this index, and from it on."""
        ring = self._rings.get(name)
        return ring.split(index) if ring else (np.empty(0), np.empty(0))

    @property
    def width(self) -> int:
        """How many different signals have been seen."""
        return len(self._rings)

    def has(self, *names: str) -> bool:
        """Whether all these signals have been seen."""
        return all(name in self._rings for name in names)

    def has_any(self, beginning: str) -> bool:
        """Whether any signal has been seen whose name begins like this."""
        return any(name.startswith(beginning) for name in self._rings)

    def fresh(self, name: str) -> bool:
        """Whether the newest Step carried this signal; of a finished record, whether any did."""
        ring = self._rings.get(name)
        if ring is None or self.step is None:
            return False
        return self.ended or ring.latest_index == self.step.index

    def latest(self, name: str, default: float = math.nan) -> float:
        """The newest value."""
        ring = self._rings.get(name)
        return ring.latest if ring else default

    def first(self, name: str) -> float:
        """Where it began: the median of the first few values, for one alone may be chance."""
        ring = self._rings.get(name)
        return median(ring.early) if ring else math.nan

    def highest(self, name: str) -> float:
        """The largest value ever."""
        ring = self._rings.get(name)
        return ring.highest if ring else math.nan

    def lowest(self, name: str) -> float:
        """The smallest value ever."""
        ring = self._rings.get(name)
        return ring.lowest if ring else math.nan

    def count(self, name: str) -> int:
        """How many values there have been."""
        ring = self._rings.get(name)
        return ring.count if ring else 0

    def last(self, name: str, count: int = SPAN) -> Floats:
        """Up to `count` newest values, oldest first."""
        ring = self._rings.get(name)
        return ring.last(count) if ring else np.empty(0)

    def paired(self, one: str, other: str) -> tuple[Floats, Floats]:
        """What is remembered of two signals from the Steps that carried both, oldest first."""
        if not self.has(one, other):
            return np.empty(0), np.empty(0)
        return self._rings[one].paired(self._rings[other])

    @property
    def progress(self) -> float:
        """Share of the budget used; NaN if the budget is not known."""
        if not self.budget or self.step is None:
            return math.nan
        return self.step.taken / self.budget

    @property
    def so_far(self) -> str:
        """How much of the budget was used, in words."""
        if not math.isfinite(self.progress):
            return "so far"
        # The last update of a run may take more samples than were left.
        return f"after {min(self.progress, 1.0):.0%} of the budget"

    def missing(self, names: Iterable[str]) -> list[str]:
        """Those of the names that were never measured."""
        return [name for name in names if name not in self._rings]
