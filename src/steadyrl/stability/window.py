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
from steadyrl.stability.course import FEWEST, WANDERS, Blocks, Course, is_return
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
APART = 40  # values of it that are looked at
Floats = NDArray[np.float64]


def objective(window: Window) -> str:
    """The evaluation signal to judge progress by: what training optimises, if it is measured.

    The plain return may fall while the discounted one rises (living long in a costly world).
    Other programs' runs often have no evaluations; then training episodes stand in for them.
    """
    for name in ("eval.discounted_mean", "eval.return_mean"):
        if window.has(name):
            return name
    return TRAINING_RETURN if window.has(TRAINING_RETURN) else "eval.return_mean"


def score_of(window: Window) -> str | None:
    """What a whole run is judged by: evaluations, if there are enough of them, else episodes."""
    counts = {name: window.count(name) for name in SCORES if window.has(name)}
    enough = [name for name, count in counts.items() if count >= FEWEST]
    preferred = objective(window)
    if preferred in enough and preferred != TRAINING_RETURN:
        return preferred
    return next(iter(enough), None) or max(counts, key=lambda name: counts[name], default=None)


def called(name: str) -> str:
    """What people call an evaluation signal."""
    if name in (TRAINING_RETURN, EPISODES):
        return "return of training episodes"
    if "success" in name:
        return "success rate"
    return "discounted return" if "discounted" in name else "return"


def returns_of(window: Window, name: str) -> Floats:
    """Evaluations as they are; of training episodes a few values far apart: neighbours overlap."""
    values = window.last(name)
    if name != TRAINING_RETURN or len(values) <= APART:
        return values
    chosen = np.linspace(0, len(values) - 1, APART).astype(int)
    spaced: Floats = values[chosen]
    if window.count(name) > SPAN:
        spaced[:2] = window.first(name)
    return spaced


def evaluation_noise(window: Window, name: str | None = None) -> float:
    """How much evaluations vary by chance: their recorded spread, or else between neighbours."""
    name = name or objective(window)
    spreads = window.last(name.replace("mean", "std"))
    if len(spreads):
        return median(spreads)
    steps = np.abs(np.diff(returns_of(window, name)))
    apart = WANDERS if name == TRAINING_RETURN else 1.0
    return apart * median(steps) if len(steps) else 0.0


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
