"""AdamW on the trainable weights of a module, with a state that checkpoints can hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from steadyrl.nets.shards import spread_like
from steadyrl.nets.weights import from_stored, to_stored

_MOMENTS = ("exp_avg", "exp_avg_sq")


class ModuleAdam:
    """torch's AdamW; the step size is given with every step, as our schedules decide it."""

    def __init__(
        self, module: nn.Module, *, epsilon: float = 1e-5, weight_decay: float = 0.0
    ) -> None:
        self._named = {name: w for name, w in module.named_parameters() if w.requires_grad}
        # Fused: one pass over each weight, without temporary arrays as large as the model.
        self._optimizer = torch.optim.AdamW(
            self._named.values(), eps=epsilon, weight_decay=weight_decay, fused=True
        )
        self.moves = 0  # steps begun: until the first one no weight can have moved

    def zero(self) -> None:
        """Forget the gradient."""
        self._optimizer.zero_grad(set_to_none=True)

    def step(self, learning_rate: float) -> None:
        """One step along the gradient that has been accumulated."""
        self.moves += 1
        for group in self._optimizer.param_groups:
            group["lr"] = learning_rate
        self._optimizer.step()

    def state_dict(self) -> dict[str, Any]:
        """Both moments of every weight by its name, and the number of steps; see ModuleWeights."""
        found: dict[str, Any] = {}
        for name, weight in self._named.items():
            state = self._optimizer.state.get(weight)
            if state:
                moments = {moment: to_stored(state[moment], copy=False) for moment in _MOMENTS}
                found[name] = {**moments, "step": int(state["step"])}
        return found

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Back to a recorded state."""
        self._optimizer.state.clear()
        for name, weight in self._named.items():
            if name in state:
                self._optimizer.state[weight] = {
                    "step": torch.tensor(float(state[name]["step"])),
                    **{m: spread_like(weight, from_stored(state[name][m])) for m in _MOMENTS},
                }
