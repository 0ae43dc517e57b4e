"""Recent Steps by signal: what detectors look through.

Each signal, evaluations too, keeps its last SPAN values, its first EARLY ones, its extremes and its
count, so appending and looking cost the same at Step 100 and at Step 100,000.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from steadyrl.core.coarsen import Columns, chunks_of
from steadyrl.core.records import Step
from steadyrl.maths.robust import median
from steadyrl.stability.blocks import Blocks, is_return
from steadyrl.stability.course import Course
from steadyrl.stability.rings import SPAN, Ring

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


def _apart(name: str) -> bool:
    """Whether no two values of a return share an episode."""
    return name == EPISODES or name.startswith("eval.")


def _course_of(columns: Columns, name: str) -> Blocks:
    """All values of a score in blocks; they are counted first, for that says how large."""
    signals, takens = columns.signals, columns.takens
    count = sum(len(values[is_return(values)]) for _, values in chunks_of(signals, name))
    parts = ((takens[p].astype(np.float64), values) for p, values in chunks_of(signals, name))
    return Blocks.filled(parts, count, apart=_apart(name))


class Window:
    """What has been seen so far, through a view of fixed size."""

    def __init__(self, budget: int | None = None, environment: str = "") -> None:
        self.budget, self.environment = budget, environment
        self.step: Step | None = None
        self.ended = False  # set by who judges a finished record: then all of it is looked at
        self._rings: dict[str, Ring] = {}
        self._blocks: dict[str, Blocks] = {}

    @classmethod
    def at_end_of(
        cls, columns: Columns, budget: int | None = None, environment: str = ""
    ) -> Window:
        """The window at the end of a recorded run, of any length: as if it had been watched."""
        window = cls(budget, environment)
        window.step = columns.last
        for name in columns.signals:
            window._rings[name] = Ring.filled(columns.indices, chunks_of(columns.signals, name))
            if name in SCORES:
                window._blocks[name] = _course_of(columns, name)
        return window

    def append(self, step: Step) -> None:
        """Take one Step."""
        self.step = step
        rings = self._rings
        for name, value in step.signals.items():
            ring = rings.get(name)
            if ring is None:
                ring = rings[name] = Ring()
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
