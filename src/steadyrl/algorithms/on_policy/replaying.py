"""Old stretches among the fresh samples of an update: drawn, thought over again, and kept.

What an item was worth when it was new does not count: values, advantages and the log-probabilities
that the clip is measured from are those of the learner as it stands. Only what was done, and how
probable that was then, stays as it was.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from steadyrl.algorithms.common.replaying import announce, effective_by_age, limits_at, suit
from steadyrl.algorithms.on_policy.config import PPOConfig
from steadyrl.algorithms.on_policy.learner import OnPolicyLearner
from steadyrl.experience.aged import AgedExperience, Drawn
from steadyrl.experience.rollout import Rollout, Samples, Weights
from steadyrl.experience.segments import Segments, segment_advantages, segments_of
from steadyrl.maths.losses import LOG_RATIO_LIMIT, policy_weights

Array = NDArray[Any]


def with_aged(
    learner: OnPolicyLearner,
    rollout: Rollout,
    fresh: Samples,
    config: PPOConfig,
    progress: float,
) -> tuple[Samples, dict[str, float]]:
    """Fresh samples and old ones, and what the buffer looks like; it takes the fresh ones in."""
    experience, settings = learner.experience, config.replay
    assert experience is not None
    limits, now = limits_at(settings, progress), learner.updates
    gained = fresh.advantages.cpu().numpy().reshape(rollout.length, rollout.copies)
    new = segments_of(rollout, gained, settings.segment_length)
    suit(experience, settings, (settings.segment_length,))
    experience.retire(now, limits)
    wanted = settings.wanted(len(new)) if len(experience) >= settings.minimum else 0
    signals = experience.statistics(now) | {"aged.drawn": float(min(wanted, len(experience)))}
    data = fresh
    if wanted:
        drawn = experience.draw(
            wanted, now=now, limits=limits, generator=learner.generators["experience"]
        )
        experience.grow_beta(settings.beta_growth)
        aged, found = thought_over(learner, experience, drawn, config)
        data = joined(fresh, aged)
        signals |= found | {"aged.share": len(aged) / len(data)}
    announce(experience, new.arrays())
    experience.add(new.arrays(), born=now, worths=worths(learner, new, config))
    signals["aged.stale_share"] = experience.dropped_stale / experience.added
    return data, signals


def thought_over(
    learner: OnPolicyLearner, experience: AgedExperience, drawn: Drawn, config: PPOConfig
) -> tuple[Samples, dict[str, float]]:
    """Old stretches as the learner sees them now; the buffer learns what they are worth."""
    old, device = Segments(**drawn.items), learner.actor.device
    inputs = _inputs(learner, old.observations[old.mask], config)
    values = np.zeros(old.mask.shape, dtype=np.float32)
    values[old.mask] = learner.values(inputs)
    after = learner.values(_inputs(learner, old.after, config))
    gained, surprises = (
        segment_advantages(old, values, after, gamma=config.gamma, decay=decay)
        for decay in (config.gae_decay, 0.0)
    )
    found = _worth(surprises if config.replay.priority == "td_error" else gained, old)
    experience.learn(drawn.slots, found)
    observations = torch.from_numpy(inputs).to(device)
    actions = torch.from_numpy(old.actions[old.mask]).to(device)
    actions = actions.float() if actions.is_floating_point() else actions.long()
    log_probs = learner.policy.log_prob(
        learner.actor.forward(observations), learner.actor.extra, actions
    )
    then = torch.from_numpy(old.log_probs[old.mask]).to(device)
    bound = config.replay.ratio_bound
    ratios = policy_weights(log_probs, then, bound)
    draws = torch.from_numpy(np.repeat(drawn.weights, old.lengths).astype(np.float32)).to(device)
    advantages = torch.from_numpy(gained[old.mask]).to(device)
    held = torch.from_numpy(values[old.mask]).to(device)
    aged = Samples(
        observations=observations,
        actions=actions,
        log_probs=log_probs,
        values=held,
        advantages=advantages,
        returns=advantages + held,
        weights=Weights(torch.zeros_like(draws, dtype=torch.bool), draws * ratios, draws),
    )
    logs = (log_probs - then).clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT)
    signals = {
        "aged.kl": float((logs.exp() - 1.0 - logs).mean()),
        "aged.ratio_bounded_share": float((ratios >= bound).float().mean()),
        "aged.ratio_error": float((ratios - logs.exp().clamp(max=bound)).abs().max()),
        "aged.priority_error": experience.mispriced(drawn.slots, found),
        "aged.uses_max": float(drawn.uses.max()),
        "aged.weight_min": float(drawn.weights.min()),
        "aged.value_drift": float(np.sqrt(np.mean((values - old.values)[old.mask] ** 2))),
        **effective_by_age(
            policy_weights(log_probs, then, float("inf")).cpu().numpy(),
            np.repeat(drawn.ages, old.lengths),
        ),
    }
    return aged, signals


def worths(learner: OnPolicyLearner, new: Segments, config: PPOConfig) -> Array:
    """What fresh stretches come into the buffer with."""
    if config.replay.priority != "td_error":
        return _worth(new.advantages, new)
    after = learner.values(_inputs(learner, new.after, config))
    surprises = segment_advantages(new, new.values, after, gamma=config.gamma, decay=0.0)
    return _worth(surprises, new)


def joined(fresh: Samples, aged: Samples) -> Samples:
    """Both in one; fresh rows count fully."""
    assert aged.weights is not None
    ones = torch.ones_like(fresh.log_probs)
    return Samples(
        observations=torch.cat((fresh.observations, aged.observations)),
        actions=torch.cat((fresh.actions, aged.actions)),
        log_probs=torch.cat((fresh.log_probs, aged.log_probs)),
        values=torch.cat((fresh.values, aged.values)),
        advantages=torch.cat((fresh.advantages, aged.advantages)),
        returns=torch.cat((fresh.returns, aged.returns)),
        weights=Weights(
            fresh=torch.cat((ones.bool(), aged.weights.fresh)),
            policy=torch.cat((ones, aged.weights.policy)),
            value=torch.cat((ones, aged.weights.value)),
        ),
    )


def _worth(gained: Array, of: Segments) -> Array:
    """Mean size over the steps of each."""
    sizes = np.where(of.mask, np.abs(gained), 0.0)
    return np.asarray(sizes.sum(axis=1) / np.maximum(of.lengths, 1))


def _inputs(learner: OnPolicyLearner, observations: Array, config: PPOConfig) -> Array:
    """As the networks see them today: only normalised ones were kept as they came."""
    return learner.inputs(observations, config) if config.normalize_observations else observations
