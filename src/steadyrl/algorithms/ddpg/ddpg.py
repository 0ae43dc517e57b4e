"""DDPG (Lillicrap et al., 2015), with TD3's three switches (Fujimoto et al., 2018).

Reads top to bottom: `train_ddpg` is the loop, `update` is the paper's update. The learner
(learner.py) holds everything that must survive a crash; `inspect` (signals.py) measures
what is too dear for every update.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from steadyrl.algorithms.common.ending import finish_step
from steadyrl.algorithms.ddpg.config import DDPGConfig
from steadyrl.algorithms.ddpg.lately import Acted, ActorUpdate, CriticUpdate, Lately, Updated
from steadyrl.algorithms.ddpg.learner import DDPGLearner, as_inputs
from steadyrl.algorithms.ddpg.signals import inspect
from steadyrl.core.config import LiveConfig
from steadyrl.core.records import Step
from steadyrl.core.signals import Meter
from steadyrl.environments.backends import Transitions
from steadyrl.environments.envs import Envs, to_bounds
from steadyrl.environments.evaluate import evaluate
from steadyrl.experience.replay import Batch, PrioritisedReplayBuffer
from steadyrl.maths.horizon import value_bound
from steadyrl.nets.dense import Network


def train_ddpg(live: LiveConfig[DDPGConfig], envs: Envs, learner: DDPGLearner) -> Iterator[Step]:
    """Train until `total_env_steps`, yielding a Step every `log_every` environment steps.

    Nothing local survives a `yield`: whoever consumes the Steps may change settings or put the
    learner and the environments back to an earlier state, and the loop goes on from there.
    """
    while envs.steps_taken < live.now.total_env_steps:
        meter, started, taken_before = Meter(), time.perf_counter(), envs.steps_taken
        lately = Lately(meter, learner)
        config = live.now.paced(learner.updates, taken_before / live.now.total_env_steps)
        end = min(_next_multiple(taken_before, config.log_every), config.total_env_steps)
        while envs.steps_taken < end:
            before = envs.steps_taken
            lately.add_acted(act_and_store(learner, envs, config))
            if envs.steps_taken > config.learning_starts:
                trainings = envs.steps_taken // config.train_every - before // config.train_every
                for _ in range(trainings * config.updates_per_training):
                    lately.add_updated(update(learner, draw(learner, config), config))
        lately.measure()
        meter.add(inspect(learner, envs, config, td_targets))
        yield finish_step(
            learner,
            envs,
            config,
            meter,
            started=started,
            taken_before=taken_before,
            evaluate=partial(evaluate_policy, learner, config),
        )


def act_and_store(learner: DDPGLearner, envs: Envs, config: DDPGConfig) -> Acted:
    """One step in every environment: explore, then remember what happened."""
    observations = envs.observations
    shape = (envs.count, math.prod(learner.action_space.shape))
    wanted = None
    if envs.steps_taken < config.learning_starts:
        actions = learner.generators["random actions"].uniform(-1.0, 1.0, shape)
    else:
        noise = learner.generators["exploration"].standard_normal(shape)
        wanted = learner.policy(observations, config)
        actions = np.minimum(np.maximum(wanted + config.noise_std * noise, -1.0), 1.0)
    shaped = actions.reshape(envs.count, *learner.action_space.shape)
    result = envs.step(to_bounds(shaped, learner.action_space))
    rewards = result.rewards * config.reward_scale
    flat = observations.reshape(envs.count, -1)
    successors = result.next_observations.reshape(envs.count, -1)
    ends = ends_of_future(result)
    cut = result.truncated & ~result.terminated  # an end that comes with the time limit is an end
    learner.replay.add(flat, actions, rewards, successors, ends, cut)
    if config.normalize_observations:
        learner.moments.add(flat)
    received = result.rewards.tolist()
    largest = config.reward_scale * max(map(abs, received))
    learner.reward_abs_max = max(learner.reward_abs_max, largest)
    return Acted(received, largest / config.reward_scale, actions, wanted)


def ends_of_future(result: Transitions) -> NDArray[np.bool_]:
    """Only a true termination ends the future: a truncated episode would have gone on."""
    return result.terminated


def draw(learner: DDPGLearner, config: DDPGConfig) -> Batch:
    """A batch from replay as the networks see it."""
    batch = learner.replay.sample(config.batch_size, learner.generators["replay"])
    learner.last_indices = batch.indices
    return as_inputs(learner, batch, config)


def update(learner: DDPGLearner, batch: Batch, config: DDPGConfig) -> Updated:
    """One critic update and, every `policy_delay`-th time, one actor and target update."""
    learner.updates += 1
    targets = td_targets(learner, batch, config)
    critics = update_critics(learner, batch, targets, config)
    actor = None
    if learner.updates % config.policy_delay == 0:
        actor = update_actor(learner, batch, config)
        follow(learner.target_actor, learner.actor, config.tau)
        for target, critic in zip(learner.target_critics, learner.critics, strict=True):
            follow(target, critic, config.tau)
    return Updated(targets, value_bound(learner.reward_abs_max, config.gamma), critics, actor)


def td_targets(learner: DDPGLearner, batch: Batch, config: DDPGConfig) -> Tensor:
    """R + gamma (1 - terminated) min Q'(s', pi'(s'))."""
    actions = learner.target_actor.forward(batch.next_observations)
    if config.target_noise_std > 0:
        noise = learner.generators["target noise"].normal(0, config.target_noise_std, actions.shape)
        noise = noise.clip(-config.target_noise_clip, config.target_noise_clip)
        actions = actions + torch.from_numpy(noise.astype(np.float32)).to(actions.device)
        actions.clamp_(-1.0, 1.0)
    inputs = torch.cat((batch.next_observations, actions), dim=1)
    values = learner.target_critics[0].forward(inputs)
    for target in learner.target_critics[1:]:
        values = torch.minimum(values, target.forward(inputs))
    going_on = torch.rsub(batch.terminated, config.gamma, alpha=config.gamma)
    return (values * going_on).add_(batch.rewards)


def update_critics(
    learner: DDPGLearner, batch: Batch, targets: Tensor, config: DDPGConfig
) -> list[CriticUpdate]:
    """Descend the mean squared TD error of each critic."""
    rows = targets.shape[0]
    found = []
    for critic, optimizer in zip(learner.critics, learner.critic_optimizers, strict=True):
        values = critic.forward(batch.observations_actions)
        errors = values - targets
        weighted = errors if batch.weights is None else errors * batch.weights
        critic.backward(weighted * (2.0 / rows))
        size = optimizer.step(config.learning_rate, config.gradient_clip)
        found.append(CriticUpdate(values, errors, weighted, size))
    if isinstance(learner.replay, PrioritisedReplayBuffer):
        surprises = errors[:, 0].cpu().numpy()
        learner.replay.learn_priorities(batch, surprises, config.priority_beta_growth)
    return found


def update_actor(learner: DDPGLearner, batch: Batch, config: DDPGConfig) -> ActorUpdate:
    """Ascend Q(s, pi(s)) through the first critic, whose own weights stay as they are."""
    rows, critic, columns = batch.rows.shape[0], learner.critics[0], batch.observations.shape[1]
    actions = learner.actor.forward(batch.observations)
    values = critic.forward(torch.cat((batch.observations, actions), dim=1))
    slopes = critic.backward(uphill(rows, values.device), parameters=False, inputs_from=columns)
    assert slopes is not None
    learner.actor.backward(slopes)
    rate = config.learning_rate
    if config.actor_learning_rate is not None:
        rate = config.actor_learning_rate
    return ActorUpdate(values, learner.actor_optimizer.step(rate, config.gradient_clip))


def follow(target: Network, online: Network, tau: float) -> None:
    """Move the target's weights the share `tau` of the way to the online ones."""
    target.parameters.lerp_(online.parameters, tau)


