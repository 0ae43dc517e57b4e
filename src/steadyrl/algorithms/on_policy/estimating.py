"""What a rollout teaches: values, advantages, and the signals that they give away."""

from __future__ import annotations

import math

import numpy as np

from steadyrl.algorithms.on_policy.config import OnPolicyConfig
from steadyrl.algorithms.on_policy.episode_ends import terminal_error, unbootstrapped
from steadyrl.algorithms.on_policy.learner import OnPolicyLearner
from steadyrl.experience.rollout import Rollout, Samples, samples
from steadyrl.maths.advantages import advantages, explained_variance
from steadyrl.maths.observations import spread


def with_advantages(
    learner: OnPolicyLearner, rollout: Rollout, config: OnPolicyConfig
) -> tuple[Samples, dict[str, float]]:
    """What the rollout teaches. All values come from one pass of the critic as it stood."""
    steps, copies = rollout.length, rollout.copies
    everything = rollout.observations.reshape(steps * copies, *learner.shape)
    rollout.values = learner.values(everything).reshape(steps, copies)
    last = learner.values(rollout.last_observations)
    cut_values = np.zeros_like(rollout.values)
    if rollout.cuts:
        found = learner.values(np.stack([cut for _, _, cut in rollout.cuts]))
        for (at, copy, _), value in zip(rollout.cuts, found, strict=True):
            cut_values[at, copy] = value
    gained = advantages(
        rollout.rewards,
        rollout.values,
        last,
        rollout.terminated,
        rollout.truncated,
        cut_values,
        gamma=config.gamma,
        decay=config.gae_decay,
    )
    data = samples(rollout, gained, learner.actor.device)
    returns = gained + rollout.values
    signals = {
        "advantage.std": float(gained.std()),
        "return.std": float(returns.std()),
        "rollout.reward_mean": float(rollout.rewards.mean()),
        "rollout.reward_negative_share": float((rollout.rewards < 0).mean()),
        "rollout.reward_positive_share": float((rollout.rewards > 0).mean()),
    }
    if rollout.terminated.any():
        signals["td.terminal_error"] = terminal_error(rollout, returns)
    if rollout.cuts:
        signals["rollout.truncated_as_terminated"] = unbootstrapped(
            rollout, returns, config.gamma * cut_values
        )
    if not learner.images:
        signals |= spread(rollout.observations)
    explained = explained_variance(rollout.values, returns)
    if not math.isnan(explained):
        signals["value.explained_variance"] = explained
    learner.last = data
    return data, signals
