"""Several processes that train the same weights, each on its share of every batch.

All of them know the whole batch and draw the same random numbers, so each can tell by itself which
share is its own; what one has made is added up or completed for all. Gradients are *added*, not
averaged: each process has divided its losses by the size of the whole batch. Each process holds all
weights, or its shards of them.
"""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import torch
from torch import Tensor, distributed, nn

from steadyrl.core.errors import ConfigError, SteadyError, WorkerLost
from steadyrl.core.launch import launched
from steadyrl.nets.accelerated import asked_to_shard, fsdp_settings, parts_to_shard
from steadyrl.nets.shards import Shards, is_spread

Part = TypeVar("Part")


class Processes:
    """One process that trains alone: it has the whole share and waits for nobody."""

    rank = 0
    count = 1
    sharded = False  # each holds its shards of the weights rather than all of them
    apart = False  # one has failed where none could be told: they can no longer work together

    def shard(self, module: nn.Module, model: nn.Module) -> Shards | None:  # noqa: ARG002
        """Keep only this process's shards of a module around a language model, if so asked."""
        return None

    def passes(self, parts: Sequence[Part]) -> Iterator[tuple[Part, bool]]:
        """The parts to go through with gradients, and whether each of them counts."""
        return ((part, True) for part in parts)

    def refuse_less_than_one_each(self, rows: int) -> None:
        """An optimiser step must give every process something to do."""
        if rows < self.count:
            raise ConfigError(
                f"an optimiser step of {rows} completions cannot be shared by {self.count} "
                "processes. Launch fewer, or take a larger minibatch_size."
            )

    def share(self, rows: slice, together: int = 1) -> slice:
        """The rows that this process works on; `together` of them are not torn apart if possible.

        Shares of all processes in their order make up the rows. They differ by at most one unit,
        and are empty only if there are fewer rows than processes.
        """
        length = rows.stop - rows.start
        unit = together if length % together == 0 and length // together >= self.count else 1
        units = length // unit
        first, last = (units * (self.rank + more) // self.count * unit for more in (0, 1))
        return slice(rows.start + first, rows.start + last)

    def whole(self, part: Tensor, rows: slice | Tensor, count: int) -> Tensor:  # noqa: ARG002
        """All `count` rows, given those that this process has made; every row is made by one."""
        return part

    def add(self, tensors: Iterable[Tensor]) -> None:
        """Make each tensor the sum over all processes, in place; of shards it is one already."""

    def added(self, numbers: Mapping[str, float]) -> dict[str, float]:
        """The sums over all processes; each has the same names."""
        return dict(numbers)

    def largest(self, number: float) -> float:
        """The largest of all processes."""
        return number

    def equalise(self, tensors: Iterable[Tensor]) -> None:
        """Make each tensor what it is in the first process; shards are nobody else's."""

    def broadcast(self, word: Any) -> Any:
        """What the first process says; what the others give is not looked at."""
        return word

    @contextmanager
    def together(self) -> Iterator[None]:
        """Work that may fail in one process: then it fails in all, and none waits for the dead."""
        yield

    @contextmanager
    def descending(self) -> Iterator[None]:
        """Work `together` that goes through `passes` with gradients."""
        with self.together():
            yield


@contextmanager
def losses(processes: Processes) -> Iterator[None]:
    """A process that has died shows as a broken connection, wherever others wait for it.

    Then none of them can go on: that is said in words, and nobody is waited for any more.
    """
    try:
        yield
    except Exception as error:
        if not _is_of_a_connection(error):
            raise
        processes.apart = True
        raise WorkerLost(
            f"process {processes.rank} has lost another one, which was killed, or has failed and "
            "says why. None of them can go on alone."
        ) from error


def _is_of_a_connection(error: Exception) -> bool:
    return isinstance(error, distributed.DistError) or "gloo" in str(error)


ALONE = Processes()
_MET_BY_ALL = "met_by_all_processes"


def met_by_all(error: Exception) -> bool:
    """Whether every process has met this error: it was shared, or follows from what all know."""
    return isinstance(error, SteadyError) or hasattr(error, _MET_BY_ALL)


class JoinedProcesses(Processes):
    """One of several, connected through torch.distributed."""

    def __init__(self, device: torch.device, *, sharded: bool = False) -> None:
        self.rank, self.count = distributed.get_rank(), distributed.get_world_size()
        self.sharded = sharded
        self._device = device

    def shard(self, module: nn.Module, model: nn.Module) -> Shards | None:
        """Keep only this process's shards of a module around a language model, if so asked."""
        if not self.sharded:
            return None
        from torch.distributed.device_mesh import init_device_mesh

        settings = fsdp_settings()
        mesh = init_device_mesh(self._device.type, (self.count,))
        let_go = settings.reshard_after_forward
        return Shards(module, parts_to_shard(settings, model), mesh, let_go=let_go)

    def passes(self, parts: Sequence[Part]) -> Iterator[tuple[Part, bool]]:
        """The parts to go through with gradients, and whether each of them counts.

        Passes through sharded weights wait for those of the others: whoever has fewer parts goes
        through the first of them again, for nothing.
        """
        most = int(self.largest(len(parts))) if self.sharded else len(parts)  # before any of them
        yield from super().passes(parts)
        for _ in range(most - len(parts)):
            yield parts[0], False

    def whole(self, part: Tensor, rows: slice | Tensor, count: int) -> Tensor:
        """All `count` rows, given those that this process has made; every row is made by one."""
        made = torch.zeros((count, *part.shape[1:]), dtype=part.dtype, device=self._device)
        made[rows] = part.to(self._device)
        # Each row is added to zeros, which changes no digit. Truth values cannot be added: bytes.
        self.add([made.view(torch.uint8) if made.dtype == torch.bool else made])
        return made.to(part.device)

    def add(self, tensors: Iterable[Tensor]) -> None:
        """Make each tensor the sum over all processes, in place; of shards it is one already."""
        whole = (tensor for tensor in tensors if not is_spread(tensor))
        under_way = [distributed.all_reduce(tensor, async_op=True) for tensor in whole]
        for work in under_way:
            work.wait()

    def added(self, numbers: Mapping[str, float]) -> dict[str, float]:
        """The sums over all processes; each has the same names."""
        sums = torch.tensor(list(numbers.values()), dtype=torch.float64, device=self._device)
        self.add([sums])
        return dict(zip(numbers, sums.tolist(), strict=True))

    def largest(self, number: float) -> float:
        """The largest of all processes."""
        found = torch.tensor(number, dtype=torch.float64, device=self._device)
        distributed.all_reduce(found, op=distributed.ReduceOp.MAX)
        return float(found)

    def equalise(self, tensors: Iterable[Tensor]) -> None:
        """Make each tensor what it is in the first process; shards are nobody else's."""
        for tensor in tensors:
            if not is_spread(tensor):
                distributed.broadcast(tensor.detach(), src=0)

    def broadcast(self, word: Any) -> Any:
        """What the first process says; what the others give is not looked at."""
        if self.apart:
            return word
        words = [word]
        distributed.broadcast_object_list(words, src=0)
        return words[0]

    @contextmanager
    def together(self) -> Iterator[None]:
        """Work that may fail in one process: then it fails in all, and none waits for the dead."""
        mine: Exception | None = None
        try:
            yield
        except Exception as error:
            if _is_of_a_connection(error):  # the others cannot be told anything any more
                raise
            mine = error
        failures: list[Exception | None] = [None] * self.count
        distributed.all_gather_object(failures, None if mine is None else self._told(mine))
        failure = mine or next((failure for failure in failures if failure is not None), None)
        if failure is not None:
            setattr(failure, _MET_BY_ALL, True)
            raise failure

    @contextmanager
    def descending(self) -> Iterator[None]:
        """Work `together` that goes through `passes` with gradients.

        If weights are sharded the others wait in the middle of a pass for one that has failed. None
        of them can be told; they notice when it ends, and then all of them have to.
        """
        if not self.sharded:
            with self.together():
                yield
            return
        try:
            yield
        except Exception:
            self.apart = True
            raise

    def _told(self, error: Exception) -> Exception:
        """What the others get to know of a failure; those of memory must be known as such."""
        if isinstance(error, SteadyError):
            return error
        text = f"process {self.rank} failed: {type(error).__name__}: {error}"
        for kind in (MemoryError, RuntimeError):
            if isinstance(error, kind):
                return kind(text)
        return WorkerLost(text)


def joined(device: torch.device) -> Processes:
    """The processes that the launcher has started, connected; one alone without a launcher."""
    count = launched().count
    if count == 1:
        return ALONE
    sharded = asked_to_shard()
    from accelerate import PartialState  # here, because one process alone does not need it

    if not distributed.is_initialized():
        PartialState(cpu=device.type == "cpu")
        atexit.register(distributed.destroy_process_group)
    return JoinedProcesses(PartialState().device, sharded=sharded)


def leave(code: int) -> int:
    """End one of several connected processes here and now; one alone goes on to its own end.

    Threads of gloo abort a process now and then while the interpreter is torn down, and a launcher
    takes that for a run that has failed. All that is registered for the end is done before.
    """
    if not distributed.is_initialized():
        return code
    atexit.unregister(distributed.destroy_process_group)
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError):  # closed before, or now
            stream.flush()
    os._exit(code)
