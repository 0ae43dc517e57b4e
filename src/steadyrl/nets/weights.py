"""What learners and signals ask of weights, whatever they are made of.

`FlatWeights` are one vector with one gradient: fast, for our own networks. `ModuleWeights` are
those of any torch module, in their own types: language models, users' own networks. Several
processes may hold a shard each; then all of them must ask, unless it is said otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from steadyrl.core.arrays import RawArray, SpreadArray, Storable
from steadyrl.nets.dense import Network, first_non_finite, norm
from steadyrl.nets.shards import added_up, is_spread, own_shard, put_together, spread_like

_TINY = 1e-12
SAMPLED = 4_000_000  # weights that tell how far a large model has moved
_RAW = {torch.bfloat16: "BF16", torch.float8_e4m3fn: "F8_E4M3", torch.float8_e5m2: "F8_E5M2"}
_KINDS = {torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", **_RAW}
_FROM_KIND = {name: kind for kind, name in _KINDS.items()}


class Weights(Protocol):
    """Weights that are trained: how long, how steep, how far moved, whether still numbers."""

    def norm(self) -> float:
        """The length of all weights as one vector."""
        ...

    def gradient_norm(self) -> float:
        """The length of their gradient."""
        ...

    def clip_gradient(self, longest: float | None) -> float:
        """Shorten the gradient if it is longer than that; returns its length before."""
        ...

    def snapshot(self) -> Sequence[Tensor]:
        """The weights as they are now, to be compared with later."""
        ...

    def moved_since(self, before: Sequence[Tensor]) -> float:
        """The length of the way since a snapshot, over their length then."""
        ...

    def first_non_finite(self) -> str | None:
        """The name of the first part that holds something that is no number."""
        ...

    def state_dict(self) -> dict[str, Storable]:
        """The weights, each in its own type."""
        ...

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Put weights back."""
        ...


class FlatWeights:
    """One vector: every question is a single operation."""

    def __init__(self, network: Network, name: str = "weights") -> None:
        self._network, self._name = network, name

    def norm(self) -> float:
        """The length of the vector."""
        return norm(self._network.parameters)

    def gradient_norm(self) -> float:
        """The length of its gradient."""
        return norm(self._network.gradient)

    def clip_gradient(self, longest: float | None) -> float:
        """Shorten the gradient if it is longer than that; returns its length before."""
        length = self.gradient_norm()
        if longest is not None and length > longest:
            self._network.gradient.mul_(longest / length)
        return length

    def snapshot(self) -> Sequence[Tensor]:
        """A copy of the vector."""
        return (self._network.parameters.clone(),)

    def moved_since(self, before: Sequence[Tensor]) -> float:
        """The length of the way since a snapshot, over their length then."""
        return norm(self._network.parameters - before[0]) / (norm(before[0]) + _TINY)

    def first_non_finite(self) -> str | None:
        """The vector's name, if it holds something that is no number."""
        return first_non_finite([(self._name, self._network.parameters)])

    def state_dict(self) -> dict[str, Storable]:
        """The network's own."""
        return dict(self._network.state_dict())

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Put weights back."""
        self._network.load_state_dict(state)


class ModuleWeights:
    """The trainable weights of any module; frozen ones are neither asked about nor stored."""

    def __init__(self, module: nn.Module) -> None:
        self._named = {name: w for name, w in module.named_parameters() if w.requires_grad}

    def norm(self) -> float:
        """The length of all of them as one vector."""
        return self._length(self._named.values())

    def gradient_norm(self) -> float:
        """The length of their gradient; those that have none count nothing."""
        return self._length(self.gradients())

    def clip_gradient(self, longest: float | None) -> float:
        """Shorten the gradient if it is longer than that; returns its length before."""
        length = self.gradient_norm()
        if longest is not None and length > longest:
            for gradient in self.gradients():
                gradient.mul_(longest / length)
        return length

    def gradients(self) -> Sequence[Tensor]:
        """The gradient of every weight that has one."""
        return [weight.grad for weight in self._named.values() if weight.grad is not None]

    def whole_gradient(self) -> Tensor:
        """All of them as one vector."""
        return torch.cat([put_together(gradient).flatten() for gradient in self.gradients()])

    def snapshot(self) -> Sequence[Tensor]:
        """Copies of all of them; of a large model every so many, for a copy is as large as it."""
        return [weight.clone() for weight in self._sampled()]

    def moved_since(self, before: Sequence[Tensor]) -> float:
        """The length of the way since a snapshot, over their length then."""
        pairs = zip(self._sampled(), before, strict=True)
        return self._length(now - then for now, then in pairs) / (self._length(before) + _TINY)

    def _sampled(self) -> Iterator[Tensor]:
        """All weights, or evenly spaced ones of each tensor if there are more than SAMPLED."""
        total = sum(weight.numel() for weight in self._named.values())
        every = max(1, total // SAMPLED)
        return (own_shard(w.detach()).flatten()[::every] for w in self._named.values())

    def first_non_finite(self) -> str | None:
        """The name of the first that holds something that is no number; of shards, one's own."""
        return first_non_finite((name, own_shard(w)) for name, w in self._named.items())

    def state_dict(self) -> dict[str, Storable]:
        """Every weight under its name, in its own type and place: store or copy it at once."""
        return {name: to_stored(weight, copy=False) for name, weight in self._named.items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Put weights back."""
        with torch.no_grad():
            for name, weight in self._named.items():
                weight.copy_(spread_like(weight, from_stored(state[name])))

    def _length(self, tensors: Iterable[Tensor]) -> float:
        """Of all as one vector, added up in float64 so that millions of small terms count."""
        shards = (own_shard(tensor.detach()) for tensor in tensors)
        squares = sum(float(shard.float().norm().double() ** 2) for shard in shards)
        return math.sqrt(added_up(squares, self._named.values()))


def to_stored(tensor: Tensor, *, copy: bool = True) -> Storable:
    """What a checkpoint can hold, in the tensor's own type: a copy, or a view of its memory.

    One of which other processes hold shards is put together when it is stored.
    """
    if is_spread(tensor):
        size = tensor.numel() * tensor.element_size()
        kind, shape = _KINDS[tensor.dtype], tuple(tensor.shape)
        return SpreadArray(kind, shape, size, lambda: _bytes_of(put_together(tensor)))
    plain = tensor.detach().contiguous().cpu()
    if plain.dtype in _RAW:
        content = _bytes_of(plain)
        return RawArray(_RAW[plain.dtype], tuple(plain.shape), content.copy() if copy else content)
    found = plain.numpy()
    return found.copy() if copy else found


def _bytes_of(tensor: Tensor) -> NDArray[np.uint8]:
    plain = tensor.detach().contiguous().cpu()
    return plain.view(-1).view(torch.uint8).numpy()


def from_stored(stored: Storable) -> Tensor:
    """The inverse of `to_stored`."""
    if isinstance(stored, np.ndarray):
        return torch.from_numpy(np.array(stored))
    content = torch.from_numpy(np.array(stored.content))
    return content.view(_FROM_KIND[stored.kind]).reshape(stored.shape)
