"""How much better a token, or a whole completion, was than expected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from steadyrl.core.errors import ConfigError


def token_rewards(scores: Tensor, mask: Tensor, penalties: Tensor | None = None) -> Tensor:
    """The score of each completion at its last token, less a penalty at every token.

    A completion without tokens gets nothing.
    """
    positions = torch.arange(mask.shape[1], device=mask.device).expand_as(mask)
    last = torch.where(mask, positions, -1).amax(dim=1, keepdim=True)
    rewards = torch.where(mask & (positions == last), scores[:, None], 0.0)
    return rewards if penalties is None else rewards - torch.where(mask, penalties, 0.0)


def token_advantages(
    rewards: Tensor, values: Tensor, mask: Tensor, gamma: float, decay: float
) -> tuple[Tensor, Tensor]:
    """Advantages (GAE) and returns of the tokens under the mask; 0 elsewhere.

    Arrays are (sequences, time). Nothing follows the last token, also where the completion was cut
    off: its score is all there is. Tokens outside the mask are stepped over, so that a completion
    may have gaps (the words of a tool, say).
    """
    future = torch.zeros_like(values[:, 0])
    running = torch.zeros_like(future)
    result = torch.zeros_like(values)
    for time in range(values.shape[1] - 1, -1, -1):
        here = mask[:, time]
        surprise = rewards[:, time] + gamma * future - values[:, time]
        running = torch.where(here, surprise + gamma * decay * running, running)
        future = torch.where(here, values[:, time], future)
        result[:, time] = torch.where(here, running, 0.0)
    return result, torch.where(mask, result + values, 0.0)


ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class GroupAdvantages:
    """Advantages of completions by comparison with the others of the same prompt."""

    advantages: Tensor  # (sequences,)
    means: Tensor  # (groups,)
    deviations: Tensor  # (groups,)
    without_spread: Tensor  # (groups,) true where all scores are equal: nothing to learn from


def group_advantages(
    scores: Tensor, group: int, *, normalise: Literal["std", "none"] = "std"
) -> GroupAdvantages:
    """Scores less the mean of their group, over its standard deviation if asked for.

    `scores` holds the groups one after the other. Groups of equal scores get exactly 0, not
    rounding errors blown up by a vanishing deviation.
    """
    if group < 2 or len(scores) % group:
        raise ConfigError(
            f"{len(scores)} completions cannot be compared in groups of {group}: "
            "use groups of at least 2 and a batch that is a multiple of the group."
        )
    rows = scores.view(-1, group)
    without_spread = rows.amax(dim=1) == rows.amin(dim=1)
    means, deviations = rows.mean(dim=1), rows.std(dim=1)
    deviations = torch.where(without_spread, 0.0, deviations)
    centred = rows - means[:, None]
    if normalise == "std":
        centred = centred / (deviations + 1e-6)[:, None]
    centred = torch.where(without_spread[:, None], 0.0, centred)
    return GroupAdvantages(centred.flatten(), means, deviations, without_spread)


def whitened(values: Tensor, mask: Tensor) -> Tensor:
    """Mean 0 and variance 1 over the mask; 0 elsewhere, and everywhere if nothing varies.

    What differs by less than rounding (ROUNDING, of rewards of size 1 or of larger values) counts
    as equal: a KL penalty of 1e-8 among equal scores would become a step of full size.
    """
    count = mask.sum()
    mean = torch.where(mask, values, 0.0).sum() / count.clamp(min=1)
    centred = torch.where(mask, values - mean, 0.0)
    variance = centred.square().sum() / (count - 1).clamp(min=1)
    lowest = torch.where(mask, values, torch.inf).min()
    highest = torch.where(mask, values, -torch.inf).max()
    size = torch.maximum(lowest.abs(), highest.abs()).clamp(min=1.0)
    varies = highest - lowest > ROUNDING * size
    return torch.where(varies, centred / (variance.sqrt() + 1e-8), 0.0)
