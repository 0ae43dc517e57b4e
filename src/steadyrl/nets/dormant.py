"""Units that have fallen silent."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor

DORMANT = 0.025  # of the layer's mean activation (Sokar et al., 2023)


class Observable(Protocol):
    """A network whose hidden layers can be looked at."""

    def hidden_activations(self) -> list[Tensor]:
        """What they put out in the last `forward`."""
        ...


def dormant_share(network: Observable) -> float:
    """Share of hidden units that hardly responded in the last `forward`."""
    dormant = total = 0
    for layer in network.hidden_activations():
        activity = layer.float().mean(dim=0)
        dormant += int((activity <= DORMANT * activity.mean()).sum())
        total += len(activity)
    return dormant / total if total else 0.0
