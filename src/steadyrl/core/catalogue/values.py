"""Signals of losses, Q-values and TD errors."""

from __future__ import annotations

from steadyrl.core.catalogue.signal import signal

SIGNALS = (
    signal(
        "critic.loss",
        "mean squared TD error, averaged over critics and updates",
        "scaled reward^2",
        "train/critic_loss",
    ),
    signal(
        "critic.loss_max",
        "largest critic loss of a single update since the last Step",
        "scaled reward^2",
        "train/critic_loss_max",
        "max",
    ),
    signal(
        "actor.loss",
        "minus the mean Q-value of the policy's own actions",
        "scaled reward",
        "train/actor_loss",
    ),
    signal("q.mean", "mean Q-value of the sampled actions", "scaled reward", "train/q_mean"),
    signal(
        "q.abs_max",
        "largest absolute Q-value of the sampled actions",
        "scaled reward",
        "train/q_abs_max",
        "max",
    ),
    signal(
        "q.bound",
        "largest |Q| the rewards seen so far allow: max|r| / (1 - gamma), at least 10, since a "
        "fresh network says that much of any rewards",
        "scaled reward",
        "train/q_bound",
        "last",
    ),
    signal(
        "q.bound_ratio",
        "largest |Q| over its bound; above 1 the critic has diverged, whatever the reward scale",
        "ratio",
        "train/q_bound_ratio",
        "max",
    ),
    signal("td.abs_mean", "mean absolute TD error", "scaled reward", "train/td_error_abs_mean"),
    signal(
        "td.abs_max", "largest absolute TD error", "scaled reward", "train/td_error_abs_max", "max"
    ),
    signal(
        "td.target_std",
        "standard deviation of the TD targets within a batch",
        "scaled reward",
        "train/td_target_std",
    ),
)
