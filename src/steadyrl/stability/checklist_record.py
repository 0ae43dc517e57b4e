"""What an item of a checklist is asked of, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from steadyrl.core.records import Finding
from steadyrl.maths.robust import Floats

if TYPE_CHECKING:
    from steadyrl.core.coarsen import Columns, Places
    from steadyrl.core.run_config import RunConfig

Phase = Literal["before", "early", "middle", "late"]


@dataclass(frozen=True, slots=True)
class Answer:
    """Passed, failed, or (None) not measured; and what was seen."""

    passed: bool | None
    seen: str


NOT_REACHED = Answer(None, "not reached")


@dataclass(frozen=True)
class Record:
    """What there is of a phase to be asked about."""

    config: RunConfig
    columns: Columns | None  # of the whole run
    begin: float  # of the phase, in the run's unit
    end: float
    findings: Sequence[Finding]  # of the phase

    @cached_property
    def reached(self) -> bool:
        """Whether there is any Step of the phase."""
        return self.columns is not None and bool(self._within(self.columns.takens).any())

    def values(self, name: str, *, earlier: bool = False) -> Floats:
        """A signal's values in the phase, or before it; those that are numbers."""
        found = self._found(name, earlier=earlier)
        return found[np.isfinite(found)]

    def not_measured(self, name: str) -> Answer | None:
        """The phase lies ahead; or, if the run had its chance, the signal is not one of its own."""
        if self.reached or (self._had_a_chance and not len(self._found(name, earlier=True))):
            return None
        return NOT_REACHED

    @property
    def _had_a_chance(self) -> bool:
        return self.columns is not None and bool((self.columns.takens <= self.begin).any())

    def _found(self, name: str, *, earlier: bool) -> Floats:
        if self.columns is None or name not in self.columns.signals:
            return np.empty(0)
        places, values = self.columns.signals[name]
        return values[self._within(self.columns.takens[places], earlier=earlier)]

    def _within(self, takens: Places, *, earlier: bool = False) -> NDArray[np.bool_]:
        if earlier:
            return takens <= self.begin
        return (takens > self.begin) & (takens <= self.end)


Ask = Callable[[Record], Answer | None]  # None: does not concern this run


@dataclass(frozen=True)
class Item:
    """One line of a checklist."""

    phase: Phase
    statement: str
    ask: Ask
