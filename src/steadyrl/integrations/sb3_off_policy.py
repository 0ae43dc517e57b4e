"""What the critics, targets and memory show, for the off-policy models of Stable-Baselines3.

Of sb3-contrib too: a critic of quantiles (TQC, QR-DQN) is looked at by their mean.

Looking draws samples of its own: the run's random numbers are left as they were.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, TypeGuard, cast

import numpy as np
import torch
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
from torch import Tensor

from steadyrl.integrations.sb3_common import (
    Guard,
    Lengths,
    after_backward,
    flat,
    observation_signals,
    unseen,
)
from steadyrl.maths.horizon import value_bound

LOOKED_AT = 256  # transitions
CRITICS = ("critic", "q_net", "quantile_net")  # each has its target beside it


def can_be_looked_into(model: Any) -> TypeGuard[OffPolicyAlgorithm]:
    """Whether a model has critics with targets, as DDPG, TD3, SAC, DQN, TQC and QR-DQN have."""
    beside = any(hasattr(model, f"{name}_target") for name in CRITICS)
    return isinstance(model, OffPolicyAlgorithm) and beside


class OffPolicyMeter:
    """Looks at the networks once per Step, and at every gradient on its way."""

    def __init__(self, algorithm: OffPolicyAlgorithm, guard: Guard, seams: Sequence[int]) -> None:
        """Look at a model; whatever happens within its own update goes through `guard`.

        `seams` are places of its buffer where learn() began anew.
        """
        self._model = cast(Any, algorithm)  # their common class declares neither critics nor actor
        self._rng = np.random.default_rng(0)
        self._gradients = {"critic": Lengths(), "actor": Lengths()}
        self._name = next(name for name in CRITICS if hasattr(algorithm, f"{name}_target"))
        self._discrete = self._name != "critic"  # DQN has one network for all actions
        self._hooks: list[Any] = []
        if self._discrete:
            parameters = [p for p in self._online.parameters() if p.requires_grad]
            note = partial(guard, partial(self._gradients["critic"].add, parameters))
            self._hooks.append(after_backward(parameters[-1], note))
        else:
            for part in ("critic", "actor"):
                # Not a hook on gradients: the actor's loss sends some through the critic too.
                network = getattr(self._model, part)
                add = partial(self._gradients[part].add, list(network.parameters()))
                note = partial(guard, add)
                hook = network.optimizer.register_step_pre_hook(lambda *_, note=note: note())
                self._hooks.append(hook)
        self._remember()
        self._seams = list(seams)
        self._reward_abs_max = 0.0
        self._truncations = 0

    def add(self, local: dict[str, Any]) -> None:
        """One step of the environments."""
        rewards = local.get("rewards")
        if rewards is not None and len(rewards):
            self._reward_abs_max = max(self._reward_abs_max, float(np.abs(rewards).max()))
        infos, dones = local.get("infos", ()), local.get("dones", ())
        for info, done in zip(infos, dones, strict=False):
            self._truncations += bool(done and info.get("TimeLimit.truncated", False))

    def read(self) -> dict[str, float]:
        """The signals since the last Step."""
        model, buffer = self._model, self._model.replay_buffer
        size = buffer.size() * buffer.n_envs
        signals = {
            "replay.size": float(size),
            "replay.batch_share": model.batch_size / max(size, 1),
            "replay.updates_per_env_step": model._n_updates / max(model.num_timesteps, 1),
            "train.updates": float(model._n_updates),
        }
        if hasattr(model, "exploration_rate"):
            signals["setting.exploration_rate"] = float(model.exploration_rate)
        for part, gradients in self._gradients.items():
            if norms := gradients.take():
                signals[f"{part}.gradient_norm"] = float(np.mean(norms))
                signals[f"{part}.gradient_norm_max"] = max(norms)
        plain = isinstance(buffer, ReplayBuffer) and not isinstance(buffer.observations, dict)
        if plain and model._n_updates and buffer.size() > 1:
            with unseen(model.policy):
                signals |= self._look(buffer)
        self._remember()
        return signals

    def close(self) -> None:
        """Let go of the model."""
        for hook in self._hooks:
            hook.remove()

    def _look(self, buffer: Any) -> dict[str, float]:
        model = self._model
        chosen = self._rng.integers(0, buffer.size(), LOOKED_AT)
        batch = buffer._get_samples(chosen, env=model._vec_normalize_env)
        target = self._targets(batch)
        values = self._values(batch.observations, batch.actions)
        errors = values - target
        highest = float(values.abs().max())
        signals = {
            "critic.loss": float((errors**2).mean()),
            "q.mean": float(values.mean()),
            "q.abs_max": highest,
            "td.abs_mean": float(errors.abs().mean()),
            "td.abs_max": float(errors.abs().max()),
            "td.target_std": float(target.std()),
        }
        if model.gamma < 1.0:  # without a discount the rewards set no bound
            largest = self._reward_abs_max + self._largest_bonus(batch)
            signals["q.bound"] = value_bound(largest, model.gamma)
            signals["q.bound_ratio"] = highest / signals["q.bound"]
        drawn = self._rng.integers(0, buffer.size() * buffer.n_envs, model.batch_size)
        signals["replay.duplicate_share"] = 1.0 - len(np.unique(drawn)) / len(drawn)
        newest = (buffer.pos - 1 - np.arange(min(LOOKED_AT, buffer.size()))) % buffer.buffer_size
        fresh = buffer._get_samples(newest, env=model._vec_normalize_env)
        surprise = self._values(fresh.observations, fresh.actions) - self._targets(fresh)
        familiar = float(errors.abs().mean())
        signals["td.fresh_ratio"] = float(surprise.abs().mean()) / familiar if familiar else 1.0
        signals |= observation_signals(batch.observations.cpu().numpy()) | self._memory(
            buffer, chosen
        )
        return signals | self._changes(batch, fresh)

    def _memory(self, buffer: Any, chosen: Any) -> dict[str, float]:
        """Whether transitions are put together rightly."""
        signals: dict[str, float] = {}
        if self._truncations and hasattr(buffer, "handle_timeout_termination"):
            kept = bool(buffer.handle_timeout_termination)
            signals["replay.truncated_as_terminated"] = 0.0 if kept else 1.0
        if buffer.optimize_memory_usage:
            return signals
        later = (chosen + 1) % buffer.buffer_size
        follows = (later != buffer.pos) & (later < max(buffer.size(), 1))
        follows &= ~(buffer.dones[chosen].astype(bool).any(axis=1))
        follows &= ~np.isin(chosen, self._seams)  # there the environment was reset from outside
        if follows.any():
            after, seen = (
                buffer.next_observations[chosen[follows]],
                buffer.observations[later[follows]],
            )
            # A NaN that follows a NaN is where it belongs; D001 speaks of it.
            different = (after != seen) & ~(np.isnan(after) & np.isnan(seen))
            different = different.reshape(len(after), -1).any(axis=1)
            signals["replay.misaligned_share"] = float(different.mean())
        return signals

    def _changes(self, batch: Any, fresh: Any) -> dict[str, float]:
        """How far networks and policy have moved since the last Step."""
        critic, before, target_before = flat(list(self._online.parameters())), *self._critics_before
        target = flat(list(self._delayed.parameters()))
        signals = {
            "critic.update_ratio": _ratio(critic - before, before),
            "target.drift": _ratio(critic - target, critic),
            "target.change": _ratio(target - target_before, target_before),
        }
        if self._discrete:
            return signals
        actor = self._model.actor
        now = (
            actor(batch.observations, deterministic=True)
            if _draws(actor)
            else actor(batch.observations)
        )
        signals["actor.update_ratio"] = _ratio(
            flat(list(actor.parameters())) - self._actor_before, self._actor_before
        )
        signals["action.saturation"] = float((now.abs() > 0.99).float().mean())
        if not _draws(actor):
            gap = (fresh.actions - actor(fresh.observations)).abs().mean()
            signals["action.noise"] = float(gap)
            then = torch.func.functional_call(actor, self._weights_before, (batch.observations,))
            better = self._first(batch.observations, now) - self._first(batch.observations, then)
            signals["actor.improvement"] = float(better.mean())
        return signals

    def _targets(self, batch: Any) -> Tensor:
        """What the critics should say, as the model's own update works it out."""
        model = self._model
        discounts = getattr(batch, "discounts", None)
        discount = model.gamma if discounts is None else discounts
        if self._discrete:
            every = _of_actions(self._delayed(batch.next_observations))
            following = every.max(dim=1).values.reshape(-1, 1)
        elif _draws(model.actor):
            actions, log_prob = model.actor.action_log_prob(batch.next_observations)
            following = _of_critics(self._delayed(batch.next_observations, actions))
            weight = self._entropy_weight()
            following = following.min(dim=1, keepdim=True).values - weight * log_prob.reshape(-1, 1)
        else:
            actions = model.actor_target(batch.next_observations)
            following = _of_critics(self._delayed(batch.next_observations, actions))
            following = following.min(dim=1, keepdim=True).values
        target: Tensor = batch.rewards + (1.0 - batch.dones) * discount * following
        return target

    def _values(self, observations: Tensor, actions: Tensor) -> Tensor:
        """Each critic's value of these actions, a column each."""
        if self._discrete:
            return torch.gather(_of_actions(self._online(observations)), 1, actions.long())
        return _of_critics(self._online(observations, actions))

    def _first(self, observations: Tensor, actions: Tensor) -> Tensor:
        return _of_critics(self._online(observations, actions))[:, :1]

    def _entropy_weight(self) -> float:
        model = self._model
        if getattr(model, "log_ent_coef", None) is not None:
            return float(model.log_ent_coef.exp())
        return float(model.ent_coef_tensor)

    def _largest_bonus(self, batch: Any) -> float:
        """What SAC's entropy bonus can add to a reward."""
        if self._discrete or not _draws(self._model.actor):
            return 0.0
        _, log_prob = self._model.actor.action_log_prob(batch.observations)
        return self._entropy_weight() * float(log_prob.abs().max())

    @property
    def _online(self) -> Any:
        return getattr(self._model, self._name)

    @property
    def _delayed(self) -> Any:
        return getattr(self._model, f"{self._name}_target")

    def _remember(self) -> None:
        self._critics_before = (
            flat(list(self._online.parameters())),
            flat(list(self._delayed.parameters())),
        )
        if not self._discrete:
            actor = self._model.actor
            self._actor_before = flat(list(actor.parameters()))
            self._weights_before = {n: p.detach().clone() for n, p in actor.named_parameters()}


def _draws(actor: Any) -> bool:
    """Whether an actor is stochastic, as SAC's is."""
    return hasattr(actor, "action_log_prob")


def _of_actions(found: Tensor) -> Tensor:
    """A value per action; of quantiles (in the middle) the mean."""
    return found.mean(dim=1) if found.ndim == 3 else found


def _of_critics(found: Any) -> Tensor:
    """A column per critic; of quantiles (at last) the mean."""
    return found.mean(dim=2) if isinstance(found, Tensor) else torch.cat(found, dim=1)


def _ratio(change: Tensor, of: Tensor) -> float:
    return float(change.norm()) / (float(of.norm()) + 1e-12)
