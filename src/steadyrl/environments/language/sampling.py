"""How the next token is chosen."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from steadyrl.core.errors import TrainingDiverged

LOWEST = -1e4  # of a log-probability, far beyond what its exponential can tell from 0


@dataclass(frozen=True, slots=True)
class Sampling:
    """How tokens are chosen. Kept with what was sampled: training must know."""

    max_new_tokens: int = 16
    temperature: float = 1.0
    top_p: float = 1.0
    greedy: bool = False

    @property
    def as_trained(self) -> bool:
        """Whether tokens come from the model's own distribution, which is the one trained."""
        return not self.greedy and self.temperature == 1.0 and self.top_p == 1.0


def choose(
    logits: Tensor, draws: Tensor, sampling: Sampling
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Tokens (rows, draws), their log-probabilities as sampled and as the model's own, entropies.

    Each of a row's `draws` picks a token of its own. The entropy (rows,) is that of the model's own
    distribution, whatever the temperature.
    """
    plain = logits.log_softmax(dim=-1)
    if not bool(plain.isfinite().any(dim=-1).all()):
        raise TrainingDiverged(
            "the language model puts out NaN or infinity instead of logits: its weights are lost."
        )
    if sampling.greedy:
        best, tokens = (found[:, None].expand_as(draws) for found in plain.max(dim=-1))
        return tokens, torch.zeros_like(best), best, torch.zeros_like(best[:, 0])
    probabilities = plain.exp()
    # A token that is impossible adds nothing, though its logarithm is infinite.
    entropies = -(probabilities * plain.clamp(min=LOWEST)).sum(dim=-1)
    logs = plain
    if sampling.temperature != 1.0:
        logs = (logits / sampling.temperature).log_softmax(dim=-1)
    if sampling.top_p < 1.0:
        logs = _nucleus(logs, sampling.top_p)
    reached = (probabilities if logs is plain else logs.exp()).cumsum(dim=-1)
    total = reached[:, -1:]
    # Below the total by at least one digit: otherwise rounding could pick a token of probability 0.
    aims = torch.minimum(draws * total, torch.nextafter(total, torch.zeros_like(total)))
    tokens = torch.searchsorted(reached, aims, right=True)
    return tokens, logs.gather(1, tokens), plain.gather(1, tokens), entropies


def _nucleus(logs: Tensor, top_p: float) -> Tensor:
    """The most probable tokens that together reach `top_p`, renormalised; at least one."""
    ordered, places = logs.sort(dim=-1, descending=True)
    before = ordered.exp().cumsum(dim=-1) - ordered.exp()
    outside = torch.zeros_like(logs, dtype=torch.bool).scatter(1, places, before >= top_p)
    return logs.masked_fill(outside, -torch.inf).log_softmax(dim=-1)
