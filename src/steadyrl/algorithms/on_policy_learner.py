"""What a run that learns from its own rollouts must not forget, and how it acts (PPO, TRPO)."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any, TypedDict

import numpy as np
import torch
from numpy.typing import NDArray

from steadyrl.algorithms.episode_ends import terminal_error, unbootstrapped
from steadyrl.core.adam import Adam
from steadyrl.core.advantages import advantages, explained_variance
from steadyrl.core.configs.ppo import OnPolicyConfig
from steadyrl.core.conv_network import SMALLEST, ConvNetwork
from steadyrl.core.errors import ConfigError, TrainingDiverged
from steadyrl.core.finite import all_finite
from steadyrl.core.networks import ActingNetwork, DenseNetwork
from steadyrl.core.noise_scale import NoiseMeter
from steadyrl.core.normalize import RewardScale, RunningMoments
from steadyrl.core.policies import Policy, policy_for
from steadyrl.core.records import Step
from steadyrl.core.seeding import Generators, integer_seed
from steadyrl.core.signals import Meter
from steadyrl.environments.envs import Envs
from steadyrl.environments.evaluate import evaluate
from steadyrl.experience.rollout import Rollout, Samples, samples

Array = NDArray[Any]
ADAM_EPSILON = 1e-5  # Schulman's own; with 1e-8 rare tiny gradients take full steps


class _Common(TypedDict):
    gain: float
    extra: int
    seed: int
    device: torch.device


class OnPolicyLearner:
    """Policy and value networks, optimisers, normalisers, generators and counters."""

    def __init__(self, config: OnPolicyConfig, envs: Envs, device: torch.device) -> None:
        self.policy = policy_for(envs.action_space, envs.id)
        space = envs.observation_space
        shape = space.shape or ()
        # Frames large enough for the convolutions; everything else is flattened.
        frames = len(shape) == 3 and space.dtype == np.uint8
        self._colours_last = frames and shape[2] < min(shape[:2])
        if self._colours_last:
            shape = (shape[2], *shape[:2])
        self.images = frames and min(shape[1:]) >= SMALLEST
        self.shape = tuple(shape) if self.images else (math.prod(shape),)
        if self.images and config.normalize_observations:
            raise ConfigError(
                f"normalize_observations = true: the observations of '{envs.id}' are images, whose "
                "values are divided by 255 already. Leave it off."
            )

        def network(outputs: int, name: str, gain: float, extra: int = 0) -> ActingNetwork:
            seed, precision = integer_seed(config.seed, name), config.compute.precision
            common: _Common = {"gain": gain, "extra": extra, "seed": seed, "device": device}
            if self.images:
                return ConvNetwork(self.shape, outputs, **common, precision=precision)
            return DenseNetwork(
                (*self.shape, *config.hidden_sizes, outputs),
                hidden=config.activation,
                **common,
                precision=precision,
            )

        self.actor = network(self.policy.outputs, "actor", 0.01, self.policy.extra)
        self.actor.extra.fill_(config.log_std_start)
        self.critic = network(1, "critic", 1.0)
        self.actor_optimizer = Adam(self.actor, ADAM_EPSILON)
        self.critic_optimizer = Adam(self.critic, ADAM_EPSILON)
        self.moments = RunningMoments(self.shape if config.normalize_observations else ())
        self.reward_scale = RewardScale(envs.count)
        self.noise = NoiseMeter()
        self.generators = Generators(config.seed)
        self.updates = self.steps = self.evaluations = 0
        self.failures = 0  # line searches in a row, TRPO's only
        self.seconds = 0.0
        self.last: Samples | None = None  # of the newest rollout; not part of the state

    def inputs(self, observations: Array, config: OnPolicyConfig) -> Array:
        """Observations as the networks see them: images as they are, all else flat float32."""
        if self.images:
            return observations.transpose(0, 3, 1, 2) if self._colours_last else observations
        flat = observations.reshape(len(observations), -1)
        if config.normalize_observations:
            return self.moments.normalize(flat)
        return np.ascontiguousarray(flat, dtype=np.float32)

    def act(self, inputs: Array) -> NDArray[np.float32]:
        """The policy's outputs; a policy that puts out no numbers has diverged."""
        outputs = self.actor.act(inputs)
        # Sampling would hide it: of logits that are no numbers it takes the first action, for ever.
        if not all_finite(outputs):
            raise TrainingDiverged(
                f"the policy's outputs are not finite after {self.updates} updates: its weights "
                "have diverged. Go back to the last good checkpoint and lower the learning rate, "
                "the trust region or the reward scale."
            )
        return outputs

    def values(self, inputs: Array) -> NDArray[np.float32]:
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
        counters = ("updates", "steps", "evaluations", "failures", "seconds")
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
    kind = np.uint8 if learner.images else np.float32
    rollout = Rollout(config.rollout_length, envs.count, learner.shape, kind)
    generator = learner.generators["actions"]
    extra = learner.actor.extra.cpu().numpy()
    seen = []
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
    rollout.last_observations = learner.inputs(envs.observations, config)
    for batch in seen:
        learner.moments.add(batch)
    return rollout


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
        signals |= observation_spread(rollout.observations)
    explained = explained_variance(rollout.values, returns)
    if not math.isnan(explained):
        signals["value.explained_variance"] = explained
    learner.last = data
    return data, signals


