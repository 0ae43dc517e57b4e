"""What an update's completions say of themselves: chance, merit, and whether the mask is right."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from steadyrl.environments.language.completions import Completions


def mean_under(values: Tensor, mask: Tensor) -> float:
    """The mean over the tokens under the mask."""
    return float((values * mask).sum() / mask.sum())


def standard_error(values: Tensor, samples_per_prompt: int) -> float:
    """Of the mean over all samples; those of one prompt are alike, so prompts are what is drawn."""
    means = values.float().view(-1, samples_per_prompt).mean(dim=1)
    return float(means.std()) / math.sqrt(len(means)) if len(means) > 1 else 0.0


def centred(scores: Tensor, samples_per_prompt: int) -> Tensor:
    """Scores above the mean of their prompt, or of the batch where a prompt has one sample."""
    if samples_per_prompt == 1:
        return scores - scores.mean()
    groups = scores.view(-1, samples_per_prompt)
    return (groups - groups.mean(dim=1, keepdim=True)).flatten()


def mask_error(completions: Completions, ends: Sequence[int]) -> float:
    """Tokens whose mask is wrong, over those that must be trained.

    These are the tokens after the prompt up to the first that ends a completion, that one too:
    counted from the tokens themselves and not from how the mask was made.
    """
    mask = completions.mask
    prompt = completions.tokens.shape[1] - mask.shape[1]
    ending = torch.isin(completions.tokens[:, prompt:], torch.tensor(ends, device=mask.device))
    ended_before = ending.cumsum(dim=1) - ending.long()
    wrong = ((ended_before == 0) != mask).sum()
    read = completions.attention[:, :prompt].sum(dim=1)
    wrong = wrong + (read - completions.prompt_lengths).abs().sum()
    return float(wrong / (ended_before == 0).sum())


def describe(completions: Completions, scores: Tensor) -> dict[str, float]:
    """How the completions look and what they earned."""
    return {
        "rollout.return_mean": float(scores.mean()),
        "language.reward_std": float(scores.std()) if len(scores) > 1 else 0.0,
        "language.length_mean": float(completions.lengths.float().mean()),
        "language.reward_error": standard_error(scores, completions.samples_per_prompt),
        "language.length_error": standard_error(
            completions.lengths.float(), completions.samples_per_prompt
        ),
        "language.cut_share": 1.0 - float(completions.finished.float().mean()),
        "language.tokens": float(completions.lengths.sum()),
    }
