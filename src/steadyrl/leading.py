"""One run in several processes: the first leads, which means it writes, judges and decides.

Before every Step it says where it stands and which settings hold; the others follow. So the guard's
return to a checkpoint, a controller's change, Ctrl-C and a resume reach all of them by one way.
Followers read checkpoints and write nothing: the run's folder must lie where all of them see it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from steadyrl.algorithms.common.training import Training
from steadyrl.core.arrays import SpreadArray, spread_arrays
from steadyrl.core.errors import LeaderFailed, StoreError, WorkerLost
from steadyrl.core.records import RunSummary, Step
from steadyrl.nets.processes import losses, met_by_all
from steadyrl.store.reader import RunReader


@dataclass(frozen=True)
class Onward:
    """The next Step is to be made, from here and with these settings."""

    path: Path
    step: int  # the Step that the leader stands at; it has a checkpoint if it has gone back there
    config: dict[str, Any]


@dataclass(frozen=True)
class Saving:
    """The leader is about to save the state, of which each process holds its shards."""


@dataclass(frozen=True)
class Wanted:
    """The next array of that state that the leader wants as a whole."""

    number: int


@dataclass(frozen=True)
class Ended:
    """There will be no further Step."""

    path: Path | None
    summary: RunSummary | None
    problem: str = ""


def led(training: Training, path: Path) -> Iterator[Step]:
    """The Steps of a training; before each of them the followers hear where it begins."""
    if training.processes.count == 1:
        yield from training.steps
        return
    _call_onward(training, path)
    for step in training.steps:
        yield step
        _call_onward(training, path)


@contextmanager
def leading(training: Training) -> Iterator[None]:
    """Followers end with their leader, also if it fails before, between or after the Steps."""
    try:
        with losses(training.processes):
            yield
    except Exception as error:
        training.processes.broadcast(Ended(None, None, str(error)))
        raise


def whole_state(training: Training) -> dict[str, Any]:
    """What the leader saves between two Steps; followers are asked for shards as it is written."""
    processes, state = training.processes, training.state_dict()
    if processes.apart:
        raise WorkerLost(
            "no checkpoint can be written: other processes hold shards of the weights."
        )
    if processes.sharded:
        processes.broadcast(Saving())
        for number, array in enumerate(spread_arrays(state)):
            array.call = partial(processes.broadcast, Wanted(number))
    return state


def say_ended(training: Training, path: Path, summary: RunSummary) -> None:
    """Let the followers go."""
    training.processes.broadcast(Ended(path.absolute(), summary))


def follow(training: Training) -> tuple[RunSummary, Path]:
    """Take part in a run that another process leads, until it ends."""
    processes, learner = training.processes, training.learner
    steps: Iterator[Step] = iter(())
    astray = True  # not known to stand where the leader does
    shards: list[SpreadArray] = []
    while not isinstance(word := processes.broadcast(None), Ended):
        if isinstance(word, Saving):
            shards = [*spread_arrays(training.state_dict())]
            continue
        if isinstance(word, Wanted):
            shards[word.number].gather()
            continue
        back = astray or word.step != learner.steps
        astray = True
        try:
            with processes.together():
                if back:
                    _go_to(training, word)
            training.live.load_state_dict(word.config)
            steps = training.steps if back else steps
            next(steps, None)
            astray = False
        except Exception as error:
            if processes.apart or not met_by_all(error):
                raise
            # The leader has met it too, and says what becomes of it.
    if word.summary is None or word.path is None:
        raise LeaderFailed(f"the first process has failed: {word.problem}")
    return word.summary, word.path


def _call_onward(training: Training, path: Path) -> None:
    """Say where the next Step begins, and wait until all stand there."""
    word = Onward(path.absolute(), training.learner.steps, training.live.state_dict())
    training.processes.broadcast(word)
    with training.processes.together():
        pass


def _go_to(training: Training, word: Onward) -> None:
    try:
        training.load_state_dict(RunReader.open(word.path).checkpoints.load(word.step))
    except StoreError as error:
        raise StoreError(
            f"process {training.processes.rank} cannot read the run: {error} The run's folder must "
            "lie where all processes see it."
        ) from error
