"""A lower learning rate when evaluations have stopped improving."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from steadyrl.stability.controllers.adjustment import Adjustment
from steadyrl.stability.score import objective
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig

RATE = "setting.learning_rate"


def adjust(window: Window, config: RunConfig) -> Adjustment | None:
    """After `plateau_patience` evaluations at the present rate without a new best."""
    held, score = config.value_of, objective(window)
    if held("learning_rate_schedule") != "plateau" or not window.fresh(score):
        return None
    patience, rate = held("plateau_patience"), held("learning_rate")
    before, since = window.split(score, _unchanged_since(window))
    if len(since) < patience:
        return None
    scores = np.concatenate((before, since))
    earlier, recent = scores[:-patience], scores[-patience:]
    if not len(earlier) or recent.max() > earlier.max():
        return None
    lower = max(rate * held("plateau_ratio"), held("plateau_floor"))
    if lower >= rate:
        return None
    return Adjustment(
        {"learning_rate": lower}, f"{patience} evaluations without a new best ({earlier.max():.4g})"
    )


def _unchanged_since(window: Window) -> int:
    """The index of the first Step at the present rate."""
    assert window.step is not None
    rates = window.last(RATE)
    changes = np.flatnonzero(rates[1:] != rates[:-1])
    steps = len(rates) if not len(changes) else len(rates) - 1 - int(changes[-1])
    return window.step.index - steps + 1
