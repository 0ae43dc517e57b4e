"""A run that goes on, as plain data: where it stands, how fast it is, its signals so far.

Every signal is kept in a fixed number of columns that cover the whole run, however long it is; in
each the lowest and the highest value, so that no spike is lost.
"""

from __future__ import annotations

import math
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from steadyrl.core.records import Finding, Intervention, Severity, Step
from steadyrl.core.run_config import RunConfig

COLUMNS = 256  # when there are twice as many, neighbours are joined
RECENT_SECONDS = 60.0  # over which the pace is taken, or from one evaluation to the next

# What people look at first, by the name it has in every program; those that a run has are shown.
KEY_SIGNALS = {
    "eval.return_mean": "return, evaluated",
    "rollout.return_mean": "return, training",
    "language.accuracy": "right answers",
    "rollout.length_mean": "episode length",
    "bc.full_nll": "likelihood loss",
    "bc.full_mse": "squared error",
    "bc.validation_mse": "error, held out",
    "policy.kl": "policy KL",
    "policy.entropy": "entropy",
    "value.explained_variance": "values explain",
    "critic.loss": "critic loss",
    "q.mean": "mean Q",
    "action.saturation": "at a bound",
    "language.length_mean": "answer length",
    "language.reference_kl": "KL to reference",
}
MOST_SHOWN = 6


@dataclass(slots=True)
class Column:
    """A stretch of the run: where it begins, and what a signal was in it."""

    begin: int
    low: float
    high: float
    broken: bool  # it was not a number, or not finite

    def joined(self, other: Column) -> Column:
        """Both as one; whatever is missing in one of them comes from the other."""
        return Column(
            self.begin,
            _least(self.low, other.low),
            -_least(-self.high, -other.high),
            self.broken or other.broken,
        )


def _least(a: float, b: float) -> float:
    return min(a, b) if a == a and b == b else (b if a != a else a)


class Course:
    """One signal from the beginning until now, in few columns."""

    def __init__(self, name: str) -> None:
        self.name, self.latest = name, math.nan
        self.columns: list[Column] = []
        self._per_column, self._in_last = 1, 0

    def append(self, taken: int, value: float) -> None:
        """Take one more value."""
        self.latest = value
        finite = math.isfinite(value)
        new = Column(taken, *((value, value) if finite else (math.nan, math.nan)), not finite)
        if self.columns and self._in_last < self._per_column:
            self.columns[-1] = self.columns[-1].joined(new)
            self._in_last += 1
            return
        self.columns.append(new)
        self._in_last = 1
        if len(self.columns) == 2 * COLUMNS:
            pairs = zip(self.columns[::2], self.columns[1::2], strict=True)
            self.columns = [first.joined(second) for first, second in pairs]
            self._per_column *= 2
            self._in_last = self._per_column

    def cut(self, taken: int) -> None:
        """Forget what came after: the run went back to there."""
        while self.columns and self.columns[-1].begin > taken:
            self.columns.pop()
        self._in_last = self._per_column  # what the last column holds is over


class UnderWay:
    """What is known of a run while it is trained. Fed by its observers, drawn by a terminal."""

    def __init__(
        self,
        title: str,
        config: RunConfig,
        *,
        past: Iterable[Step] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.title, self.unit, self.budget = title, config.unit, config.budget
        self.about = f"{config.algorithm} on {config.task}"
        self.path: Path | None = None
        self.taken, self.steps = 0, 0
        self.found: Counter[Severity] = Counter()
        self.saved: tuple[int, float] | None = None  # at which count, when
        self.stopping = ""
        self.news = ""  # what the newest Step says of itself
        self._courses: dict[str, Course] = {}
        self._clock = clock
        self.begun = clock()
        # Evaluations take time as well: each stretch of this length holds as many as any other.
        self._period = config.evaluation.every if config.evaluation.episodes else 0
        self._pace: deque[tuple[float, int]] = deque()
        for step in past:
            self._remember(step)
        self._pace.append((self.begun, self.taken))

    def observe(self, step: Step) -> None:
        """Take a Step; one that lies behind the last means that the run went back."""
        if step.taken <= self.taken and self.steps:
            self.go_back(step.taken - 1)
        self._remember(step)
        now = self._clock()
        self._pace.append((now, step.taken))
        while len(self._pace) > 2 and now - self._pace[0][0] > RECENT_SECONDS:
            if step.taken - self._pace[1][1] < self._period:
                break
            self._pace.popleft()

    def _remember(self, step: Step) -> None:
        self.taken, self.steps = step.taken, step.index
        for name in KEY_SIGNALS:
            if name in step.signals:
                course = self._courses.setdefault(name, Course(name))
                course.append(step.taken, step.signals[name])

    def go_back(self, taken: int) -> None:
        """From here on it goes another way."""
        for course in self._courses.values():
            course.cut(taken)
        self.taken = taken
        self._pace.clear()
        self._pace.append((self._clock(), taken))

    def note_finding(self, finding: Finding) -> None:
        """A rule spoke; what it says of the machine is no part of how the run stands."""
        self.found[finding.severity] += finding.concerns == "training"

    def note_return(self, intervention: Intervention) -> None:
        """The guard went back: what was found is left behind."""
        self.found.clear()
        self.go_back(intervention.taken)

    def note_beginning(self, path: Path) -> None:
        """It has a folder, and its state is saved there: every run begins with a checkpoint."""
        self.path = path
        self.note_checkpoint()

    def note_checkpoint(self) -> None:
        """The whole state is saved as it stands."""
        self.saved = (self.taken, self._clock())

    @property
    def shown(self) -> list[tuple[str, Course]]:
        """The signals that it has, most telling first, each with what it is called."""
        had = [
            (called, self._courses[n]) for n, called in KEY_SIGNALS.items() if n in self._courses
        ]
        return had[:MOST_SHOWN]

    @property
    def elapsed(self) -> float:
        """Seconds since this process took it up."""
        return self._clock() - self.begun

    @property
    def since_saved(self) -> float:
        """Seconds since the last checkpoint; NaN if there is none yet."""
        return self._clock() - self.saved[1] if self.saved else math.nan

    @property
    def rate(self) -> float:
        """Steps of the run's unit per second, lately; NaN before there is a pace."""
        (began, first), (now, last) = self._pace[0], self._pace[-1]
        return (last - first) / (now - began) if last > first and now > began else math.nan

    @property
    def left(self) -> float:
        """Seconds until the budget is used, at the pace of late; NaN before there is one."""
        since = self._clock() - self._pace[-1][0]
        seconds = (self.budget - self.taken) / self.rate - since
        return seconds if not seconds < 0 else 0.0  # max() would take a NaN for nothing left
