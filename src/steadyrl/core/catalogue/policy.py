"""Signals of stochastic policies and of the value function that serves them (PPO, TRPO)."""

from __future__ import annotations

from steadyrl.core.catalogue.signal import signal

SIGNALS = (
    signal(
        "policy.loss",
        "clipped surrogate loss, mean over the whole update",
        "advantage",
        "train/policy_gradient_loss",
    ),
    signal(
        "policy.kl",
        "KL from the policy that acted to the one after the update, on all its samples",
        "nats",
        "train/approx_kl",
        "last",
        nan_when="TRPO's line search failed, so that no new policy exists",
    ),
    signal(
        "policy.kl_first_epoch",
        "mean KL met in the first epoch: how far the first steps alone went",
        "nats",
        "train/approx_kl_first_epoch",
        "last",
    ),
    signal(
        "policy.clip_fraction",
        "share of samples whose ratio left the clip range, mean over the whole update",
        "share",
        "train/clip_fraction",
    ),
    signal(
        "policy.ratio_max",
        "largest |ln ratio| of any sample in the update",
        "nats",
        "train/ratio_max",
        "max",
    ),
    signal(
        "policy.first_ratio_error",
        "largest |ln ratio| before the first gradient step; must be 0",
        "nats",
        "train/first_ratio_error",
        "max",
    ),
    signal("policy.entropy", "mean entropy of the policy", "nats", "train/entropy"),
    signal(
        "policy.entropy_share",
        "entropy over the largest possible; discrete actions only",
        "share",
        "train/entropy_share",
    ),
    signal(
        "policy.std",
        "mean standard deviation of continuous actions",
        "action",
        "train/std",
        "last",
    ),
    signal(
        "policy.gradient_norm",
        "norm of the policy's gradient, before clipping",
        "norm",
        "train/policy_grad_norm",
    ),
    signal(
        "policy.gradient_norm_max",
        "largest policy gradient norm of a single step, before clipping",
        "norm",
        "train/policy_grad_norm_max",
        "max",
    ),
    signal(
        "policy.update_ratio",
        "norm of the policy's parameter change in the update over the parameter norm",
        "ratio",
        "train/policy_update_ratio",
        "last",
    ),
    signal("policy.epochs", "epochs done in the update", "count", "train/n_epochs", "last"),
    signal(
        "policy.improvement",
        "mean advantage-weighted ratio gained on the update's own samples",
        "advantage",
        "train/surrogate_improvement",
        "last",
    ),
    signal("value.loss", "mean squared error of the values", "reward^2", "train/value_loss"),
    signal(
        "value.explained_variance",
        "share of the returns' variance that the values explained before the update",
        "share",
        "train/explained_variance",
        "last",
    ),
    signal(
        "value.gradient_norm",
        "norm of the value function's gradient (weighted), before clipping",
        "norm",
        "train/value_grad_norm",
    ),
    signal(
        "value.update_ratio",
        "norm of the value function's parameter change over its parameter norm",
        "ratio",
        "train/value_update_ratio",
        "last",
    ),
    signal("advantage.std", "spread of raw advantages", "reward", "train/advantage_std", "last"),
    signal("return.std", "spread of the value targets", "reward", "train/return_std", "last"),
    signal(
        "gradient.noise_scale",
        "noise of the policy's gradient in samples, smoothed; where micro-batches exist",
        "samples",
        "train/noise_scale",
        "last",
    ),
    signal("setting.clip_range", "PPO's clip range in force", "ratio", "train/clip_range", "last"),
    signal(
        "setting.entropy_weight",
        "weight of the entropy bonus in force",
        "1",
        "train/entropy_weight",
        "last",
    ),
)
