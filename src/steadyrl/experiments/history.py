"""One run's evaluations and what it cost, for comparisons."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steadyrl.experiments.trials import Outcome
from steadyrl.store.run_directory import RunDirectory

Floats = NDArray[np.float64]

COLLAPSED = 0.5  # share of the gain that is lost at the end


@dataclass(frozen=True)
class History:
    """One run's evaluations and what it cost."""

    seed: int
    taken: Floats
    returns: Floats
    final: float
    status: str
    severe: Sequence[str]
    seconds: float
    total: int
    path: str

    @property
    def complete(self) -> bool:
        """It ran to its end and has a final return."""
        return self.status == "finished" and math.isfinite(self.final)

    @property
    def drawdown(self) -> float:
        """The deepest fall from the best so far, as a share of all that was ever gained."""
        if len(self.returns) < 2:
            return math.nan
        best = np.maximum.accumulate(self.returns)
        gained = float(best[-1] - self.returns[0])
        return float((best - self.returns).max() / gained) if gained > 0 else math.nan

    @property
    def collapsed(self) -> bool:
        """Not finished, or most of the gain lost at the end."""
        if self.status != "finished" or not len(self.returns):
            return True
        gained = float(self.returns.max() - self.returns[0])
        return gained > 0 and float(self.returns.max()) - self.final > COLLAPSED * gained

    def reached(self, threshold: float) -> float:
        """Env steps until the threshold was first reached; infinite if never."""
        above = np.flatnonzero(self.returns >= threshold)
        return float(self.taken[above[0]]) if len(above) else math.inf


def read_history(outcome: Outcome) -> History:
    """A run's evaluations from its files."""
    store = RunDirectory.open(outcome.path)
    evaluated = [step for step in store.steps() if "eval.return_mean" in step.signals]
    summary = store.summary() or {}
    return History(
        seed=store.config.seed,
        taken=np.array([step.taken for step in evaluated], dtype=float),
        returns=np.array([step.signals["eval.return_mean"] for step in evaluated]),
        final=outcome.final_return,
        status=outcome.status,
        severe=outcome.severe,
        seconds=float(summary.get("seconds", math.nan)),
        total=int(summary.get("taken", 0)),
        path=str(outcome.path),
    )
