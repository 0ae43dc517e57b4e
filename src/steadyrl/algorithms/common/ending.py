"""The end of a Step, the same for every trainer: an evaluation if one is due, time, the record."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from steadyrl.core.records import Step
from steadyrl.core.run_config import RunConfig
from steadyrl.core.signals import Meter


class Counts(Protocol):
    """What a learner counts for its Steps."""

    updates: int
    steps: int
    evaluations: int
    seconds: float


class Advances(Protocol):
    """What a run advances in."""

    @property
    def steps_taken(self) -> int:
        """How far it has come."""
        ...


def finish_step(
    learner: Counts,
    world: Advances,
    config: RunConfig,
    meter: Meter,
    *,
    started: float,
    taken_before: int,
    evaluate: Callable[[], dict[str, float]],
) -> Step:
    """Evaluate if it is time, stop the clock, and put together what was measured."""
    taken = world.steps_taken
    meter.add({"train.updates": float(learner.updates)})
    if config.evaluation.due(taken_before, taken):
        meter.add(evaluate())
    elif config.evaluation.episodes and taken >= config.budget:
        # Every run ends with a score. It is not counted, so that one which is made longer goes on
        # as if it had never ended.
        counted = learner.evaluations
        meter.add(evaluate())
        learner.evaluations = counted
    seconds = time.perf_counter() - started
    learner.seconds += seconds
    learner.steps += 1
    meter.add({"time.rate": (taken - taken_before) / seconds})
    return Step(learner.steps, taken, learner.seconds, meter.read())
