"""How much a policy still varies, in words that hold for any of them."""

from __future__ import annotations

import math

import torch

from steadyrl.maths.policies import Policy


def entropy_share(policy: Policy, entropy: float) -> dict[str, float]:
    """Of the largest possible; continuous actions have no largest, one button has none at all."""
    if not 0.0 < policy.largest_entropy < math.inf:
        return {}
    return {"policy.entropy_share": entropy / policy.largest_entropy}


def deviations(log_stds: torch.Tensor) -> dict[str, float]:
    """How much continuous actions vary: on average, and the one that varies least."""
    stds = log_stds.exp()
    return {"policy.std": float(stds.mean()), "policy.std_min": float(stds.min())}
