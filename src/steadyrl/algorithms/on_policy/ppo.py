"""PPO (Schulman et al., 2017), for discrete and continuous actions.

Reads top to bottom: `train_ppo` is the loop, `update` goes over a rollout, `descend` is one step
down the gradient. The learner (learner.py) holds everything that must survive a crash.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence

import numpy as np
import torch

from steadyrl.algorithms.on_policy import few_rows
from steadyrl.algorithms.on_policy.collecting import collect
from steadyrl.algorithms.on_policy.config import PPOConfig
from steadyrl.algorithms.on_policy.descents import Descent, Pass, describe
from steadyrl.algorithms.on_policy.estimating import with_advantages
from steadyrl.algorithms.on_policy.evaluating import finish_step
from steadyrl.algorithms.on_policy.learner import OnPolicyLearner
from steadyrl.algorithms.on_policy.replaying import with_aged
from steadyrl.algorithms.on_policy.signals import deviations
from steadyrl.core.config import LiveConfig
from steadyrl.core.records import Step
from steadyrl.core.signals import Meter
from steadyrl.environments.envs import Envs
from steadyrl.experience.rollout import Samples
from steadyrl.maths.losses import clipped_surrogate, normalised, value_loss
from steadyrl.nets.adam import step_together
from steadyrl.nets.dense import norm
from steadyrl.nets.weights import FlatWeights


def train_ppo(live: LiveConfig[PPOConfig], envs: Envs, learner: OnPolicyLearner) -> Iterator[Step]:
    """Train until `total_env_steps`, yielding a Step per update.

    Nothing local survives a `yield`: whoever consumes the Steps may change settings or put the
    learner and the environments back to an earlier state, and the loop goes on from there.
    """
    while envs.steps_taken < live.now.total_env_steps:
        config, meter, started = live.now, Meter(), time.perf_counter()
        taken_before = envs.steps_taken
        rollout = collect(learner, envs, config)
        data, signals = with_advantages(learner, rollout, config)
        meter.add(signals)
        learner.generated += len(data)
        progress = taken_before / config.total_env_steps
        if config.replays:
            data, signals = with_aged(learner, rollout, data, config, progress)
            meter.add(signals)
        rate = config.learning_rate_at(learner.updates, progress)
        update(learner, data, config, meter, learning_rate=rate)
        yield finish_step(learner, envs, config, meter, started=started, taken_before=taken_before)


def update(
    learner: OnPolicyLearner,
    data: Samples,
    config: PPOConfig,
    meter: Meter,
    *,
    learning_rate: float,
) -> None:
    """`epochs` passes over the rollout, fewer if the policy has moved as far as it may."""
    entropy_weight = config.entropy_weight_at(learner.updates)
    trained = [FlatWeights(network) for network in learner.networks.trained]
    before = [weights.snapshot() for weights in trained]
    generator = learner.generators["minibatches"]
    first_epoch_kl, kl, epochs = math.nan, math.nan, 0
    networks = few_rows.small(learner, data, config)
    for epoch in range(config.epochs):
        parts = data.minibatches(
            config.minibatch_size, generator, normalise=config.normalize_advantages
        )
        descents = [
            descend(learner, minibatch, config, learning_rate, entropy_weight)
            for minibatch in (parts if networks is None else few_rows.as_rows(networks, parts))
        ]
        signals = describe(descents, learner.policy, config.clip_range)
        epochs += 1
        kl = float(np.mean(signals.pop("kl")))
        if epoch == 0:
            first_epoch_kl = kl
            signals["policy.first_ratio_error"] = signals["policy.ratio_max"][:1]
        meter.add_all(signals)
        if config.target_kl is not None and kl > config.target_kl:
            break
    learner.updates += 1
    learner.trained += epochs * len(data)
    fresh = data if data.weights is None else data.rows(torch.nonzero(data.weights.fresh)[:, 0])
    meter.add(after_update(learner, fresh))
    meter.add(
        {
            "train.sample_efficiency": learner.trained / max(learner.generated, 1),
            "policy.kl_first_epoch": first_epoch_kl,
            "policy.kl_last_epoch": kl,
            "policy.epochs": float(epochs),
            **moved(trained, before),
            "setting.learning_rate": learning_rate,
            "setting.entropy_weight": entropy_weight,
            "setting.clip_range": config.clip_range,
        }
    )
    if config.gradient_clip is not None:
        meter.add({"setting.gradient_clip": config.gradient_clip})
    if not math.isnan(learner.noise.scale):
        meter.add({"gradient.noise_scale": learner.noise.scale})


def descend(
    learner: OnPolicyLearner,
    minibatch: Samples | few_rows.Rows,
    config: PPOConfig,
    learning_rate: float,
    entropy_weight: float,
) -> Descent:
    """One step down the gradient of the whole minibatch, in parts if memory asks for it."""
    if isinstance(minibatch, few_rows.Rows):
        return few_rows.descend(learner, minibatch, config, learning_rate, entropy_weight)
    size = config.micro_batch_size or len(minibatch)
    if size >= len(minibatch):
        seen = put_gradients(learner, minibatch, config, entropy_weight, 1.0)
    else:
        seen = accumulate(learner, minibatch, config, entropy_weight, size)
    gradients = [network.gradient for network in learner.networks.trained]
    norms = tuple(norm(gradient) for gradient in gradients)
    whole = math.hypot(*norms)
    # Norms are measured before clipping: afterwards every explosion looks like the clip value.
    if config.gradient_clip is not None and whole > config.gradient_clip:
        for gradient in gradients:
            gradient.mul_(config.gradient_clip / whole)
    step_together(learner.optimizers, learning_rate)
    return Descent(seen, norms)


def accumulate(
    learner: OnPolicyLearner,
    minibatch: Samples,
    config: PPOConfig,
    entropy_weight: float,
    size: int,
) -> Pass:
    """The same gradient in parts. Each part counts by its share of the samples."""
    networks = learner.networks.trained
    sums = [torch.zeros_like(network.gradient) for network in networks]
    squares, parts = [], []
    for part in minibatch.cut(size):
        share = len(part) / len(minibatch)
        parts.append(put_gradients(learner, part, config, entropy_weight, share))
        for total, network in zip(sums, networks, strict=True):
            total.add_(network.gradient)
        if len(part) == size:
            squares.append(norm(learner.actor.gradient / share) ** 2)
    for total, network in zip(sums, networks, strict=True):
        network.gradient.copy_(total)
    whole = norm(learner.actor.gradient) ** 2
    learner.noise.add(squares, whole, size=size, total=len(minibatch))
    return Pass.joined(parts)


def put_gradients(
    learner: OnPolicyLearner,
    part: Samples,
    config: PPOConfig,
    entropy_weight: float,
    share: float,
) -> Pass:
    """Gradients of the loss on these samples, times their share, into the networks."""
    policy, actor, weights = learner.policy, learner.actor, part.weights
    rows, extra = part.log_probs.shape[0], actor.extra
    outputs, values = learner.networks.forward(part.observations)
    log_probs = policy.log_prob(outputs, extra, part.actions)
    surrogate = clipped_surrogate(log_probs, part.log_probs, part.advantages, config.clip_range)
    raised = surrogate.weights.mul_(-share / rows)
    slopes, free = policy.gradient(
        outputs,
        extra,
        part.actions,
        raised if weights is None else raised * weights.policy,
        -share * entropy_weight / rows,
    )
    errors, value_slopes = value_loss(values, part.values, part.returns, config.value_clip)
    value_slopes = value_slopes * (2.0 * share * config.value_weight / rows)
    if weights is not None:
        value_slopes = value_slopes * weights.value
    learner.networks.backward(slopes, value_slopes)
    if policy.extra:
        actor.extra_gradient.copy_(free)
    fresh = None if weights is None else weights.fresh
    kept = extra.clone() if policy.extra else extra
    return Pass(outputs, kept, surrogate.log_ratios, part.advantages, errors, fresh)


def moved(
    trained: Sequence[FlatWeights], before: Sequence[Sequence[torch.Tensor]]
) -> dict[str, float]:
    """How far the weights went: the policy's and the critic's, or those that they share."""
    ways = [weights.moved_since(then) for weights, then in zip(trained, before, strict=True)]
    return dict(zip(("policy.update_ratio", "value.update_ratio"), ways, strict=False))


def after_update(learner: OnPolicyLearner, data: Samples) -> dict[str, float]:
    """Where the update led, on all of its samples: KL and improvement."""
    outputs, extra = learner.actor.forward(data.observations), learner.actor.extra
    logs = learner.policy.log_prob(outputs, extra, data.actions) - data.log_probs
    ratios = logs.exp()
    signals = {"policy.kl": float((ratios - 1.0 - logs).mean())}
    if len(data) > 1:
        gained = ((ratios - 1.0) * normalised(data.advantages)).mean()
        signals["policy.improvement"] = float(gained)
    if learner.policy.extra:
        signals |= deviations(extra)
    return signals
