"""REINFORCE for discrete actions: the loop, what survives a crash, how it is put together."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

from steadyrl.algorithms.common.ending import finish_step
from steadyrl.algorithms.common.state import Stateful
from steadyrl.algorithms.common.training import Training, in_environments
from steadyrl.core.config import LiveConfig
from steadyrl.core.records import Step
from steadyrl.core.seeding import Generators, integer_seed
from steadyrl.core.signals import Meter
from steadyrl.environments.envs import Envs
from steadyrl.environments.evaluate import evaluate
from steadyrl.maths.losses import normalised
from steadyrl.maths.policies import policy_for
from steadyrl.nets.adam import Adam
from steadyrl.nets.dense import DenseNetwork, first_non_finite
from steadyrl.nets.weights import FlatWeights
from tests.toy.reinforce.config import ReinforceConfig

Batch = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]  # observations, actions, returns


class ReinforceLearner(Stateful):
    """One network, its optimiser, generators and counters."""

    counters = ("updates", "steps", "evaluations", "seconds")

    def __init__(self, config: ReinforceConfig, envs: Envs, device: torch.device) -> None:
        assert isinstance(envs.action_space, Discrete)
        self.policy = policy_for(envs.action_space, envs.id)
        sizes = (envs.observations[0].size, *config.hidden_sizes, self.policy.outputs)
        seed = integer_seed(config.seed, "policy")
        self.network = DenseNetwork(sizes, hidden="tanh", gain=0.01, seed=seed, device=device)
        self.optimizer = Adam(self.network)
        self.generators = Generators(config.seed)
        self.updates = self.steps = self.evaluations = 0
        self.seconds = 0.0
        self.last: Batch | None = None

    def stateful_parts(self) -> dict[str, Any]:
        return {"net": self.network, "adam": self.optimizer, "generators": self.generators}

    def act(self, observations: NDArray[Any]) -> NDArray[Any]:
        outputs = self.network.act(np.asarray(observations, dtype=np.float32))
        return self.policy.sample(outputs, np.zeros(0), self.generators["actions"])[0]


def train_reinforce(
    live: LiveConfig[ReinforceConfig], envs: Envs, learner: ReinforceLearner
) -> Iterator[Step]:
    """Whole episodes, then one step up their returns; a Step per update."""
    while envs.steps_taken < live.now.total_env_steps:
        config, meter, started = live.now, Meter(), time.perf_counter()
        taken_before = envs.steps_taken
        learner.last = play(learner, envs, config)
        meter.add(update(learner, learner.last, config))
        meter.add(envs.episode_signals())
        yield finish_step(
            learner,
            envs,
            config,
            meter,
            started=started,
            taken_before=taken_before,
            evaluate=partial(evaluate_policy, learner, config),
        )


def play(learner: ReinforceLearner, envs: Envs, config: ReinforceConfig) -> Batch:
    """So many whole episodes and the discounted return of every step; begins with a new one."""
    observations, actions = [], []
    returns: list[float] = []
    for _ in range(config.episodes_per_update):
        rewards: list[float] = []
        over = False
        while not over:
            action = learner.act(envs.observations)
            observations.append(envs.observations[0].copy())
            actions.append(int(action[0]))
            result = envs.step(action)
            rewards.append(float(result.rewards[0]))
            over = bool(result.over[0])
        gained, future = [], 0.0
        for reward in reversed(rewards):
            future = reward + config.gamma * future
            gained.append(future)
        returns += reversed(gained)
    return np.array(observations, np.float32), np.array(actions), np.array(returns, np.float32)


def update(learner: ReinforceLearner, batch: Batch, config: ReinforceConfig) -> dict[str, float]:
    """One step along the mean of return times slope of the log-probability."""
    observations, actions, returns = (torch.from_numpy(part) for part in batch)
    advantages, extra = normalised(returns), torch.zeros(0)
    weights = FlatWeights(learner.network)
    before = weights.snapshot()
    outputs = learner.network.forward(observations)
    logs = learner.policy.log_prob(outputs, extra, actions)
    loss = -float((logs * advantages).mean())
    entropy = float(learner.policy.entropy(outputs, extra).mean())
    slopes, _ = learner.policy.gradient(outputs, extra, actions, -advantages / len(advantages), 0.0)
    learner.network.backward(slopes)
    length = learner.optimizer.step(config.learning_rate)
    learner.updates += 1
    return {
        "policy.loss": loss,
        "policy.entropy": entropy,
        "policy.gradient_norm": length,
        "policy.gradient_norm_max": length,
        "policy.update_ratio": weights.moved_since(before),
        "setting.learning_rate": config.learning_rate,
    }


def evaluate_policy(learner: ReinforceLearner, config: ReinforceConfig) -> dict[str, float]:
    """The most likely actions on episodes of their own."""
    learner.evaluations += 1

    def best(observations: NDArray[Any]) -> NDArray[Any]:
        return learner.policy.best(learner.network.act(observations.astype(np.float32)))

    return evaluate(
        best,
        config.environment,
        episodes=config.evaluation.episodes,
        seed=config.seed,
        index=learner.evaluations,
        gamma=config.gamma,
    ).signals()


def prepare(config: ReinforceConfig, device: torch.device) -> Training:
    """A run at its beginning."""

    def build(envs: Envs) -> Training:
        live, learner = LiveConfig(config), ReinforceLearner(config, envs, device)
        network = learner.network

        def gradients(*, size: int, generator: np.random.Generator, **_: Any) -> dict[str, Any]:
            learner.last = learner.last or play(learner, envs, live.now)
            rows = generator.integers(len(learner.last[0]), size=size)
            kept = network.state_dict(), learner.optimizer.state_dict(), learner.updates
            observations, actions, returns = learner.last
            update(learner, (observations[rows], actions[rows], returns[rows]), live.now)
            network.load_state_dict(kept[0])
            learner.optimizer.load_state_dict(kept[1])
            learner.updates = kept[2]
            return {"policy": network.gradient.numpy().copy()}

        return Training(
            live=live,
            world=envs,
            learner=learner,
            begin=lambda: train_reinforce(live, envs, learner),
            examine=dict,
            black_box=lambda: (first_non_finite([("weights", network.parameters)]), {}),
            gradients=gradients,
            experience=lambda: live.now.episodes_per_update,
        )

    return in_environments(config, build)
