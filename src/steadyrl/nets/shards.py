"""Weights of which each of several processes holds a shard: torch's FSDP2.

A part of a module (a layer of a language model) is put together from the shards of all processes
while it is passed through, forward and backward; its gradient is added up over the processes and
cut into shards as it is made. So all processes must make the same passes in the same order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeGuard

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from torch.distributed.tensor import DTensor


class Shards:
    """A module whose weights are spread over the processes of a mesh, part by part."""

    def __init__(
        self, module: nn.Module, parts: Sequence[nn.Module], mesh: Any, *, let_go: bool
    ) -> None:
        """`let_go`: parts are put together again for the backward pass, not kept until then."""
        from torch.distributed.fsdp import fully_shard

        self._module, self._let_go = module, let_go
        self._parts = [fully_shard(part, mesh=mesh, reshard_after_forward=let_go) for part in parts]
        # What belongs to no part (embedding, head) is kept from the forward to the backward pass.
        self._rest = fully_shard(module, mesh=mesh, reshard_after_forward=False)
        for shard in (*self._parts, self._rest):
            # Added, not averaged: losses are divided by the size of the whole batch.
            shard.set_gradient_divide_factor(1.0)
            shard.set_force_sum_reduction_for_comms(enable=True)

    @contextmanager
    def gathered(self) -> Iterator[None]:
        """All weights in every process; within, passes wait for nobody, and none has a gradient."""
        for part in self._parts:
            part.set_reshard_after_forward(reshard_after_forward=False)
        try:
            for shard in (*self._parts, self._rest):
                shard.unshard()
            yield
        except BaseException:
            self._rest.reset_iter_state()  # a pass may have been broken off
            raise
        finally:
            for part in self._parts:
                part.set_reshard_after_forward(reshard_after_forward=self._let_go)
            for shard in (*self._parts, self._rest):
                shard.reshard()


def is_spread(tensor: Tensor) -> TypeGuard[DTensor]:
    """Whether other processes hold shards of it; without the second it takes to import DTensor."""
    return hasattr(tensor, "full_tensor")


def own_shard(tensor: Tensor) -> Tensor:
    """What this process holds of it; all, if it is not spread."""
    return tensor.to_local() if is_spread(tensor) else tensor


def put_together(tensor: Tensor) -> Tensor:
    """All of it, from all processes: each of them must ask."""
    return tensor.full_tensor() if is_spread(tensor) else tensor


def spread_like(tensor: Tensor, whole: Tensor) -> Tensor:
    """The whole, of which every process has a copy, spread as the tensor is and where it is."""
    whole = whole.to(tensor.device)
    if not is_spread(tensor):
        return whole
    from torch.distributed.tensor import distribute_tensor

    found: Tensor = distribute_tensor(
        whole,
        tensor.device_mesh,
        tensor.placements,
        src_data_rank=None,  # nothing is sent: each cuts out its own
    )
    return found


def added_up(number: float, tensors: Iterable[Tensor]) -> float:
    """The sum over all processes, if they share the tensors out; the number itself otherwise."""
    spread = next((tensor for tensor in tensors if is_spread(tensor)), None)
    if spread is None:
        return number
    total = torch.tensor(number, dtype=torch.float64, device=spread.device)
    torch.distributed.all_reduce(total, group=spread.device_mesh.get_group())
    return float(total)
