"""PPO (Schulman et al., 2017), for discrete and continuous actions.

Reads top to bottom: `train_ppo` is the loop, `update` goes over a rollout, `descend` is one step
down the gradient. The learner (learner.py) holds everything that must survive a crash.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from steadyrl.algorithms.on_policy.collecting import collect
from steadyrl.algorithms.on_policy.config import PPOConfig
from steadyrl.algorithms.on_policy.estimating import with_advantages
from steadyrl.algorithms.on_policy.evaluating import finish_step
from steadyrl.algorithms.on_policy.learner import OnPolicyLearner
from steadyrl.algorithms.on_policy.replaying import with_aged
from steadyrl.algorithms.on_policy.signals import deviations, entropy_share
from steadyrl.core.config import LiveConfig
from steadyrl.core.records import Step
from steadyrl.core.signals import CATALOGUE, Meter
from steadyrl.environments.envs import Envs
from steadyrl.experience.rollout import Samples
from steadyrl.maths.losses import PolicyLoss, clipped_surrogate, normalised, value_loss
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
    actor, critic = FlatWeights(learner.actor), FlatWeights(learner.critic)
    actor_before, critic_before = actor.snapshot(), critic.snapshot()
    generator = learner.generators["minibatches"]
    first_epoch_kl, kl, epochs = math.nan, math.nan, 0
    for epoch in range(config.epochs):
        kls = []
        for number, minibatch in enumerate(data.minibatches(config.minibatch_size, generator)):
            signals = descend(learner, minibatch, config, learning_rate, entropy_weight)
            if "kl" in signals:  # a minibatch may be old through and through
                kls.append(signals.pop("kl"))
            if epoch == number == 0 and "policy.ratio_max" in signals:
                signals["policy.first_ratio_error"] = signals["policy.ratio_max"]
            meter.add(signals)
        epochs += 1
        kl = float(np.mean(kls))
        first_epoch_kl = kl if epoch == 0 else first_epoch_kl
        if config.target_kl is not None and kl > config.target_kl:
            break
    learner.updates += 1
    learner.trained += epochs * len(data)
    fresh = data if data.weights is None else data.rows(data.weights.fresh)
    meter.add(after_update(learner, fresh))
    meter.add(
        {
            "train.sample_efficiency": learner.trained / max(learner.generated, 1),
            "policy.kl_first_epoch": first_epoch_kl,
            "policy.kl_last_epoch": kl,
            "policy.epochs": float(epochs),
            "policy.update_ratio": actor.moved_since(actor_before),
            "value.update_ratio": critic.moved_since(critic_before),
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
    minibatch: Samples,
    config: PPOConfig,
    learning_rate: float,
    entropy_weight: float,
) -> dict[str, float]:
    """One step down the gradient of the whole minibatch, in parts if memory asks for it."""
    advantages = minibatch.advantages
    if config.normalize_advantages:
        advantages = normalised(advantages)
    size = config.micro_batch_size or len(minibatch)
    if size >= len(minibatch):
        signals = add_gradients(learner, minibatch, advantages, config, entropy_weight, 1.0)
    else:
        signals = accumulate(learner, minibatch, advantages, config, entropy_weight, size)
    actor, critic = learner.actor, learner.critic
    policy_norm, value_norm = norm(actor.gradient), norm(critic.gradient)
    whole = math.hypot(policy_norm, value_norm)
    # Norms are measured before clipping: afterwards every explosion looks like the clip value.
    if config.gradient_clip is not None and whole > config.gradient_clip:
        actor.gradient.mul_(config.gradient_clip / whole)
        critic.gradient.mul_(config.gradient_clip / whole)
    learner.actor_optimizer.step(learning_rate, size=policy_norm)
    learner.critic_optimizer.step(learning_rate, size=value_norm)
    return {
        **signals,
        "policy.gradient_norm": policy_norm,
        "policy.gradient_norm_max": policy_norm,
        "value.gradient_norm": value_norm,
    }


def accumulate(
    learner: OnPolicyLearner,
    minibatch: Samples,
    advantages: Tensor,
    config: PPOConfig,
    entropy_weight: float,
    size: int,
) -> dict[str, float]:
    """The same gradient in parts. Each part counts by its share of the samples."""
    networks = (learner.actor, learner.critic)
    sums = [torch.zeros_like(network.gradient) for network in networks]
    totals: dict[str, float] = {}
    squares = []
    for start in range(0, len(minibatch), size):
        part = minibatch.between(start, start + size)
        share = len(part) / len(minibatch)
        special = partial_shares(part, minibatch)
        some = advantages[start : start + size]
        signals = add_gradients(learner, part, some, config, entropy_weight, share)
        for total, network in zip(sums, networks, strict=True):
            total.add_(network.gradient)
        if len(part) == size:
            squares.append(norm(learner.actor.gradient / share) ** 2)
        for name, value in signals.items():
            before = totals.get(name, 0.0)
            largest = name in CATALOGUE and CATALOGUE[name].reduce == "max"
            added = special.get(name, share) * value
            totals[name] = max(before, value) if largest else before + added
    for total, network in zip(sums, networks, strict=True):
        network.gradient.copy_(total)
    whole = norm(learner.actor.gradient) ** 2
    learner.noise.add(squares, whole, size=size, total=len(minibatch))
    return totals


def partial_shares(part: Samples, whole: Samples) -> dict[str, float]:
    """What a part counts in the signals that only fresh samples, or only old ones, give."""
    if part.weights is None or whole.weights is None:
        return {}
    here, all_in_all = part.weights.fresh, whole.weights.fresh
    fresh = float(here.sum() / all_in_all.sum().clamp(min=1))
    old = float((~here).sum() / (~all_in_all).sum().clamp(min=1))
    return dict.fromkeys(("policy.loss", "policy.clip_fraction", "kl"), fresh) | {
        "aged.clip_fraction": old
    }


def add_gradients(
    learner: OnPolicyLearner,
    part: Samples,
    advantages: Tensor,
    config: PPOConfig,
    entropy_weight: float,
    share: float,
) -> dict[str, float]:
    """Gradients of the loss on these samples, times their share, into the networks."""
    policy, actor, critic = learner.policy, learner.actor, learner.critic
    outputs, extra = actor.forward(part.observations), actor.extra
    log_probs = policy.log_prob(outputs, extra, part.actions)
    surrogate = clipped_surrogate(log_probs, part.log_probs, advantages, config.clip_range)
    entropy = float(policy.entropy(outputs, extra).mean())
    raised, weights = surrogate.weights, part.weights
    slopes, free = policy.gradient(
        outputs,
        extra,
        part.actions,
        -share * (raised if weights is None else raised * weights.policy),
        -share * entropy_weight / len(part),
    )
    actor.backward(slopes)
    actor.extra_gradient.copy_(free)
    values = critic.forward(part.observations)[:, 0]
    loss, errors = value_loss(values, part.values, part.returns, config.value_clip)
    if weights is not None:
        errors = errors * weights.value
    critic.backward((share * config.value_weight * errors)[:, None])
    signals = {"policy.entropy": entropy, **entropy_share(policy, entropy), "value.loss": loss}
    if weights is None:
        return signals | describe_ratios(surrogate)

    def of(rows: Tensor) -> PolicyLoss:
        old = part.log_probs[rows]
        return clipped_surrogate(log_probs[rows], old, advantages[rows], config.clip_range)

    if weights.fresh.any():
        signals |= describe_ratios(of(weights.fresh))
    if not weights.fresh.all():
        signals["aged.clip_fraction"] = of(~weights.fresh).clip_fraction
    return signals


def describe_ratios(surrogate: PolicyLoss) -> dict[str, float]:
    """How far probabilities have moved in this update; of fresh samples, which begin at 1."""
    return {
        "policy.loss": surrogate.loss,
        "policy.clip_fraction": surrogate.clip_fraction,
        "policy.ratio_max": surrogate.ratio_max,
        "kl": surrogate.kl,
    }


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
