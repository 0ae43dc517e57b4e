"""The signals of a DDPG run that are measured once per Step instead of in every update."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from torch import Tensor

from steadyrl.algorithms.ddpg.config import DDPGConfig
from steadyrl.algorithms.ddpg.learner import DDPGLearner, as_inputs
from steadyrl.environments.envs import Envs
from steadyrl.experience.replay import Batch
from steadyrl.maths.horizon import value_bound
from steadyrl.maths.observations import spread
from steadyrl.nets.dense import norm
from steadyrl.nets.dormant import dormant_share

INSPECTED = 256  # states of the last batch on which the policy is looked at, once per Step

Targets = Callable[[DDPGLearner, Batch, DDPGConfig], Tensor]  # the trainer's own TD targets


def inspect(
    learner: DDPGLearner, envs: Envs, config: DDPGConfig, targets: Targets
) -> dict[str, float]:
    """The signals that are measured once per Step instead of in every update."""
    signals = {
        "replay.size": float(len(learner.replay)),
        "replay.batch_share": config.batch_size / len(learner.replay),
        "replay.updates_per_env_step": learner.updates / envs.steps_taken,
        "setting.learning_rate": config.learning_rate,
        "q.bound": value_bound(learner.reward_abs_max, config.gamma),
    }
    signals |= envs.episode_signals()
    if not len(learner.last_indices):
        return signals
    if config.gradient_clip is not None:
        signals["setting.gradient_clip"] = config.gradient_clip
    return signals | inspect_replay(learner, envs) | inspect_networks(learner, config, targets)


def inspect_replay(learner: DDPGLearner, envs: Envs) -> dict[str, float]:
    """What the last batch was made of, and whether transitions are put together rightly."""
    replay, used = learner.replay, learner.last_indices
    signals = {
        "replay.duplicate_share": 1.0 - len(np.unique(used)) / len(used),
        "replay.age_mean": float(replay.ages(used).mean()),
        "replay.misaligned_share": replay.misaligned_share(used[:INSPECTED], envs.count),
    }
    if replay.truncations:
        cut = replay.truncations_cut / replay.truncations
        signals["replay.truncated_as_terminated"] = cut
    return signals


def inspect_networks(
    learner: DDPGLearner, config: DDPGConfig, targets: Targets
) -> dict[str, float]:
    """Invariants of the targets, health of the networks, on states of the last batch."""
    calm = config.model_copy(update={"target_noise_std": 0.0})  # looking must not draw noise
    fresh = as_inputs(learner, learner.replay.fetch(learner.replay.newest(INSPECTED)), config)
    surprise = float(td_errors(learner, fresh, targets(learner, fresh, calm)).abs().mean())
    batch = as_inputs(learner, learner.replay.fetch(learner.last_indices[:INSPECTED]), config)
    wanted = targets(learner, batch, calm)
    familiar = float(td_errors(learner, batch, wanted).abs().mean())
    signals = {"td.fresh_ratio": surprise / familiar if familiar > 0 else 1.0}
    signals["critic.dormant_share"] = dormant_share(learner.critics[0])
    ended = batch.terminated[:, 0] > 0
    if bool(ended.any()):
        wrong = wanted[ended] - batch.rewards[ended]
        signals["td.terminal_error"] = float(wrong.abs().mean())
    actions = learner.actor.forward(batch.observations)
    signals["action.saturation"] = float((actions.abs() > 0.99).float().mean())
    signals["actor.dormant_share"] = dormant_share(learner.actor)
    signals |= spread(batch.observations.double().cpu().numpy())
    online, target = learner.critics[0].parameters, learner.target_critics[0].parameters
    signals["target.drift"] = norm(online - target) / (norm(online) + 1e-12)
    return signals | learner.changes_since_last_look(batch.observations)


def td_errors(learner: DDPGLearner, batch: Batch, wanted: Tensor) -> Tensor:
    """How far the first critic is from what is wanted of it."""
    return wanted - learner.critics[0].forward(batch.observations_actions)
