"""Every error a user can meet, drawn here as a tree.

SteadyError
├── ConfigError           a setting, a config file or a flag is wrong
├── EnvironmentFault      the environment broke its contract (NaN, wrong space, no such id)
├── TrainingDiverged      the networks hold NaN or infinity: there is nothing left to train
├── DataError             a file of demonstrations cannot be used
├── OutOfMemory           the machine has no room for an update
├── ExportFailed          an exported model does not act as the original
├── WorkerLost            processes of an experiment keep dying
├── OutputLost            what a command prints cannot be written
├── LeaderFailed          of several processes that train one run the first has failed, and says why
└── StoreError            a run directory cannot be read or written
    ├── RunNotFound       there is no run where one was expected
    ├── CheckpointError   a checkpoint is damaged, or belongs to other settings
    └── DiskError         the disk is full or read-only

Each message is one sentence or two: what, which value, what is allowed, what to do next.
The command line prints it without a traceback and exits with the error's code: 2 for bad input,
1 for training that failed by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class SteadyError(Exception):
    """Base of every error that is not a bug of ours."""

    exit_code = 2
    step_undone = False  # the training stands where its last Step ended, and can be saved
    resume_with = ""  # flags that a resume should be given


class ConfigError(SteadyError):
    """A setting, a config file or a flag is wrong."""


class EnvironmentFault(SteadyError):
    """The environment broke its contract."""


class TrainingDiverged(SteadyError):
    """The networks hold NaN or infinity."""

    exit_code = 1


class DataError(SteadyError):
    """A file of demonstrations cannot be used."""


class OutOfMemory(SteadyError):
    """The machine has no room for an update."""

    exit_code = 1


class ExportFailed(SteadyError):
    """An exported model does not act as the original."""

    exit_code = 1


class WorkerLost(SteadyError):
    """Processes of an experiment keep dying."""

    exit_code = 1


class OutputLost(SteadyError):
    """What a command prints cannot be written."""

    exit_code = 1


class LeaderFailed(SteadyError):
    """Of several processes that train one run the first has failed, and says why.

    Launchers end all processes as soon as one reports a failure, so the others must not do so
    first: the sentence would be lost.
    """

    exit_code = 0


class StoreError(SteadyError):
    """A run directory cannot be read or written."""


class RunNotFound(StoreError):
    """There is no run where one was expected."""


class CheckpointError(StoreError):
    """A checkpoint is damaged, or belongs to other settings."""


class DiskError(StoreError):
    """The disk is full or read-only."""


@contextmanager
def memory_errors(path: Path) -> Iterator[None]:
    """Turn a lack of memory while a run is trained into one clear sentence."""
    try:
        yield
    except MemoryError as error:
        raise OutOfMemory(
            f"{path}: out of memory ({error}). Free some, or use smaller batches or networks."
        ) from None
