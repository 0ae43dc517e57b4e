"""What a run that learns from its own rollouts must not forget, and how it acts (PPO, TRPO)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from steadyrl.core.advantages import advantages
from steadyrl.core.configs.ppo import OnPolicyConfig
from steadyrl.core.networks import Adam, DenseNetwork
from steadyrl.core.noise_scale import NoiseMeter
from steadyrl.core.normalize import RewardScale, RunningMoments
from steadyrl.core.policies import policy_for
from steadyrl.core.seeding import Generators, integer_seed
from steadyrl.environments.envs import Envs
from steadyrl.environments.evaluate import evaluate
from steadyrl.experience.rollout import Rollout, Samples, samples

Array = NDArray[Any]
ADAM_EPSILON = 1e-5  # Schulman's own; with 1e-8 rare tiny gradients take full steps


class OnPolicyLearner:
    """Policy and value networks, optimisers, normalisers, generators and counters."""

    def __init__(self, config: OnPolicyConfig, envs: Envs, device: torch.device) -> None:
        self.policy = policy_for(envs.action_space, envs.id)
        size = int(np.prod(envs.observation_space.shape or (1,)))

        def network(outputs: int, name: str, gain: float, extra: int = 0) -> DenseNetwork:
            return DenseNetwork(
                (size, *config.hidden_sizes, outputs),
                hidden=config.activation,
                gain=gain,
                extra=extra,
                seed=integer_seed(config.seed, name),
                device=device,
                precision=config.compute.precision,
            )

        self.actor = network(self.policy.outputs, "actor", 0.01, self.policy.extra)
        self.actor.extra.fill_(config.log_std_start)
        self.critic = network(1, "critic", 1.0)
        self.actor_optimizer = Adam(self.actor, ADAM_EPSILON)
        self.critic_optimizer = Adam(self.critic, ADAM_EPSILON)
        self.moments = RunningMoments((size,))
        self.reward_scale = RewardScale(envs.count)
        self.noise = NoiseMeter()
        self.generators = Generators(config.seed)
        self.updates = self.steps = self.evaluations = 0
        self.seconds = 0.0
        self.last: Samples | None = None  # of the newest rollout; not part of the state

    def inputs(self, observations: Array, config: OnPolicyConfig) -> NDArray[np.float32]:
        """Observations as the networks see them."""
        flat = observations.reshape(len(observations), -1)
        if config.normalize_observations:
            return self.moments.normalize(flat)
        return np.ascontiguousarray(flat, dtype=np.float32)

    def values(self, inputs: NDArray[np.float32]) -> NDArray[np.float32]:
        """The critic's, all in one pass."""
        if not len(inputs):
            return np.zeros(0, dtype=np.float32)
        found = self.critic.forward(torch.from_numpy(inputs).to(self.critic.device))
        return found[:, 0].cpu().numpy().copy()

    def _parts(self) -> dict[str, Any]:
        return {
            "actor": self.actor,
            "critic": self.critic,
            "actor optimizer": self.actor_optimizer,
            "critic optimizer": self.critic_optimizer,
            "moments": self.moments,
            "reward scale": self.reward_scale,
            "noise": self.noise,
            "generators": self.generators,
        }

    def state_dict(self) -> dict[str, Any]:
        """Everything the next update depends on, as arrays and plain values."""
        counters = ("updates", "steps", "evaluations", "seconds")
        return {
            "parts": {name: part.state_dict() for name, part in self._parts().items()},
            "counters": {name: getattr(self, name) for name in counters},
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Back to a recorded state."""
        for name, part in self._parts().items():
            part.load_state_dict(state["parts"][name])
        for name, value in state["counters"].items():
            setattr(self, name, value)


def collect(learner: OnPolicyLearner, envs: Envs, config: OnPolicyConfig) -> Rollout:
    """`rollout_length` steps in every environment, as the policy stands.

    Observations are stored as the policy saw them, and the normaliser learns from them afterwards:
    were it to move in between, the update would meet other inputs than the actions were chosen on.
    """
    size = learner.actor.sizes[0]
    rollout = Rollout(config.rollout_length, envs.count, (size,))
    generator = learner.generators["actions"]
    extra = learner.actor.extra.cpu().numpy()
    seen = []
    for time in range(config.rollout_length):
        observations = learner.inputs(envs.observations, config)
        if config.normalize_observations:
            seen.append(envs.observations.reshape(envs.count, -1))
        outputs = learner.actor.act(observations)
        actions, log_probs = learner.policy.sample(outputs, extra, generator)
        result = envs.step(learner.policy.for_environment(actions))
        rewards = result.rewards
        if config.normalize_rewards:
            ended = result.terminated | result.truncated
            rewards = learner.reward_scale.scale(rewards, ended, config.gamma)
        rollout.observations[time] = observations
        rollout.store_actions(time, actions)
        rollout.log_probs[time] = log_probs
        rollout.rewards[time] = rewards
        rollout.terminated[time] = result.terminated
        if result.truncated.any():
            rollout.truncated[time] = result.truncated & ~result.terminated
            for copy in np.flatnonzero(rollout.truncated[time]):
                cut = learner.inputs(result.next_observations[copy : copy + 1], config)[0]
                rollout.cuts.append((time, int(copy), cut))
    rollout.last_observations = learner.inputs(envs.observations, config)
    for batch in seen:
        learner.moments.add(batch)
    return rollout


def with_advantages(
    learner: OnPolicyLearner, rollout: Rollout, config: OnPolicyConfig
) -> tuple[Samples, dict[str, float]]:
    """What the rollout teaches. All values come from one pass of the critic as it stood."""
    steps, copies = rollout.length, rollout.copies
    everything = rollout.observations.reshape(steps * copies, -1)
    rollout.values = learner.values(everything).reshape(steps, copies)
    last = learner.values(rollout.last_observations)
    cut_values = np.zeros_like(rollout.values)
    if rollout.cuts:
        found = learner.values(np.stack([cut for _, _, cut in rollout.cuts]))
        for (time, copy, _), value in zip(rollout.cuts, found, strict=True):
            cut_values[time, copy] = value
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
    spread = float(returns.var())
    signals = {
        "advantage.std": float(gained.std()),
        "return.std": float(np.sqrt(spread)),
        "rollout.reward_mean": float(rollout.rewards.mean()),
        "rollout.reward_negative_share": float((rollout.rewards < 0).mean()),
    }
    if spread > 0:
        signals["value.explained_variance"] = 1.0 - float((returns - rollout.values).var()) / spread
    learner.last = data
    return data, signals


def evaluate_policy(learner: OnPolicyLearner, config: OnPolicyConfig) -> dict[str, float]:
    """The most likely actions on episodes of their own."""
    learner.evaluations += 1

    def policy(observations: Array) -> Array:
        outputs = learner.actor.act(learner.inputs(observations, config))
        return learner.policy.for_environment(learner.policy.best(outputs))

    return evaluate(policy, config, index=learner.evaluations, gamma=config.gamma).signals()
