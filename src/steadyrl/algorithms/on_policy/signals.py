"""How much a policy still varies, in words that hold for any of them."""

from __future__ import annotations

import math

import torch

from steadyrl.maths.policies import Policy


def entropy_share(policy: Policy, entropy: float) -> dict[str, float]:
    """Of the largest possible; continuous actions have no largest, one button has none at all."""
    if policy.extra or policy.outputs < 2:
        return {}
    return {"policy.entropy_share": entropy / math.log(policy.outputs)}


def deviations(log_stds: torch.Tensor) -> dict[str, float]:
    """How much continuous actions vary: on average, and the one that varies least."""
    stds = log_stds.exp()
    return {"policy.std": float(stds.mean()), "policy.std_min": float(stds.min())}
