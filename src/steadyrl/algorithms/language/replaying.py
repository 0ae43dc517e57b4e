"""Old prompts and their completions among the fresh ones of an update.

An item is a prompt with all of its completions, because these are compared with each other. When it
is drawn, its log-probabilities, values and advantages are found anew; what was said, what it
earned, and how probable it was then stay as they were.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from steadyrl.algorithms.common.replaying import announce, effective_by_age, limits_at, suit
from steadyrl.algorithms.language.batch import Age, Batch
from steadyrl.algorithms.language.config import LanguageConfig
from steadyrl.algorithms.language.learner import LanguageLearner
from steadyrl.algorithms.language.reading import read
from steadyrl.environments.language.completions import Completions
from steadyrl.environments.language.policy import TokenOutputs
from steadyrl.environments.language.sampling import Sampling
from steadyrl.experience.aged import AgedExperience, Drawn
from steadyrl.maths.losses import LOG_RATIO_LIMIT, policy_weights


@dataclass(frozen=True)
class Recalled:
    """Old completions, what the policy says of them now, and how they were drawn."""

    drawn: Drawn
    completions: Completions
    scores: Tensor
    outputs: TokenOutputs
    pad: int

    def after(
        self, fresh: Completions, scores: Tensor, found: TokenOutputs
    ) -> tuple[Completions, Tensor, TokenOutputs]:
        """Fresh ones first, then these."""
        old = self.completions
        prompt = max(c.tokens.shape[1] - c.mask.shape[1] for c in (fresh, old))
        length = max(fresh.mask.shape[1], old.mask.shape[1])
        both = _joined(
            fresh.widened(prompt, length, self.pad), old.widened(prompt, length, self.pad)
        )

        def join(left: Tensor, right: Tensor) -> Tensor:
            return torch.cat((_wide(left, length), _wide(right, length)))

        mine = self.outputs
        outputs = TokenOutputs(
            join(found.log_probs, mine.log_probs),
            join(found.entropies, mine.entropies),
            None
            if found.values is None or mine.values is None
            else join(found.values, mine.values),
        )
        return both, torch.cat((scores, self.scores)), outputs


def recall(learner: LanguageLearner, config: LanguageConfig, progress: float) -> Recalled | None:
    """Items from the buffer, read again; None while it holds too few."""
    experience, settings, now = learner.experience, config.replay, learner.updates
    assert experience is not None
    limits = limits_at(settings, progress)
    suit(experience, settings, (config.samples_per_prompt, config.problems.max_new_tokens))
    experience.retire(now, limits)
    if len(experience) < settings.minimum:
        return None
    drawn = experience.draw(
        settings.wanted(config.prompts_per_update),
        now=now,
        limits=limits,
        generator=learner.generators["experience"],
    )
    experience.grow_beta(settings.beta_growth)
    completions, scores = _completions(drawn, learner, config)
    outputs = read(learner, completions, config)
    return Recalled(drawn, completions, scores, outputs, int(learner.tokenizer.pad_token_id))


def settle(
    learner: LanguageLearner,
    batch: Batch,
    scores: Tensor,
    old: Recalled | None,
    config: LanguageConfig,
) -> tuple[Batch, dict[str, float]]:
    """The batch with what its rows count, prompts in random order; the fresh ones are kept."""
    experience, now = learner.experience, learner.updates
    assert experience is not None
    group, new = config.samples_per_prompt, len(scores)
    signals = experience.statistics(now) | {"aged.drawn": 0.0}
    worths = batch.worths.view(-1, group).mean(dim=1).cpu().numpy()
    fresh = batch.rows(torch.arange(new, device=scores.device))
    if old is not None:
        experience.learn(old.drawn.slots, worths[new // group :])
        signals["aged.priority_error"] = experience.mispriced(
            old.drawn.slots, worths[new // group :]
        )
        age, found = _age(batch, new, old, config)
        signals |= found
        batch = replace(batch, age=age)
        order = learner.generators["experience"].permutation(len(batch) // group)
        rows = (torch.from_numpy(order)[:, None] * group + torch.arange(group)).flatten()
        batch = batch.rows(rows.to(scores.device))
    _keep(experience, fresh, scores, worths[: new // group], learner, config)
    signals["aged.stale_share"] = experience.dropped_stale / experience.added
    return batch, signals


def _age(
    batch: Batch, new: int, old: Recalled, config: LanguageConfig
) -> tuple[Age, dict[str, float]]:
    """What old rows count beside fresh ones, and what that says of them."""
    mask, device = batch.completions.mask, batch.old_log_probs.device
    group, bound = config.samples_per_prompt, config.replay.ratio_bound
    draws = torch.ones(len(batch), 1, device=device)
    repeated = np.repeat(old.drawn.weights, group).astype(np.float32)
    draws[new:, 0] = torch.from_numpy(repeated).to(device)
    now, then = batch.old_log_probs[new:], batch.completions.plain_log_probs[new:]
    policy = torch.ones_like(batch.old_log_probs)
    policy[new:] = policy_weights(now, then, bound)
    fresh = torch.arange(len(batch), device=device) < new
    there = mask[new:]
    logs = (now - then).clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT)[there]
    ages = np.repeat(np.repeat(old.drawn.ages, group), there.sum(dim=1).cpu().numpy())
    signals = {
        "aged.drawn": float(len(old.drawn.slots)),
        "aged.share": (len(batch) - new) / len(batch),
        "aged.kl": float((logs.exp() - 1.0 - logs).mean()),
        "aged.ratio_bounded_share": float((policy[new:] >= bound)[there].float().mean()),
        "aged.ratio_error": float((policy[new:][there] - logs.exp().clamp(max=bound)).abs().max()),
        "aged.uses_max": float(old.drawn.uses.max()),
        "aged.weight_min": float(old.drawn.weights.min()),
        **effective_by_age(logs.exp().cpu().numpy(), ages),
    }
    if batch.old_values is not None:
        drift = (batch.old_values[new:] - _held(old, batch.old_values))[there]
        signals["aged.value_drift"] = float(drift.square().mean().sqrt())
    return Age(fresh, policy * draws, draws), signals


def _held(old: Recalled, like: Tensor) -> Tensor:
    values = torch.from_numpy(old.drawn.items["values"]).flatten(0, 1)
    return values[:, : like.shape[1]].to(like.device)


def _keep(
    experience: AgedExperience,
    fresh: Batch,
    scores: Tensor,
    worths: np.ndarray,
    learner: LanguageLearner,
    config: LanguageConfig,
) -> None:
    """The fresh prompts and completions, all of one width."""
    group, room = config.samples_per_prompt, config.problems.max_new_tokens
    said = fresh.completions.widened(
        learner.longest_prompt, room, int(learner.tokenizer.pad_token_id)
    )
    rows = {
        "tokens": said.tokens,
        "attention": said.attention,
        "mask": said.mask,
        "log_probs": said.log_probs,
        "plain_log_probs": said.plain_log_probs,
        "advantages": _wide(fresh.advantages, room),
        "scores": scores,
        "prompt_lengths": said.prompt_lengths,
        "finished": said.finished,
    }
    if fresh.old_values is not None:
        rows["values"] = _wide(fresh.old_values, room)
    items = {name: rows.cpu().numpy() for name, rows in rows.items()}
    items = {name: a.reshape(-1, group, *a.shape[1:]) for name, a in items.items()}
    announce(experience, items)
    experience.add(items, born=learner.updates, worths=worths)


def _completions(
    drawn: Drawn, learner: LanguageLearner, config: LanguageConfig
) -> tuple[Completions, Tensor]:
    """As they were when they were new, without columns that are padding in all of them."""
    device = learner.policy.device
    rows = {
        name: torch.from_numpy(items).flatten(0, 1).to(device)
        for name, items in drawn.items.items()
    }
    whole = Completions(
        tokens=rows["tokens"],
        attention=rows["attention"],
        mask=rows["mask"],
        log_probs=rows["log_probs"],
        plain_log_probs=rows["plain_log_probs"],
        entropies=torch.zeros_like(rows["log_probs"]),
        values=rows.get("values"),
        prompt_lengths=rows["prompt_lengths"],
        finished=rows["finished"],
        text=("",) * len(rows["tokens"]),
        sampling=Sampling(config.problems.max_new_tokens, config.temperature, config.top_p),
        samples_per_prompt=config.samples_per_prompt,
    )
    return whole.part(0, len(whole)), rows["scores"]


def _joined(first: Completions, second: Completions) -> Completions:
    """Both, of equal widths."""

    def join(left: Tensor, right: Tensor) -> Tensor:
        return torch.cat((left, right))

    values = None
    if first.values is not None and second.values is not None:
        values = join(first.values, second.values)
    return replace(
        first,
        tokens=join(first.tokens, second.tokens),
        attention=join(first.attention, second.attention),
        mask=join(first.mask, second.mask),
        log_probs=join(first.log_probs, second.log_probs),
        plain_log_probs=join(first.plain_log_probs, second.plain_log_probs),
        entropies=join(first.entropies, second.entropies),
        values=values,
        prompt_lengths=join(first.prompt_lengths, second.prompt_lengths),
        finished=join(first.finished, second.finished),
        text=(*first.text, *second.text),
    )


def _wide(values: Tensor, width: int) -> Tensor:
    return torch.nn.functional.pad(values, (0, width - values.shape[1]))