def observation_spread(observations: Array) -> dict[str, float]:
    """Whether the components of what the networks see vary in time, and on one scale."""
    moving = (observations != observations[:1]).any(axis=(0, 1))  # within any environment
    varying = observations.std(axis=(0, 1))[moving]
    signals = {"observation.constant_share": 1.0 - len(varying) / len(moving)}
    if len(varying):
        signals["observation.scale_ratio"] = float(varying.max() / (varying.min() + 1e-12))
    return signals


def entropy_share(policy: Policy, entropy: float) -> dict[str, float]:
    """Of the largest possible; continuous actions have no largest, one button has none at all."""
    if policy.extra or policy.outputs < 2:
        return {}
    return {"policy.entropy_share": entropy / math.log(policy.outputs)}


def deviations(log_stds: torch.Tensor) -> dict[str, float]:
    """How much continuous actions vary: on average, and the one that varies least."""
    stds = log_stds.exp()
    return {"policy.std": float(stds.mean()), "policy.std_min": float(stds.min())}


def evaluate_policy(learner: OnPolicyLearner, config: OnPolicyConfig) -> dict[str, float]:
    """The policy on episodes of their own: its most likely actions, or drawn ones."""
    learner.evaluations += 1
    generator = np.random.default_rng(integer_seed(config.seed, "acting", learner.evaluations))
    extra = learner.actor.extra.cpu().numpy()

    def policy(observations: Array) -> Array:
        outputs = learner.act(learner.inputs(observations, config))
        if config.evaluation.most_likely:
            return learner.policy.for_environment(learner.policy.best(outputs))
        return learner.policy.for_environment(learner.policy.sample(outputs, extra, generator)[0])

    return evaluate(policy, config, index=learner.evaluations, gamma=config.gamma).signals()


def finish_step(
    learner: OnPolicyLearner,
    envs: Envs,
    config: OnPolicyConfig,
    meter: Meter,
    *,
    started: float,
    taken_before: int,
) -> Step:
    """An update's end: how the episodes went, an evaluation if one is due, the Step itself."""
    meter.add({"train.updates": float(learner.updates)})
    meter.add(envs.episode_signals())
    if config.evaluation.due(taken_before, envs.steps_taken):
        meter.add(evaluate_policy(learner, config))
    seconds = time.perf_counter() - started
    learner.seconds += seconds
    learner.steps += 1
    meter.add({"time.env_steps_per_second": (envs.steps_taken - taken_before) / seconds})
    return Step(learner.steps, envs.steps_taken, learner.seconds, meter.read())
