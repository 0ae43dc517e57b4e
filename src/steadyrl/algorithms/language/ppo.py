"""PPO for causal language models (and GRPO, where advantages come from comparing completions).

Reads top to bottom: `train_language` is the loop, `sample` generates and scores a large batch,
`estimate` finds out what it teaches, `update` goes over it in epochs, `descend` is one optimiser
step. A step's losses are divided by the token count of its *whole* minibatch, so the gradient is
the same however it is cut into micro-batches, and shared out to processes: each of them samples and
trains its share, and knows everything about the whole batch.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from functools import partial

import numpy as np
import torch
from torch import Tensor

from steadyrl.algorithms.common.clock import Clock
from steadyrl.algorithms.common.ending import finish_step
from steadyrl.algorithms.language.batch import Batch
from steadyrl.algorithms.language.config import LanguageConfig
from steadyrl.algorithms.language.evaluating import begin, evaluate
from steadyrl.algorithms.language.grading import grade
from steadyrl.algorithms.language.learner import LanguageLearner
from steadyrl.algorithms.language.measures import centred, describe, mask_error, mean_under
from steadyrl.algorithms.language.reading import parts_of, read, refer
from steadyrl.algorithms.language.replaying import Recalled, recall, settle
from steadyrl.core.config import LiveConfig
from steadyrl.core.records import Step
from steadyrl.core.signals import Meter
from steadyrl.environments.language.accuracy import scored
from steadyrl.environments.language.completions import Completions
from steadyrl.environments.language.generation import generate
from steadyrl.environments.language.policy import TokenOutputs
from steadyrl.environments.language.sampling import Sampling
from steadyrl.maths.token_losses import (
    PolicyStatistics,
    clipped_policy_loss,
    clipped_value_loss,
    kl_estimates,
)


def train_language(
    live: LiveConfig[LanguageConfig], clock: Clock, learner: LanguageLearner
) -> Iterator[Step]:
    """Train until `total_samples`, yielding a Step per update.

    Nothing local survives a `yield`: whoever consumes the Steps may change settings or put the
    learner back to an earlier state, and the loop goes on from there.
    """
    while clock.steps_taken < live.now.total_samples:
        config, meter, started = live.now, Meter(), time.perf_counter()
        if learner.updates == 0:
            meter.add(begin(learner, config))
        taken_before = clock.steps_taken
        completions, scores = sample(learner, config)
        meter.add(describe(completions, scores))
        progress = taken_before / config.total_samples
        old = recall(learner, config, progress) if config.replays else None
        batch, signals = estimate(learner, completions, scores, config, old)
        meter.add(signals)
        if config.replays:
            batch, signals = settle(learner, batch, scores, old, config)
            meter.add(signals)
        rate = config.learning_rate_at(learner.updates, progress)
        learner.generated += len(completions)
        update(learner, batch, config, meter, learning_rate=rate)
        clock.steps_taken += len(completions)
        yield finish_step(
            learner,
            clock,
            config,
            meter,
            started=started,
            taken_before=taken_before,
            evaluate=partial(evaluate, learner, config),
        )


def sample(learner: LanguageLearner, config: LanguageConfig) -> tuple[Completions, Tensor]:
    """A large batch: several completions of different problems, and their scores."""
    learner.processes.refuse_less_than_one_each(config.samples_per_gradient)
    problems = learner.draw(config.prompts_per_update)
    sampling = Sampling(config.problems.max_new_tokens, config.temperature, config.top_p)
    completions = generate(
        learner.policy,
        learner.tokenizer,
        [problem.prompt for problem in problems],
        sampling,
        generator=learner.torch_generator("completions"),
        ends=learner.ends,
        stop=learner.task.stop,
        samples_per_prompt=config.samples_per_prompt,
        rows=config.sample_at_once,
        processes=learner.processes,
    )
    scores = torch.tensor(scored(learner.task, problems, completions.text, learner.processes))
    return completions, scores.to(completions.tokens.device)


@torch.no_grad()
def estimate(
    learner: LanguageLearner,
    completions: Completions,
    scores: Tensor,
    config: LanguageConfig,
    old: Recalled | None = None,
) -> tuple[Batch, dict[str, float]]:
    """Old log-probabilities, values, the reference's opinion, and advantages.

    Signals are of fresh completions; old ones, if any, come after them in the batch.
    """
    mask, new = completions.mask, slice(0, len(completions))
    found = TokenOutputs(completions.plain_log_probs, completions.entropies, completions.values)
    if config.rounds:
        found = read(learner, completions, config)
    signals = {
        "language.sampling_gap": mean_under((completions.log_probs - found.log_probs).abs(), mask),
        "language.mask_error": mask_error(completions, learner.ends),
        "policy.entropy": mean_under(found.entropies, mask),
    }
    if old is not None:
        completions, scores, found = old.after(completions, scores, found)
        mask = completions.mask
    merits = centred(scores, config.samples_per_prompt)
    reference, penalties = None, None
    if config.kl != "none":
        reference = refer(learner, completions, config)
        apart = kl_estimates(found.log_probs, reference, mask, "k3")
        signals["language.reference_kl"] = mean_under(apart[new], mask[new])
        if config.kl == "reward":
            penalties = config.kl_weight * kl_estimates(found.log_probs, reference, mask, "k1")
    batch = Batch(completions, found.log_probs, found.values, reference, merits)
    graded, described = grade(batch, scores, penalties, config, new)
    return graded, signals | described


def update(
    learner: LanguageLearner,
    batch: Batch,
    config: LanguageConfig,
    meter: Meter,
    *,
    learning_rate: float,
) -> None:
    """`epochs` passes over the batch in minibatches, each one optimiser step."""
    before = learner.weights.snapshot()
    skipped = learner.skipped
    size = min(config.minibatch_size or len(batch), len(batch))
    first_kl, kl = math.nan, math.nan
    for epoch in range(config.epochs):
        order = batch.minibatches(size, learner.generators["minibatches"])
        kls = []
        for number, rows in enumerate(order):
            signals = descend(learner, batch, rows, config, learning_rate)
            if "kl" in signals:  # a minibatch may be old through and through
                kls.append(signals.pop("kl"))
                gap = signals.pop("language.sampler_gap")
                if epoch == number == 0:
                    signals["language.sampler_gap"] = gap
                    signals["policy.first_ratio_error"] = signals["policy.ratio_max"]
            meter.add(signals)
        kl = float(np.mean(kls))
        first_kl = kl if epoch == 0 else first_kl
    learner.updates += 1
    learner.trained += config.epochs * len(batch)
    meter.add(
        {
            "train.sample_efficiency": learner.trained / max(learner.generated, 1),
            "policy.kl": kl,
            "policy.kl_first_epoch": first_kl,
            "policy.kl_last_epoch": kl,
            "policy.update_ratio": learner.weights.moved_since(before),
            "setting.learning_rate": learning_rate,
            "language.skipped_share": (learner.skipped - skipped) / (config.epochs * len(order)),
        }
    )


def descend(
    learner: LanguageLearner,
    batch: Batch,
    rows: slice,
    config: LanguageConfig,
    learning_rate: float,
) -> dict[str, float]:
    """One optimiser step on some of the completions; one that is no number is skipped."""
    signals = find_gradient(learner, batch, rows, config)
    length = learner.weights.clip_gradient(config.gradient_clip)
    if math.isfinite(length):
        learner.optimizer.step(learning_rate)
    else:
        learner.skipped += 1
    return {**signals, "policy.gradient_norm": length, "policy.gradient_norm_max": length}


def find_gradient(
    learner: LanguageLearner, batch: Batch, rows: slice, config: LanguageConfig
) -> dict[str, float]:
    """The gradient of some of the completions, left with the weights, and what it was made of.

    It is divided by the tokens of all of them, but those that teach nothing are not gone through.
    """
    learner.optimizer.zero()
    total = float(batch.completions.mask[rows].sum())
    if config.only_advantages_teach:
        batch = batch.teaching(rows, config.samples_per_prompt, least=learner.processes.count)
        rows = slice(0, len(batch))
    fresh = batch.fresh_tokens(rows)
    losses: dict[str, float] = {}
    statistics: PolicyStatistics | None = None
    processes = learner.processes
    with processes.descending():
        mine = processes.share(rows, config.samples_per_prompt)
        for part, counts in processes.passes([*parts_of(mine, config.micro_batch_size)]):
            loss, found, named = losses_of(learner, batch, part, config, total, fresh=fresh)
            (loss if counts else 0.0 * loss).backward()  # type: ignore[no-untyped-call]
            if not counts:
                continue
            statistics = found if statistics is None else statistics + found
            for name, value in named.items():
                losses[name] = losses.get(name, 0.0) + value
    assert statistics is not None
    if learner.updates < config.critic_warm_up:
        learner.policy.forget_all_but_value_gradient()
    processes.add(learner.weights.gradients())
    if not fresh:
        return processes.added(losses)
    clipped = float(statistics.clipped_low + statistics.clipped_high)
    losses |= {"policy.clip_fraction": clipped / fresh, "kl": float(statistics.kl) / fresh}
    return {**processes.added(losses), "policy.ratio_max": processes.largest(statistics.furthest)}


def losses_of(
    learner: LanguageLearner,
    batch: Batch,
    rows: slice,
    config: LanguageConfig,
    total: float,
    *,
    fresh: float | None = None,
) -> tuple[Tensor, PolicyStatistics, dict[str, float]]:
    """What a micro-batch adds to the loss of its minibatch of `total` tokens, so many `fresh`."""
    part = batch.completions.part(rows.start, rows.stop)
    mask, length, age = part.mask, part.mask.shape[1], batch.age
    new = mask if age is None else mask & age.fresh[rows, None]
    outputs = learner.policy(
        part.tokens,
        part.attention,
        mask,
        chunk=config.model.chunk,
        samples_per_prompt=part.samples_per_prompt,
    )
    loss, statistics = clipped_policy_loss(
        outputs.log_probs,
        batch.old_log_probs[rows, :length],
        batch.advantages[rows, :length],
        mask,
        clip_low=config.clip_low,
        clip_high=config.clip_high,
        total=total,
        dual_clip=config.dual_clip,
        weights=None if age is None else age.policy[rows, :length],
        counted=new,
    )
    fresh = total if fresh is None else fresh
    named = {"policy.loss": float(loss.detach())}
    if fresh:
        logs = (outputs.log_probs.detach() - batch.old_log_probs[rows, :length]).clamp(-20.0, 20.0)
        gaps = (outputs.log_probs.detach() - part.plain_log_probs).abs()
        named |= {
            "language.sampler_gap": float((gaps * new).sum() / fresh),
            "policy.improvement": float((logs * new * batch.merits[rows, None]).sum() / fresh),
        }
    if batch.returns is not None:
        assert batch.old_values is not None
        value_loss, errors = clipped_value_loss(
            outputs.values,
            batch.old_values[rows, :length],
            batch.returns[rows, :length],
            mask,
            clip=config.value_clip,
            total=total,
            weights=None if age is None else age.draws[rows],
        )
        critic_only = learner.updates < config.critic_warm_up
        loss = value_loss if critic_only else loss + config.value_weight * value_loss
        named["value.loss"] = float(errors.squared_errors) / total
    if config.entropy_weight:
        loss = loss - config.entropy_weight * (outputs.entropies * mask).sum() / total
    if config.kl == "loss":
        assert batch.reference is not None
        pull = kl_estimates(outputs.log_probs, batch.reference[rows, :length], mask, config.kl_kind)
        loss = loss + config.kl_weight * pull.sum() / total
    return loss, statistics, named
