"""What the tokens of completions teach: advantages, by values or by comparison within a prompt."""

from __future__ import annotations

import math
from dataclasses import replace

from torch import Tensor

from steadyrl.algorithms.language.batch import Batch
from steadyrl.algorithms.language.config import LanguageConfig
from steadyrl.maths.advantages import explained_variance
from steadyrl.maths.token_advantages import (
    group_advantages,
    token_advantages,
    token_rewards,
    whitened,
)


def grade(
    batch: Batch, scores: Tensor, penalties: Tensor | None, config: LanguageConfig, new: slice
) -> tuple[Batch, dict[str, float]]:
    """The batch with its advantages, and what the `new` ones among its rows say of them."""
    by = _by_values if config.advantage == "gae" else _by_groups
    return by(batch, scores, penalties, config, new)


def _by_values(
    batch: Batch, scores: Tensor, penalties: Tensor | None, config: LanguageConfig, new: slice
) -> tuple[Batch, dict[str, float]]:
    """Advantages of tokens by what the value head expected of them."""
    values, mask = batch.old_values, batch.completions.mask
    assert values is not None
    rewards = token_rewards(scores, mask, penalties)
    gained, returns = token_advantages(rewards, values, mask, config.gamma, config.gae_decay)
    sizes = gained
    if config.replay.priority == "td_error":
        sizes, _ = token_advantages(rewards, values, mask, config.gamma, 0.0)
    signals = {
        "advantage.std": float(gained[new][mask[new]].std()),
        "language.value_error": float((values - returns)[new][mask[new]].square().mean().sqrt()),
    }
    explained = explained_variance(
        values[new][mask[new]].cpu().numpy(), returns[new][mask[new]].cpu().numpy()
    )
    if not math.isnan(explained):
        signals["value.explained_variance"] = explained
    worths = sizes.abs().sum(dim=1) / mask.sum(dim=1).clamp(min=1)
    return replace(
        batch, advantages=whitened(gained, mask), returns=returns, worths=worths
    ), signals


def _by_groups(
    batch: Batch, scores: Tensor, penalties: Tensor | None, config: LanguageConfig, new: slice
) -> tuple[Batch, dict[str, float]]:
    """Advantages of completions by comparison with the others of their prompt."""
    mask = batch.completions.mask
    totals = scores if penalties is None else scores - penalties.sum(dim=1)
    groups = group_advantages(totals, config.samples_per_prompt, normalise=config.normalise)
    prompts = slice(0, new.stop // config.samples_per_prompt)
    signals = {
        "language.equal_groups_share": float(groups.without_spread[prompts].float().mean()),
        "advantage.std": float(groups.deviations[prompts].mean()),
    }
    advantages = groups.advantages[:, None].expand_as(mask) * mask
    worths = groups.advantages.abs()
    return replace(batch, old_values=None, advantages=advantages, worths=worths), signals
