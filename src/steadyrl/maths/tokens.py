"""Log-probabilities of chosen tokens, without ever holding a whole array of logits.

A model of 49,152 tokens of vocabulary puts out 192 kB of logits for each position: a batch of
32 x 64 positions makes 400 MB, and autograd keeps several such arrays. Here the head is applied to
a few positions at a time, and again in the backward pass: time is traded (one more product with the
head) for memory that depends on the chunk alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


def chosen_log_probs(
    hidden: Tensor,
    head_weight: Tensor,
    tokens: Tensor,
    *,
    head_bias: Tensor | None = None,
    temperature: float = 1.0,
    chunk: int = 256,
) -> tuple[Tensor, Tensor]:
    """Log-probability of each token and entropy of its distribution, both with gradients.

    `hidden` is (..., width), `tokens` (...), `head_weight` (vocabulary, width). The products are
    made in the type of `hidden`, everything after them in at least 32 bits. `chunk` positions are
    looked at together; no array larger than chunk x vocabulary (or than the head) is made.
    """
    flat = hidden.reshape(-1, hidden.shape[-1])
    log_probs, entropies = _ChosenLogProbs.apply(  # type: ignore[no-untyped-call]
        flat, head_weight, head_bias, tokens.reshape(-1), temperature, chunk
    )
    return log_probs.view(tokens.shape), entropies.view(tokens.shape)


class _ChosenLogProbs(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        tokens: Tensor,
        temperature: float,
        chunk: int,
    ) -> tuple[Tensor, Tensor]:
        exact = _exact(hidden.dtype)
        log_probs = torch.empty(len(hidden), dtype=exact, device=hidden.device)
        entropies, normalisers = torch.empty_like(log_probs), torch.empty_like(log_probs)
        with torch.autocast(hidden.device.type, enabled=False):
            head = weight.to(hidden.dtype)
            for part in _parts(len(hidden), chunk):
                logits = _logits(hidden[part], head, bias, temperature)
                normaliser = logits.logsumexp(dim=1)
                chosen = logits.gather(1, tokens[part, None]).squeeze(1)
                log_probs[part] = chosen - normaliser
                normalisers[part] = normaliser
                logs = logits.sub_(normaliser[:, None])
                entropies[part] = -torch.linalg.vecdot(logs.exp(), logs)
        ctx.save_for_backward(hidden, weight, bias, tokens, normalisers, entropies)
        ctx.temperature, ctx.chunk = temperature, chunk
        return log_probs, entropies

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, log_prob_gradient: Tensor, entropy_gradient: Tensor
    ) -> tuple[Tensor | None, ...]:
        hidden, weight, bias, tokens, normalisers, entropies = ctx.saved_tensors
        exact = normalisers.dtype
        wants_hidden, wants_weight, wants_bias = ctx.needs_input_grad[:3]
        hidden_gradient = torch.empty_like(hidden) if wants_hidden else None
        weight_gradient = torch.zeros_like(weight, dtype=exact) if wants_weight else None
        bias_gradient = torch.zeros_like(bias, dtype=exact) if wants_bias else None
        with torch.autocast(hidden.device.type, enabled=False):
            head = weight.to(hidden.dtype)
            for part in _parts(len(hidden), ctx.chunk):
                logits = _logits(hidden[part], head, bias, ctx.temperature)
                slopes = _slopes(
                    logits.sub_(normalisers[part, None]),
                    tokens[part],
                    entropies[part],
                    log_prob_gradient[part],
                    entropy_gradient[part],
                ).div_(ctx.temperature)
                if hidden_gradient is not None:
                    hidden_gradient[part] = slopes.to(hidden.dtype) @ head
                if weight_gradient is not None:
                    weight_gradient.addmm_(slopes.T, hidden[part].to(exact))
                if bias_gradient is not None:
                    bias_gradient += slopes.sum(dim=0)
        return (
            hidden_gradient,
            None if weight_gradient is None else weight_gradient.to(weight.dtype),
            None if bias_gradient is None else bias_gradient.to(bias.dtype),
            None,
            None,
            None,
        )


def _slopes(
    logs: Tensor, tokens: Tensor, entropies: Tensor, of_log_prob: Tensor, of_entropy: Tensor
) -> Tensor:
    """Slopes by the logits, given the log-probabilities of all tokens (overwritten).

    d ln p_i / d z_j = [i = j] - p_j and d H / d z_j = -p_j (ln p_j + H).
    """
    probabilities = logs.exp()
    # -p (g + e (ln p + H)), in place: two arrays of the chunk exist at a time, not five.
    slopes = logs.add_(entropies[:, None]).mul_(of_entropy[:, None]).add_(of_log_prob[:, None])
    slopes.mul_(probabilities).neg_()
    return slopes.scatter_add_(1, tokens[:, None], of_log_prob[:, None].to(slopes.dtype))


def _logits(hidden: Tensor, head: Tensor, bias: Tensor | None, temperature: float) -> Tensor:
    logits = (hidden @ head.T).to(_exact(hidden.dtype))
    if bias is not None:
        logits += bias
    return logits if temperature == 1.0 else logits.div_(temperature)


def _exact(kind: torch.dtype) -> torch.dtype:
    return torch.promote_types(kind, torch.float32)


def _parts(length: int, chunk: int) -> Iterator[slice]:
    return (slice(start, start + chunk) for start in range(0, length, chunk))
