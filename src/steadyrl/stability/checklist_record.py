"""What an item of a checklist is asked of, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from steadyrl.core.records import Finding, Step
from steadyrl.maths.robust import Floats

if TYPE_CHECKING:
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
    steps: Sequence[Step]  # of the phase
    earlier: Sequence[Step]
    findings: Sequence[Finding]  # of the phase

    def values(self, name: str, *, earlier: bool = False) -> Floats:
        """A signal's values in the phase, or before it; those that are numbers."""
        steps = self.earlier if earlier else self.steps
        found = np.array([s.signals[name] for s in steps if name in s.signals], dtype=np.float64)
        return found[np.isfinite(found)]

    def not_measured(self, name: str) -> Answer | None:
        """The phase lies ahead; or, if the run had its chance, the signal is not one of its own."""
        if self.steps or (self.earlier and not any(name in s.signals for s in self.earlier)):
            return None
        return NOT_REACHED


Ask = Callable[[Record], Answer | None]  # None: does not concern this run


@dataclass(frozen=True)
class Item:
    """One line of a checklist."""

    phase: Phase
    statement: str
    ask: Ask
