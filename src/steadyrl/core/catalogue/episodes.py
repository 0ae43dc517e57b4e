"""Signals of episodes: training and evaluation."""

from __future__ import annotations

from steadyrl.core.catalogue.signal import signal

SIGNALS = (
    signal(
        "rollout.return_mean",
        "mean return of the last 100 training episodes, with exploration",
        "reward",
        "rollout/ep_rew_mean",
        "last",
    ),
    signal(
        "rollout.episode_return",
        "mean return of the training episodes that ended since the Step before",
        "reward",
        "rollout/episode_return",
    ),
    signal(
        "rollout.success_rate",
        "share of the training episodes that reached their goal",
        "share",
        "rollout/success_rate",
        "last",
    ),
    signal(
        "eval.success_rate",
        "share of the evaluation episodes that reached their goal",
        "share",
        "eval/success_rate",
        "last",
    ),
    signal(
        "rollout.length_mean",
        "mean length of the last 100 training episodes",
        "env steps",
        "rollout/ep_len_mean",
        "last",
    ),
    signal(
        "rollout.reward_mean",
        "mean reward per environment step since the last Step",
        "reward per step",
        "rollout/reward_mean",
    ),
    signal(
        "rollout.reward_abs_max",
        "largest absolute reward since the last Step",
        "reward",
        "rollout/reward_abs_max",
        "max",
    ),
    signal(
        "rollout.reward_negative_share",
        "share of negative rewards since the last Step",
        "share",
        "rollout/reward_negative_share",
    ),
    signal(
        "rollout.reward_positive_share",
        "share of positive rewards since the last Step",
        "share",
        "rollout/reward_positive_share",
    ),
    signal(
        "rollout.truncated_as_terminated",
        "share of the worth of cut-off states that is missing from this rollout's returns: 1 if "
        "time limits are learned as ends",
        "share",
        "rollout/truncated_as_terminated",
        "last",
    ),
    signal(
        "rollout.terminated_share",
        "share of episodes ended since the last Step that terminated (not truncated)",
        "share",
        "rollout/terminated_share",
    ),
    signal(
        "eval.return_mean",
        "mean return of the evaluation episodes: most likely actions, or drawn ones if set so",
        "reward",
        "eval/mean_reward",
        "last",
    ),
    signal(
        "eval.return_std",
        "standard deviation of the evaluation returns",
        "reward",
        "eval/std_reward",
        "last",
    ),
    signal(
        "eval.discounted_mean",
        "mean discounted return of the evaluation episodes: what training optimises",
        "reward",
        "eval/mean_discounted_reward",
        "last",
    ),
    signal(
        "eval.discounted_std",
        "standard deviation of the discounted evaluation returns",
        "reward",
        "eval/std_discounted_reward",
        "last",
    ),
    signal(
        "eval.length_mean",
        "mean length of the evaluation episodes",
        "env steps",
        "eval/mean_ep_length",
        "last",
    ),
)
