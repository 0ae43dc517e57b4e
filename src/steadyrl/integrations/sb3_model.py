"""What a Stable-Baselines3 model tells of itself: settings, episodes, evaluations beside it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from stable_baselines3.common.callbacks import CallbackList, EvalCallback, EventCallback

from steadyrl.environments.witness import Witness

OFTEN, SELDOM = 10, 10  # so many answers about the world, then one Step of so many is asked for


def evaluators_in(callback: Any) -> Iterator[EvalCallback]:
    """The evaluations that learn() was given beside this callback."""
    if isinstance(callback, CallbackList):
        for inner in callback.callbacks:
            yield from evaluators_in(inner)
    elif isinstance(callback, EvalCallback) and callback.eval_freq > 0:
        yield callback
    elif isinstance(callback, EventCallback) and callback.callback is not None:
        yield from evaluators_in(callback.callback)


def new_evaluations(callbacks: Sequence[EvalCallback], seen: dict[int, int]) -> dict[str, float]:
    """What an EvalCallback beside this one has found since it was last asked."""
    for callback in callbacks:
        count = callback.n_calls // callback.eval_freq
        if count > seen.get(id(callback), 0):
            seen[id(callback)] = count
            found = {"eval.return_mean": float(callback.last_mean_reward)}
            if callback.evaluations_results:
                found["eval.return_std"] = float(np.std(callback.evaluations_results[-1]))
                found["eval.length_mean"] = float(np.mean(callback.evaluations_length[-1]))
            return found
    return {}


FEW = 64  # numbers of which Python itself is asked faster than NumPy
GIVEN = (  # what it is called, where learn() holds it, and the signal it would get into
    ("reward", "rewards", "rollout.reward_mean"),
    ("observation", "new_obs", "observation.scale_ratio"),
)


def not_finite(local: Mapping[str, Any]) -> tuple[str, str] | None:
    """The first reward or observation of this step that is no finite number: words and signal."""
    for called, name, signal in GIVEN:
        given: Any = local.get(name, ())
        parts = given.items() if isinstance(given, dict) else (("", given),)
        for part, values in parts:
            if _finite(values):
                continue
            where = np.argwhere(~np.isfinite(values))[0]
            which = f" '{part}'" if part else ""
            place = f", component {where[1:].tolist()}" if len(where) > 1 else ""
            said = f"the {called}{which} of environment {where[0]}{place} is {values[tuple(where)]}"
            return said, signal
    return None


def _finite(values: Any) -> bool:
    """Whether all are finite numbers; asked at every step, so a few are looked at one by one."""
    # Whole numbers, such as those of images, are always finite.
    if not isinstance(values, np.ndarray) or values.dtype.kind != "f":
        return True
    if values.size <= FEW:
        return all(map(math.isfinite, values.ravel().tolist()))
    return bool(np.isfinite(values).all())


class Episodes:
    """Rewards, ends of episodes and what actions do, since the last Step, step by step."""

    def __init__(self, model: Any) -> None:
        self._model = model
        space = model.action_space
        choices = int(space.n) if isinstance(space, spaces.Discrete) else None
        self._witness, self._asked, self._told = Witness(choices), 0, 0
        self._rewards: list[Any] = []
        self._returns: list[float] = []
        self._terminated = self._truncated = 0

    def add(self, local: dict[str, Any]) -> None:
        """One step of all environments, as learn()'s local variables hold it."""
        rewards, dones = local.get("rewards"), local.get("dones")
        if rewards is None or dones is None:
            return
        self._rewards.append(np.array(rewards, dtype=np.float64))
        # What the world was given: on-policy models clip what they have drawn.
        actions = local.get("clipped_actions", local.get("actions"))
        self._witness.add(self._model._last_obs, actions, rewards, dones)
        for done, info in zip(dones, local.get("infos", ()), strict=False):
            if done:
                cut = bool(info.get("TimeLimit.truncated", False))
                self._truncated += cut
                self._terminated += not cut
                if "episode" in info:  # of a Monitor
                    self._returns.append(float(info["episode"]["r"]))

    def ended(self) -> dict[str, float]:
        """The mean return of the episodes that ended since it was last asked for."""
        returns, self._returns = self._returns, []
        return {"rollout.episode_return": float(np.mean(returns))} if returns else {}

    def read(self) -> dict[str, float]:
        """The signals, and begin afresh."""
        signals = self.ended()
        if self._rewards:
            rewards = np.concatenate(self._rewards)
            signals["rollout.reward_mean"] = float(rewards.mean())
            signals["rollout.reward_abs_max"] = float(np.abs(rewards).max())
            signals["rollout.reward_negative_share"] = float((rewards < 0).mean())
            signals["rollout.reward_positive_share"] = float((rewards > 0).mean())
        ended = self._terminated + self._truncated
        if ended:
            signals["rollout.terminated_share"] = self._terminated / ended
        self._rewards, self._terminated, self._truncated = [], 0, 0
        return signals | self._account()

    def _account(self) -> dict[str, float]:
        """What passed by says of the world; the world stays the same, so later it is asked less."""
        self._asked += 1
        if self._told > OFTEN and self._asked % SELDOM:
            return {}
        told = self._witness.ask()
        self._told += told is not None
        return told.signals if told else {}


def train_values(model: Any) -> dict[str, float]:
    """What Stable-Baselines3 has measured and not written out yet."""
    measured: dict[str, float] = model.logger.name_to_value
    return {
        name: float(value)
        for name, value in measured.items()
        if name.startswith("train/") and np.isscalar(value) and not isinstance(value, str)
    }


def recent_episodes(model: Any) -> dict[str, float]:
    """Return and length of the last 100 episodes, where a Monitor records them."""
    recent = list(model.ep_info_buffer or ())
    if not recent:
        return {}
    return {
        "rollout.return_mean": float(np.mean([episode["r"] for episode in recent])),
        "rollout.length_mean": float(np.mean([episode["l"] for episode in recent])),
    }


def settings_of(model: Any, names: dict[str, str]) -> dict[str, Any]:
    """The model's hyperparameters by our names; schedules as they begin."""
    known: dict[str, Any] = {}
    for ours, theirs in names.items():
        value = getattr(model, theirs, None)
        if callable(value):
            value = float(value(1.0))
        if isinstance(value, bool | int | float):
            known[ours] = value
    if ours_noise := getattr(model, "action_noise", None):
        spread = getattr(ours_noise, "_sigma", None)
        if spread is not None:
            known["noise_std"] = float(np.mean(spread))
    elif hasattr(model, "action_noise") and type(model).__name__ in ("DDPG", "TD3"):
        known["noise_std"] = 0.0
    normalizer = model.get_vec_normalize_env()
    known["normalize_observations"] = bool(normalizer is not None and normalizer.norm_obs)
    known["normalize_rewards"] = bool(normalizer is not None and normalizer.norm_reward)
    return known


def environment_of(model: Any) -> str:
    """The id of its environment, if it has one."""
    env = model.get_env()
    specs = env.get_attr("spec") if env is not None else []
    return str(getattr(specs[0], "id", "")) if specs else ""
