"""The catalogue of signals: what each number means, and how updates are reduced to one Step.

A signal that is not declared here cannot be measured: its meaning, unit and reduction would be
improvised, and two runs could not be compared. Tags are Stable-Baselines3's where it has one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
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


def _signal(
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


_SIGNALS = (
    # Episodes
    _signal(
        "rollout.return_mean",
        "mean return of the last 100 training episodes, with exploration",
        "reward",
        "rollout/ep_rew_mean",
        "last",
    ),
    _signal(
        "rollout.length_mean",
        "mean length of the last 100 training episodes",
        "env steps",
        "rollout/ep_len_mean",
        "last",
    ),
    _signal(
        "rollout.reward_mean",
        "mean reward per environment step since the last Step",
        "reward per step",
        "rollout/reward_mean",
    ),
    _signal(
        "rollout.reward_abs_max",
        "largest absolute reward since the last Step",
        "reward",
        "rollout/reward_abs_max",
        "max",
    ),
    _signal(
        "rollout.terminated_share",
        "share of episodes ended since the last Step that terminated (not truncated)",
        "share",
        "rollout/terminated_share",
    ),
    _signal(
        "eval.return_mean",
        "mean return of the evaluation episodes, without exploration",
        "reward",
        "eval/mean_reward",
        "last",
    ),
    _signal(
        "eval.return_std",
        "standard deviation of the evaluation returns",
        "reward",
        "eval/std_reward",
        "last",
    ),
    _signal(
        "eval.discounted_mean",
        "mean discounted return of the evaluation episodes: what training optimises",
        "reward",
        "eval/mean_discounted_reward",
        "last",
    ),
    _signal(
        "eval.discounted_std",
        "standard deviation of the discounted evaluation returns",
        "reward",
        "eval/std_discounted_reward",
        "last",
    ),
    _signal(
        "eval.length_mean",
        "mean length of the evaluation episodes",
        "env steps",
        "eval/mean_ep_length",
        "last",
    ),
    # Losses and values
    _signal(
        "critic.loss",
        "mean squared TD error, averaged over critics and updates",
        "scaled reward^2",
        "train/critic_loss",
    ),
    _signal(
        "critic.loss_max",
        "largest critic loss of a single update since the last Step",
        "scaled reward^2",
        "train/critic_loss_max",
        "max",
    ),
    _signal(
        "actor.loss",
        "minus the mean Q-value of the policy's own actions",
        "scaled reward",
        "train/actor_loss",
    ),
    _signal("q.mean", "mean Q-value of the sampled actions", "scaled reward", "train/q_mean"),
    _signal(
        "q.abs_max",
        "largest absolute Q-value of the sampled actions",
        "scaled reward",
        "train/q_abs_max",
        "max",
    ),
    _signal(
        "q.bound",
        "largest |Q| the rewards seen so far allow: max|r| / (1 - gamma)",
        "scaled reward",
        "train/q_bound",
        "last",
    ),
    _signal(
        "q.bound_ratio",
        "largest |Q| over its bound; above 1 the critic has diverged, whatever the reward scale",
        "ratio",
        "train/q_bound_ratio",
        "max",
    ),
    _signal("td.abs_mean", "mean absolute TD error", "scaled reward", "train/td_error_abs_mean"),
    _signal(
        "td.abs_max", "largest absolute TD error", "scaled reward", "train/td_error_abs_max", "max"
    ),
    _signal(
        "td.target_std",
        "standard deviation of the TD targets within a batch",
        "scaled reward",
        "train/td_target_std",
    ),
    # Gradients, parameters, actions
    _signal(
        "critic.gradient_norm",
        "critic gradient norm, measured before clipping",
        "norm",
        "train/critic_grad_norm",
    ),
    _signal(
        "critic.gradient_norm_max",
        "largest critic gradient norm of a single update, before clipping",
        "norm",
        "train/critic_grad_norm_max",
        "max",
    ),
    _signal(
        "critic.update_ratio",
        "norm of the critic's parameter change since the last Step over the parameter norm",
        "ratio",
        "train/critic_update_ratio",
        "last",
    ),
    _signal(
        "actor.gradient_norm",
        "actor gradient norm, measured before clipping",
        "norm",
        "train/actor_grad_norm",
    ),
    _signal(
        "actor.gradient_norm_max",
        "largest actor gradient norm of a single update, before clipping",
        "norm",
        "train/actor_grad_norm_max",
        "max",
    ),
    _signal(
        "actor.update_ratio",
        "norm of the actor's parameter change since the last Step over the parameter norm",
        "ratio",
        "train/actor_update_ratio",
        "last",
    ),
    _signal(
        "target.drift",
        "distance between online and target critic over the online critic's norm",
        "ratio",
        "train/target_drift",
        "last",
    ),
    _signal(
        "action.saturation",
        "share of the policy's action components within 1 % of a bound, last batch",
        "share",
        "train/action_saturation",
        "last",
    ),
    _signal(
        "critic.dormant_share",
        "share of the critic's hidden units that hardly respond to the last batch",
        "share",
        "train/critic_dormant_share",
        "last",
    ),
    _signal(
        "actor.dormant_share",
        "share of the actor's hidden units that hardly respond to the last batch",
        "share",
        "train/actor_dormant_share",
        "last",
    ),
    _signal(
        "actor.improvement",
        "Q of the policy's actions minus Q of those a Step ago: same states, same critic",
        "scaled reward",
        "train/actor_improvement",
        "last",
    ),
    _signal(
        "target.change",
        "norm of the target critic's change since the last Step over its norm",
        "ratio",
        "train/target_change",
        "last",
    ),
    _signal(
        "action.noise",
        "mean distance of played actions from the policy's; actions span -1..1",
        "action",
        "rollout/action_noise",
    ),
    _signal(
        "rollout.reward_negative_share",
        "share of negative rewards since the last Step",
        "share",
        "rollout/reward_negative_share",
    ),
    _signal(
        "observation.scale_ratio",
        "largest over smallest standard deviation of the network's inputs, last batch",
        "ratio",
        "rollout/observation_scale_ratio",
        "last",
    ),
    _signal(
        "observation.constant_share",
        "share of the observation's components that do not vary in the last batch",
        "share",
        "rollout/observation_constant_share",
        "last",
    ),
    _signal(
        "td.terminal_error",
        "mean distance of terminal transitions' targets from their reward; must be 0",
        "scaled reward",
        "train/td_terminal_error",
        "max",
    ),
    _signal(
        "td.fresh_ratio",
        "mean TD error of the newest transitions over that of the last batch",
        "ratio",
        "train/td_fresh_ratio",
        "last",
    ),
    _signal(
        "q.optimism",
        "Q at the start of evaluation episodes minus their discounted return, in target spreads",
        "ratio",
        "train/q_optimism",
        "last",
    ),
    # Replay
    _signal(
        "replay.truncated_as_terminated",
        "share of truncated transitions that are stored as terminated; must be 0",
        "share",
        "replay/truncated_as_terminated",
        "max",
    ),
    _signal(
        "replay.misaligned_share",
        "share of the last batch whose successor is not what was seen next; must be 0",
        "share",
        "replay/misaligned_share",
        "max",
    ),
    _signal("replay.size", "transitions in the buffer", "count", "replay/size", "last"),
    _signal(
        "replay.batch_share",
        "batch size over buffer content",
        "ratio",
        "replay/batch_share",
        "last",
    ),
    _signal(
        "replay.duplicate_share",
        "share of the last batch that repeats another item of the same batch",
        "share",
        "replay/duplicate_share",
        "last",
    ),
    _signal(
        "replay.age_mean",
        "mean age of the sampled transitions, last batch",
        "env steps",
        "replay/age_mean",
        "last",
    ),
    _signal(
        "replay.updates_per_env_step",
        "gradient updates per environment step so far",
        "ratio",
        "replay/updates_per_env_step",
        "last",
    ),
    # Settings that may change
    _signal("setting.learning_rate", "learning rate in force", "1", "train/learning_rate", "last"),
    _signal(
        "setting.gradient_clip", "gradient clip in force", "norm", "train/gradient_clip", "last"
    ),
    _signal("train.updates", "gradient updates so far", "count", "train/n_updates", "last"),
    # The machine and the clock
    _signal(
        "machine.cpu_share",
        "CPU seconds of this process per second",
        "cores",
        "machine/cpu_share",
        "last",
        deterministic=False,
    ),
    _signal(
        "machine.load_per_core",
        "runnable tasks per core, one-minute average",
        "ratio",
        "machine/load_per_core",
        "last",
        deterministic=False,
    ),
    _signal(
        "machine.swap_mb_per_second",
        "memory moved to and from swap",
        "MB/s",
        "machine/swap_mb_per_second",
        "last",
        deterministic=False,
    ),
    _signal(
        "machine.disk_free_gb",
        "free space where the run is written",
        "GB",
        "machine/disk_free_gb",
        "last",
        deterministic=False,
    ),
    _signal(
        "time.env_steps_per_second",
        "environment steps per second since the last Step",
        "1/s",
        "time/fps",
        "last",
        deterministic=False,
    ),
)

CATALOGUE: Mapping[str, Signal] = {signal.name: signal for signal in _SIGNALS}

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
