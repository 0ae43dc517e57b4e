"""DDPG (Lillicrap et al., 2015), with TD3's three switches (Fujimoto et al., 2018).

Reads top to bottom: the learner holds everything that must survive a crash, `train_ddpg` is the
loop, `update` is the paper's update, `inspect` measures what is too dear for every update.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Box
from numpy.typing import NDArray
from torch import Tensor

from steadyrl.core.config import LiveConfig
from steadyrl.core.configs.ddpg import DDPGConfig
from steadyrl.core.errors import EnvironmentFault
from steadyrl.core.networks import Adam, DenseNetwork, dormant_share
from steadyrl.core.normalize import RunningMoments
from steadyrl.core.records import Step
from steadyrl.core.seeding import Generators, integer_seed
from steadyrl.core.signals import Meter
from steadyrl.environments.envs import Envs, Transitions, to_bounds
from steadyrl.environments.evaluate import evaluate
from steadyrl.experience.replay import Batch, PrioritisedReplayBuffer, ReplayBuffer

Floats = NDArray[np.float32]

INSPECTED = 256  # states of the last batch on which the policy is looked at, once per Step


class DDPGLearner:
    """Networks, targets, optimisers, replay, normaliser, generators and counters."""

    def __init__(self, config: DDPGConfig, envs: Envs, device: torch.device) -> None:
        self.action_space = _continuous(envs)
        observation_size = int(np.prod(envs.observation_space.shape or (1,)))
        action_size = int(np.prod(self.action_space.shape))
        hidden = config.hidden_sizes

        def network(sizes: tuple[int, ...], output: Any, name: str) -> DenseNetwork:
            return DenseNetwork(
                sizes,
                output=output,
                seed=integer_seed(config.seed, name),
                device=device,
                precision=config.compute.precision,
            )

        critics = ("critic", "twin critic") if config.twin_critics else ("critic",)
        inputs = observation_size + action_size
        self.actor = network((observation_size, *hidden, action_size), "tanh", "actor")
        self.critics = [network((inputs, *hidden, 1), "linear", name) for name in critics]
        self.target_actor = self.actor.clone()
        self.past_actor = self.actor.clone()
        self.target_critics = [critic.clone() for critic in self.critics]
        self.actor_optimizer = Adam(self.actor)
        self.critic_optimizers = [Adam(critic) for critic in self.critics]
        self.replay = _make_replay(config, observation_size, action_size, device)
        self.moments = RunningMoments((observation_size,))
        self.generators = Generators(config.seed)
        self.updates = 0
        self.steps = 0  # Steps yielded
        self.evaluations = 0
        self.seconds = 0.0
        self.reward_abs_max = 0.0
        self.target_spread = 1.0  # standard deviation of the last batch's targets
        self.last_indices = np.empty(0, dtype=np.int64)  # of the batch drawn last
        self._remembered = self._weights()

    def policy(self, observations: NDArray[Any], config: DDPGConfig) -> Floats:
        """Actions of -1..1 without exploration."""
        flat = observations.reshape(len(observations), -1)
        if config.normalize_observations:
            return self.actor.act(self.moments.normalize(flat))
        return self.actor.act(np.asarray(flat, dtype=np.float32))

    def changes_since_last_look(self, states: Tensor) -> dict[str, float]:
        """Relative change of the weights, and whether the actor's change was for the better."""
        now, before = self._weights(), self._remembered
        self._remembered = now

        def relative(name: str) -> float:
            return _norm(now[name] - before[name]) / (_norm(now[name]) + 1e-12)

        self.past_actor.parameters.copy_(before["actor"])
        critic = self.critics[0]
        new = critic.forward(torch.cat((states, self.actor.forward(states)), dim=1)).mean()
        old = critic.forward(torch.cat((states, self.past_actor.forward(states)), dim=1)).mean()
        return {
            "critic.update_ratio": relative("critic"),
            "actor.update_ratio": relative("actor"),
            "target.change": relative("target"),
            "actor.improvement": float(new) - float(old),
        }

    def remembered_critic(self) -> Tensor:
        """The critics' weights at the last look."""
        return self._remembered["critic"]

    def _weights(self) -> dict[str, Tensor]:
        return {
            "critic": torch.cat([critic.parameters for critic in self.critics]),
            "actor": self.actor.parameters.clone(),
            "target": self.target_critics[0].parameters.clone(),
        }

    def _parts(self) -> dict[str, Any]:
        parts: dict[str, Any] = {
            "actor": self.actor,
            "target_actor": self.target_actor,
            "actor_optimizer": self.actor_optimizer,
            "replay": self.replay,
            "moments": self.moments,
            "generators": self.generators,
        }
        for index, critic in enumerate(self.critics):
            parts[f"critic_{index}"] = critic
            parts[f"target_critic_{index}"] = self.target_critics[index]
            parts[f"critic_optimizer_{index}"] = self.critic_optimizers[index]
        return parts

    def state_dict(self) -> dict[str, Any]:
        """Everything the next update depends on, as arrays and plain values."""
        counters = ("updates", "steps", "evaluations", "seconds", "reward_abs_max", "target_spread")
        return {
            "parts": {name: part.state_dict() for name, part in self._parts().items()},
            "counters": {name: getattr(self, name) for name in counters},
            "last_indices": self.last_indices,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Back to a recorded state."""
        for name, part in self._parts().items():
            part.load_state_dict(state["parts"][name])
        for name, value in state["counters"].items():
            setattr(self, name, value)
        self.last_indices = np.asarray(state["last_indices"])
        self._remembered = self._weights()


def train_ddpg(live: LiveConfig[DDPGConfig], envs: Envs, learner: DDPGLearner) -> Iterator[Step]:
    """Train until `total_env_steps`, yielding a Step every `log_every` environment steps.

    Nothing local survives a `yield`: whoever consumes the Steps may change settings or put the
    learner and the environments back to an earlier state, and the loop goes on from there.
    """
    while envs.steps_taken < live.now.total_env_steps:
        config, meter, started = live.now, Meter(), time.perf_counter()
        taken_before = envs.steps_taken
        end = min(_next_multiple(taken_before, config.log_every), config.total_env_steps)
        while envs.steps_taken < end:
            before = envs.steps_taken
            meter.add(act_and_store(learner, envs, config))
            if envs.steps_taken > config.learning_starts:
                trainings = envs.steps_taken // config.train_every - before // config.train_every
                for _ in range(trainings * config.updates_per_training):
                    meter.add(update(learner, draw(learner, config), config))
        meter.add(inspect(learner, envs, config))
        every, episodes = config.evaluation.every_env_steps, config.evaluation.episodes
        if episodes and envs.steps_taken // every > taken_before // every:
            meter.add(evaluate_policy(learner, config))
        seconds = time.perf_counter() - started
        learner.seconds += seconds
        learner.steps += 1
        rate = (envs.steps_taken - taken_before) / seconds
        meter.add({"time.env_steps_per_second": rate})
        yield Step(learner.steps, envs.steps_taken, learner.seconds, meter.read())


def act_and_store(learner: DDPGLearner, envs: Envs, config: DDPGConfig) -> dict[str, float]:
    """One step in every environment: explore, then remember what happened."""
    observations = envs.observations
    shape = (envs.count, learner.actor.sizes[-1])
    signals: dict[str, float] = {}
    if envs.steps_taken < config.learning_starts:
        actions = learner.generators["random actions"].uniform(-1.0, 1.0, shape)
    else:
        noise = learner.generators["exploration"].normal(0.0, 1.0, shape)
        wanted = learner.policy(observations, config)
        actions = np.clip(wanted + config.noise_std * noise, -1.0, 1.0)
        signals["action.noise"] = float(np.abs(actions - wanted).mean())
    shaped = actions.reshape(envs.count, *learner.action_space.shape)
    result = envs.step(to_bounds(shaped, learner.action_space))
    rewards = result.rewards * config.reward_scale
    flat = observations.reshape(envs.count, -1)
    successors = result.next_observations.reshape(envs.count, -1)
    ends = ends_of_future(result)
    learner.replay.add(flat, actions, rewards, successors, ends, result.truncated)
    if config.normalize_observations:
        learner.moments.add(flat)
    largest = float(np.abs(rewards).max())
    learner.reward_abs_max = max(learner.reward_abs_max, largest)
    signals["rollout.reward_mean"] = float(result.rewards.mean())
    signals["rollout.reward_abs_max"] = largest / config.reward_scale
    signals["rollout.reward_negative_share"] = float((result.rewards < 0).mean())
    return signals


def ends_of_future(result: Transitions) -> NDArray[np.bool_]:
    """Only a true termination ends the future: a truncated episode would have gone on."""
    return result.terminated


def draw(learner: DDPGLearner, config: DDPGConfig) -> Batch:
    """A batch from replay as the networks see it."""
    batch = learner.replay.sample(config.batch_size, learner.generators["replay"])
    learner.last_indices = batch.indices
    return as_inputs(learner, batch, config)


def as_inputs(learner: DDPGLearner, batch: Batch, config: DDPGConfig) -> Batch:
    """The batch with its observations normalised in place, if the config says so."""
    if config.normalize_observations:
        for columns in (batch.observations, batch.next_observations):
            columns.copy_(torch.from_numpy(learner.moments.normalize(columns.cpu().numpy())))
    return batch


def update(learner: DDPGLearner, batch: Batch, config: DDPGConfig) -> dict[str, float]:
    """One critic update and, every `policy_delay`-th time, one actor and target update."""
    learner.updates += 1
    targets = td_targets(learner, batch, config)
    signals = update_critics(learner, batch, targets, config)
    if learner.updates % config.policy_delay == 0:
        signals |= update_actor(learner, batch, config)
        follow(learner.target_actor, learner.actor, config.tau)
        for target, critic in zip(learner.target_critics, learner.critics, strict=True):
            follow(target, critic, config.tau)
    return signals


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
    return batch.rewards + config.gamma * (1.0 - batch.terminated) * values


def update_critics(
    learner: DDPGLearner, batch: Batch, targets: Tensor, config: DDPGConfig
) -> dict[str, float]:
    """Descend the mean squared TD error of each critic."""
    rows = len(targets)
    losses, norms = [], []
    for critic, optimizer in zip(learner.critics, learner.critic_optimizers, strict=True):
        values = critic.forward(batch.observations_actions)
        errors = values - targets
        weighted = errors if batch.weights is None else errors * batch.weights
        losses.append(float(torch.dot(errors[:, 0], weighted[:, 0])) / rows)
        critic.backward(weighted * (2.0 / rows))
        norms.append(optimizer.step(config.learning_rate, config.gradient_clip))
    if isinstance(learner.replay, PrioritisedReplayBuffer):
        found = errors[:, 0].cpu().numpy()
        learner.replay.learn_priorities(batch, found, config.priority_beta_growth)
    loss, norm = sum(losses) / len(losses), max(norms)
    low, high = (float(bound) for bound in torch.aminmax(values))
    largest = max(-low, high)
    bound = learner.reward_abs_max / (1.0 - config.gamma)
    absolute = errors.abs_()
    learner.target_spread = float(targets.std(correction=0))
    return {
        "critic.loss": loss,
        "critic.loss_max": loss,
        "critic.gradient_norm": norm,
        "critic.gradient_norm_max": norm,
        "q.mean": float(values.mean()),
        "q.abs_max": largest,
        "q.bound_ratio": largest / bound if bound > 0 else float(largest > 0),
        "td.abs_mean": float(absolute.mean()),
        "td.abs_max": float(absolute.max()),
        "td.target_std": learner.target_spread,
    }


def update_actor(learner: DDPGLearner, batch: Batch, config: DDPGConfig) -> dict[str, float]:
    """Ascend Q(s, pi(s)) through the first critic, whose own weights stay as they are."""
    rows, critic = len(batch.rows), learner.critics[0]
    actions = learner.actor.forward(batch.observations)
    values = critic.forward(torch.cat((batch.observations, actions), dim=1))
    loss = -float(values.mean())
    ascent = torch.full_like(values, -1.0 / rows)
    slopes = critic.backward(ascent, parameters=False, inputs=True)
    assert slopes is not None
    learner.actor.backward(slopes[:, batch.observations.shape[1] :])
    rate = config.learning_rate
    if config.actor_learning_rate is not None:
        rate = config.actor_learning_rate
    norm = learner.actor_optimizer.step(rate, config.gradient_clip)
    return {"actor.loss": loss, "actor.gradient_norm": norm, "actor.gradient_norm_max": norm}


def follow(target: DenseNetwork, online: DenseNetwork, tau: float) -> None:
    """Move the target's weights the share `tau` of the way to the online ones."""
    target.parameters.lerp_(online.parameters, tau)


def inspect(learner: DDPGLearner, envs: Envs, config: DDPGConfig) -> dict[str, float]:
    """The signals that are measured once per Step instead of in every update."""
    signals = {
        "replay.size": float(len(learner.replay)),
        "replay.batch_share": config.batch_size / len(learner.replay),
        "replay.updates_per_env_step": learner.updates / envs.steps_taken,
        "setting.learning_rate": config.learning_rate,
        "train.updates": float(learner.updates),
        "q.bound": learner.reward_abs_max / (1.0 - config.gamma),
    }
    if envs.recent:
        signals["rollout.return_mean"] = float(np.mean([e.total for e in envs.recent]))
        signals["rollout.length_mean"] = float(np.mean([e.length for e in envs.recent]))
    if envs.finished:
        ends = [episode.terminated for episode in envs.finished]
        signals["rollout.terminated_share"] = float(np.mean(ends))
        envs.finished.clear()
    if not len(learner.last_indices):
        return signals
    if config.gradient_clip is not None:
        signals["setting.gradient_clip"] = config.gradient_clip
    return signals | inspect_replay(learner, envs) | inspect_networks(learner, config)


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


def inspect_networks(learner: DDPGLearner, config: DDPGConfig) -> dict[str, float]:
    """Invariants of the targets, health of the networks, on states of the last batch."""
    calm = config.model_copy(update={"target_noise_std": 0.0})  # looking must not draw noise
    fresh = as_inputs(learner, learner.replay.fetch(learner.replay.newest(INSPECTED)), config)
    surprise = float(td_errors(learner, fresh, calm).abs().mean())
    batch = as_inputs(learner, learner.replay.fetch(learner.last_indices[:INSPECTED]), config)
    familiar = float(td_errors(learner, batch, calm).abs().mean())
    signals = {"td.fresh_ratio": surprise / familiar if familiar > 0 else 1.0}
    signals["critic.dormant_share"] = dormant_share(learner.critics[0])
    ended = batch.terminated[:, 0] > 0
    if bool(ended.any()):
        wrong = td_targets(learner, batch, calm)[ended] - batch.rewards[ended]
        signals["td.terminal_error"] = float(wrong.abs().mean())
    actions = learner.actor.forward(batch.observations)
    signals["action.saturation"] = float((actions.abs() > 0.99).float().mean())
    signals["actor.dormant_share"] = dormant_share(learner.actor)
    spreads = batch.observations.std(dim=0, correction=0)
    varying = spreads[spreads > 1e-8]
    signals["observation.constant_share"] = 1.0 - len(varying) / len(spreads)
    if len(varying):
        signals["observation.scale_ratio"] = float(varying.max() / varying.min())
    online, target = learner.critics[0].parameters, learner.target_critics[0].parameters
    signals["target.drift"] = _norm(online - target) / (_norm(online) + 1e-12)
    return signals | learner.changes_since_last_look(batch.observations)


def td_errors(learner: DDPGLearner, batch: Batch, config: DDPGConfig) -> Tensor:
    """How far the first critic is from its targets."""
    return td_targets(learner, batch, config) - learner.critics[0].forward(
        batch.observations_actions
    )


def evaluate_policy(learner: DDPGLearner, config: DDPGConfig) -> dict[str, float]:
    """The deterministic policy on episodes of its own, and what the critic promised of them."""
    learner.evaluations += 1

    def policy(observations: NDArray[Any]) -> NDArray[Any]:
        actions = learner.policy(observations, config)
        return to_bounds(actions.reshape(-1, *learner.action_space.shape), learner.action_space)

    result = evaluate(policy, config, index=learner.evaluations, gamma=config.gamma)
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


def _make_replay(
    config: DDPGConfig, observation_size: int, action_size: int, device: torch.device
) -> ReplayBuffer:
    if config.replay == "uniform":
        return ReplayBuffer(config.buffer_size, observation_size, action_size, device=device)
    return PrioritisedReplayBuffer(
        config.buffer_size,
        observation_size,
        action_size,
        device=device,
        alpha=config.priority_alpha,
        beta=config.priority_beta,
    )


def _continuous(envs: Envs) -> Box:
    actions = envs.action_space
    if not isinstance(actions, Box) or not np.isfinite([actions.low, actions.high]).all():
        raise EnvironmentFault(
            f"environment '{envs.id}' has action space {actions}: DDPG needs continuous actions "
            "with finite bounds (a bounded Box)."
        )
    return actions


def _next_multiple(value: int, step: int) -> int:
    return (value // step + 1) * step


def _norm(vector: Tensor) -> float:
    return float(torch.linalg.vector_norm(vector))
