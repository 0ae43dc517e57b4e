"""Rollouts: what the policy lived through, as it saw it."""

from __future__ import annotations

import numpy as np

from steadyrl.algorithms.on_policy.config import OnPolicyConfig
from steadyrl.algorithms.on_policy.learner import OnPolicyLearner
from steadyrl.environments.envs import Envs
from steadyrl.experience.rollout import Rollout


def collect(learner: OnPolicyLearner, envs: Envs, config: OnPolicyConfig) -> Rollout:
    """`rollout_length` steps in every environment, as the policy stands.

    Observations are stored as the policy saw them, and the normaliser learns from them afterwards:
    were it to move in between, the update would meet other inputs than the actions were chosen on.
    """
    kind = np.uint8 if learner.images else np.float32
    rollout = Rollout(config.rollout_length, envs.count, learner.shape, kind)
    generator = learner.generators["actions"]
    extra = learner.actor.extra.cpu().numpy()
    seen, raw_cuts = [], []
    for at in range(config.rollout_length):
        observations = learner.inputs(envs.observations, config)
        if config.normalize_observations:
            seen.append(envs.observations.reshape(envs.count, -1))
        outputs = learner.act(observations)
        actions, log_probs = learner.policy.sample(outputs, extra, generator)
        result = envs.step(learner.policy.for_environment(actions))
        rewards = result.rewards
        if config.reward_clip is not None:
            rewards = np.clip(rewards, -config.reward_clip, config.reward_clip)
        if config.normalize_rewards:
            ended = result.terminated | result.truncated
            rewards = learner.reward_scale.scale(rewards, ended, config.gamma)
        rollout.observations[at] = observations
        rollout.store_actions(at, actions)
        rollout.log_probs[at] = log_probs
        rollout.rewards[at] = rewards
        rollout.terminated[at] = result.terminated
        if result.truncated.any():
            rollout.truncated[at] = result.truncated & ~result.terminated
            for copy in np.flatnonzero(rollout.truncated[at]):
                cut = learner.inputs(result.next_observations[copy : copy + 1], config)[0]
                rollout.cuts.append((at, int(copy), cut))
                raw_cuts.append((at, int(copy), result.next_observations[copy].reshape(-1)))
    rollout.last_observations = learner.inputs(envs.observations, config)
    if seen and config.replays:
        raw = np.stack(seen).astype(np.float32)
        rollout.raw = (raw, envs.observations.reshape(envs.count, -1), raw_cuts)
    for batch in seen:
        learner.moments.add(batch)
    return rollout