def evaluate_policy(learner: DDPGLearner, config: DDPGConfig) -> dict[str, float]:
    """The deterministic policy on episodes of its own, and what the critic promised of them."""
    learner.evaluations += 1

    def policy(observations: NDArray[Any]) -> NDArray[Any]:
        actions = learner.policy(observations, config)
        return to_bounds(actions.reshape(-1, *learner.action_space.shape), learner.action_space)

    result = evaluate(
        policy,
        config.environment,
        episodes=config.evaluation.episodes,
        seed=config.seed,
        index=learner.evaluations,
        gamma=config.gamma,
    )
    signals = result.signals()
    if learner.updates:
        starts = result.starts.reshape(len(result.starts), -1)
        if config.normalize_observations:
            starts = learner.moments.normalize(starts)
        states = torch.from_numpy(np.asarray(starts, dtype=np.float32)).to(learner.actor.device)
        inputs = torch.cat((states, learner.actor.forward(states)), dim=1)
        promised = learner.critics[0].forward(inputs)[:, 0].cpu().numpy()
        gap = float((promised - config.reward_scale * result.discounted).mean())
        signals["q.optimism"] = gap / (learner.target_spread + 1e-12)
    return signals


@cache
def uphill(rows: int, device: torch.device) -> Tensor:
    """Slope of the negative mean of so many values."""
    return torch.full((rows, 1), -1.0 / rows, device=device)


def _next_multiple(value: int, step: int) -> int:
    return (value // step + 1) * step
