"""The catalogue of signals: what each number means, and how updates are reduced to one Step.

A signal that is not declared here cannot be measured: its meaning, unit and reduction would be
improvised, and two runs could not be compared. Tags are Stable-Baselines3's where it has one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

Reduction = Literal["mean", "max", "min", "last", "sum"]


@dataclass(frozen=True, kw_only=True)
class Signal:
    """One measured quantity."""

    name: str
    meaning: str
    unit: str
    reduce: Reduction
    tag: str
    deterministic: bool = True  # false: depends on the clock, so exact resume does not cover it


def _signals() -> Iterable[Signal]:
    def signal(
        name: str,
        meaning: str,
        unit: str,
        tag: str,
        reduce: Reduction = "mean",
        deterministic: bool = True,
    ) -> Signal:
        return Signal(
            name=name,
            meaning=meaning,
            unit=unit,
            reduce=reduce,
            tag=tag,
            deterministic=deterministic,
        )

    # Episodes
    yield signal(
        "rollout.return_mean",
        "mean return of the last 100 training episodes, with exploration",
        "reward",
        "rollout/ep_rew_mean",
        "last",
    )
    yield signal(
        "rollout.length_mean",
        "mean length of the last 100 training episodes",
        "env steps",
        "rollout/ep_len_mean",
        "last",
    )
    yield signal(
        "rollout.reward_mean",
        "mean reward per environment step since the last Step",
        "reward per step",
        "rollout/reward_mean",
    )
    yield signal(
        "rollout.reward_abs_max",
        "largest absolute reward since the last Step",
        "reward",
        "rollout/reward_abs_max",
        "max",
    )
    yield signal(
        "rollout.terminated_share",
        "share of episodes ended since the last Step that terminated (not truncated)",
        "share",
        "rollout/terminated_share",
    )
    yield signal(
        "eval.return_mean",
        "mean return of the evaluation episodes, without exploration",
        "reward",
        "eval/mean_reward",
        "last",
    )
    yield signal(
        "eval.return_std",
        "standard deviation of the evaluation returns",
        "reward",
        "eval/std_reward",
        "last",
    )
    yield signal(
        "eval.length_mean",
        "mean length of the evaluation episodes",
        "env steps",
        "eval/mean_ep_length",
        "last",
    )
    # Losses and values
    yield signal(
        "critic.loss",
        "mean squared TD error, averaged over critics and updates",
        "scaled reward^2",
        "train/critic_loss",
    )
    yield signal(
        "critic.loss_max",
        "largest critic loss of a single update since the last Step",
        "scaled reward^2",
        "train/critic_loss_max",
        "max",
    )
    yield signal(
        "actor.loss",
        "minus the mean Q-value of the policy's own actions",
        "scaled reward",
        "train/actor_loss",
    )
    yield signal(
        "q.mean", "mean Q-value of the sampled actions", "scaled reward", "train/q_mean", "mean"
    )
    yield signal(
        "q.abs_max",
        "largest absolute Q-value of the sampled actions",
        "scaled reward",
        "train/q_abs_max",
        "max",
    )
    yield signal(
        "q.bound",
        "largest |Q| the rewards seen so far allow: max|r| / (1 - gamma)",
        "scaled reward",
        "train/q_bound",
        "last",
    )
    yield signal(
        "q.bound_ratio",
        "largest |Q| over its bound; above 1 the critic has diverged, whatever the reward scale",
        "ratio",
        "train/q_bound_ratio",
        "max",
    )
    yield signal(
        "td.abs_mean", "mean absolute TD error", "scaled reward", "train/td_error_abs_mean", "mean"
    )
    yield signal(
        "td.abs_max", "largest absolute TD error", "scaled reward", "train/td_error_abs_max", "max"
    )
    yield signal(
        "td.target_std",
        "standard deviation of the TD targets in the last batch",
        "scaled reward",
        "train/td_target_std",
        "last",
    )
    # Gradients and parameters
    for part in ("critic", "actor"):
        yield signal(
            f"{part}.gradient_norm",
            f"{part} gradient norm, measured before clipping",
            "norm",
            f"train/{part}_grad_norm",
        )
        yield signal(
            f"{part}.gradient_norm_max",
            f"largest {part} gradient norm of a single update, before clipping",
            "norm",
            f"train/{part}_grad_norm_max",
            "max",
        )
        yield signal(
            f"{part}.update_ratio",
            f"norm of the {part}'s parameter change since the last Step over the parameter norm",
            "ratio",
            f"train/{part}_update_ratio",
            "last",
        )
    yield signal(
        "target.drift",
        "distance between online and target critic over the online critic's norm",
        "ratio",
        "train/target_drift",
        "last",
    )
    yield signal(
        "action.saturation",
        "share of the policy's action components within 1 % of a bound, last batch",
        "share",
        "train/action_saturation",
        "last",
    )
    # Replay
    yield signal("replay.size", "transitions in the buffer", "count", "replay/size", "last")
    yield signal(
        "replay.batch_share",
        "batch size over buffer content",
        "ratio",
        "replay/batch_share",
        "last",
    )
    yield signal(
        "replay.duplicate_share",
        "share of the last batch that repeats another item of the same batch",
        "share",
        "replay/duplicate_share",
        "last",
    )
    yield signal(
        "replay.age_mean",
        "mean age of the sampled transitions, last batch",
        "env steps",
        "replay/age_mean",
        "last",
    )
    yield signal(
        "replay.updates_per_env_step",
        "gradient updates per environment step so far",
        "ratio",
        "replay/updates_per_env_step",
        "last",
    )
    # The settings that may change, and the machine
    yield signal(
        "setting.learning_rate", "learning rate in force", "1", "train/learning_rate", "last"
    )
    yield signal("train.updates", "gradient updates so far", "count", "train/n_updates", "last")
    yield signal(
        "time.env_steps_per_second",
        "environment steps per second since the last Step",
        "1/s",
        "time/fps",
        "last",
        deterministic=False,
    )


CATALOGUE: Mapping[str, Signal] = {signal.name: signal for signal in _signals()}

_REDUCE: Mapping[Reduction, Callable[[list[float]], float]] = {
    "mean": lambda values: float(np.mean(values)),
    "max": lambda values: float(np.max(values)),
    "min": lambda values: float(np.min(values)),
    "sum": lambda values: float(np.sum(values)),
    "last": lambda values: values[-1],
}


class Meter:
    """Collects raw values between two Steps and reduces each signal as the catalogue declares.

    A NaN in a mean, maximum or minimum stays a NaN: a hidden NaN would be a hidden failure.
    """

    def __init__(self) -> None:
        self._values: dict[str, list[float]] = {}

    def add(self, values: Mapping[str, float]) -> None:
        """Take one value for each of the named signals."""
        for name, value in values.items():
            held = self._values.get(name)
            if held is None:
                if name not in CATALOGUE:
                    raise KeyError(f"signal {name!r} is not declared in core/signals.py")
                held = self._values[name] = []
            held.append(value)

    def read(self) -> dict[str, float]:
        """The reduced signals, in the order of the catalogue; starts afresh afterwards."""
        signals = {
            name: _REDUCE[signal.reduce](self._values[name])
            for name, signal in CATALOGUE.items()
            if name in self._values
        }
        self._values = {}
        return signals
