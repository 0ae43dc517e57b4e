"""Somebody's own torch module behind the interface of our networks: slower, and as well watched.

Its weights live in one flat vector, so optimisers, targets, norms, trust regions and checkpoints
see no difference. Slopes and tangents are autograd's. A pass keeps no graph: `backward` goes
through it again, so that passes which are only looked at cost no memory. The module is always in
its evaluation mode: probability ratios would be noise if dropout made other outputs each time.
"""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.func import functional_call, jvp

from steadyrl.core.errors import CheckpointError

ACTIVATIONS = (nn.ReLU, nn.Tanh, nn.GELU, nn.SiLU, nn.ELU, nn.LeakyReLU, nn.Sigmoid)


class OwnNetwork:
    """Rows of `shape` to rows of outputs; `squash` puts a tanh behind the module."""

    def __init__(
        self,
        module: nn.Module,
        shape: Sequence[int],
        *,
        extra: int = 0,
        squash: bool = False,
        device: torch.device | str = "cpu",
    ) -> None:
        self.device, self.shape, self.squash = torch.device(device), tuple(shape), squash
        self.module = module.to(self.device).eval()
        named = [(name, w) for name, w in module.named_parameters() if w.requires_grad]
        self._names = [name for name, _ in named]
        self._weights = [weight for _, weight in named]
        flat = torch.cat([weight.detach().float().flatten() for weight in self._weights])
        self.parameters = torch.cat((flat, torch.zeros(extra, device=self.device)))
        self.gradient = torch.zeros_like(self.parameters)
        self.extra, self.extra_gradient = self.parameters[len(flat) :], self.gradient[len(flat) :]
        for weight, part in zip(self._weights, self._split(self.parameters), strict=True):
            weight.data = part.view(weight.shape)
        self._inputs = torch.empty(0)
        self._hidden: list[Tensor] = []
        for layer in self.module.modules():
            if isinstance(layer, ACTIVATIONS):
                layer.register_forward_hook(self._remember)

    def clone(self) -> OwnNetwork:
        """An independent network with the same weights."""
        twin = OwnNetwork(
            self.bare_module(),
            self.shape,
            extra=len(self.extra),
            squash=self.squash,
            device=self.device,
        )
        twin.parameters.copy_(self.parameters)
        return twin

    def bare_module(self) -> nn.Module:
        """A copy of the module as it was given, with the weights of now."""
        module = copy.deepcopy(self.module)
        for layer in module.modules():
            layer._forward_hooks.clear()  # they are this network's
        return module

    def forward(self, inputs: Tensor) -> Tensor:
        """Outputs of shape (rows, outputs), float32."""
        self._inputs, self._hidden = inputs, []
        with torch.no_grad():
            return self._outputs(self.module(self._shaped(inputs)))

    def backward(
        self, output_gradient: Tensor, *, parameters: bool = True, inputs_from: int | None = None
    ) -> Tensor | None:
        """Gradients for the last `forward`: into `gradient`, and for the inputs if asked."""
        given, inputs = self._inputs.detach(), inputs_from is not None
        if inputs:
            given = given.clone().requires_grad_()
        wanted = [*(self._weights if parameters else ()), *((given,) if inputs else ())]
        with torch.enable_grad():
            outputs = self._outputs(self.module(self._shaped(given)))
            found: list[Tensor | None] = list(
                torch.autograd.grad(outputs, wanted, output_gradient, allow_unused=True)
            )
        slope = found.pop() if inputs else None
        if parameters:
            for part, gradient in zip(self._split(self.gradient), found, strict=True):
                part.zero_() if gradient is None else part.copy_(gradient.flatten())
        return None if slope is None else slope[:, inputs_from:]

    def tangent(self, direction: Tensor) -> Tensor:
        """Derivative of the last `forward`'s outputs along a direction in parameter space."""
        shaped = self._shaped(self._inputs)

        def outputs(*weights: Tensor) -> Tensor:
            named = dict(zip(self._names, weights, strict=True))
            found: Tensor = functional_call(self.module, named, (shaped,))
            return self._outputs(found)

        pairs = zip(self._split(direction), self._weights, strict=True)
        moves = tuple(part.view(weight.shape) for part, weight in pairs)
        held = tuple(weight.detach() for weight in self._weights)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # torch's own, on first use
            moved: Tensor = jvp(outputs, held, moves)[1]
        return moved

    def act(self, observations: NDArray[Any]) -> NDArray[np.float32]:
        """Outputs for a few observations."""
        found: NDArray[np.float32] = (
            self.forward(torch.from_numpy(observations).to(self.device)).cpu().numpy()
        )
        return found

    def layer_gradients(self) -> list[Tensor]:
        """Each weight's part of the flat gradient, in the module's order."""
        return list(self._split(self.gradient))

    def hidden_activations(self) -> list[Tensor]:
        """What activation layers put out in the last pass; none if they are no layers."""
        return self._hidden

    def state_dict(self) -> dict[str, NDArray[np.float32]]:
        """The weights."""
        return {"parameters": self.parameters.cpu().numpy().copy()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Put weights back."""
        saved = np.asarray(state["parameters"])
        if len(saved) != len(self.parameters):
            raise CheckpointError(
                f"your network has {len(self.parameters):,} weights, the checkpoint's had "
                f"{len(saved):,}: the function that makes it was changed. Put it back, or start "
                "anew."
            )
        self.parameters.copy_(torch.from_numpy(saved))

    def _shaped(self, inputs: Tensor) -> Tensor:
        # Images arrive with their channels last in memory, where `view` would fail.
        return inputs.reshape(len(inputs), *self.shape).contiguous()

    def _outputs(self, found: Tensor) -> Tensor:
        return (torch.tanh(found) if self.squash else found).float()

    def _split(self, flat: Tensor) -> Sequence[Tensor]:
        lengths = [math.prod(weight.shape) for weight in self._weights]
        return torch.split(flat[: sum(lengths)], lengths)

    def _remember(self, _layer: nn.Module, _inputs: Any, outputs: Tensor) -> None:
        if not torch.is_grad_enabled():
            self._hidden.append(outputs.detach().flatten(1))


class OwnModule(nn.Module):
    """What an OwnNetwork does, as a module: for export."""

    def __init__(self, network: OwnNetwork) -> None:
        super().__init__()
        self._shape, self._squash = network.shape, network.squash
        self.module = network.bare_module()

    def forward(self, inputs: Tensor) -> Tensor:
        """Rows to rows."""
        found: Tensor = self.module(inputs.reshape(-1, *self._shape))
        return torch.tanh(found) if self._squash else found
