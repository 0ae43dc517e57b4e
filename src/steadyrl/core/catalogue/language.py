"""Signals of language models trained by rewards."""

from __future__ import annotations

from steadyrl.core.catalogue.signal import signal

SIGNALS = (
    signal(
        "language.reward_std",
        "spread of the rewards of completions",
        "reward",
        "train/reward_std",
    ),
    signal(
        "language.function_std",
        "of several reward functions, the spread over completions of that which varies least",
        "reward",
        "train/rewards/stillest_std",
        "max",
    ),
    signal(
        "language.reward_error",
        "standard error of the mean reward; prompts count as drawn by chance, not their samples",
        "reward",
        "train/reward_error",
    ),
    signal(
        "language.equal_groups_share",
        "share of prompts whose completions all earned the same: they teach nothing",
        "share",
        "train/frac_reward_zero_std",
    ),
    signal(
        "language.length_mean",
        "mean length of the completions",
        "tokens",
        "train/completions/mean_length",
    ),
    signal(
        "language.length_error",
        "standard error of the mean length; prompts count as drawn by chance, not their samples",
        "tokens",
        "train/completions/length_error",
    ),
    signal(
        "language.cut_share",
        "share of completions that were cut off at the largest length",
        "share",
        "train/completions/clipped_ratio",
    ),
    signal(
        "language.reference_kl",
        "KL from the reference model, mean per token",
        "nats",
        "train/kl",
    ),
    signal(
        "language.sampler_gap",
        "mean |ln p| difference between the engine that samples and the one that trains",
        "nats",
        "train/sampling/sampling_logp_difference/mean",
    ),
    signal(
        "language.sampling_gap",
        "mean |ln p| difference between the distribution that was sampled from (temperature, "
        "top_p, engine) and the one that is trained",
        "nats",
        "train/sampling_gap",
    ),
    signal(
        "language.mask_error",
        "share of tokens that are trained and must not be, or must be and are not; must be 0",
        "share",
        "train/mask_error",
        "max",
    ),
    signal(
        "language.accuracy",
        "share of held-out problems answered right, most likely tokens",
        "share",
        "eval/accuracy",
        "last",
    ),
    signal(
        "language.accuracy_sampled",
        "the same with tokens drawn as in training",
        "share",
        "eval/accuracy_sampled",
        "last",
    ),
    signal(
        "language.evaluated",
        "held-out problems of an evaluation",
        "problems",
        "eval/problems",
        "last",
    ),
    signal(
        "language.accuracy_untrained",
        "share of held-out problems answered right before anything was shown, most likely tokens",
        "share",
        "eval/accuracy_untrained",
        "last",
    ),
    signal(
        "language.accuracy_warm",
        "the same after the warm start, before any reward",
        "share",
        "eval/accuracy_warm",
        "last",
    ),
    signal(
        "language.value_error",
        "root mean square error of the values on fresh completions, before they are trained on",
        "reward",
        "train/value_error",
    ),
    signal(
        "language.skipped_share",
        "share of optimiser steps that were skipped: their gradient was no number",
        "share",
        "train/skipped_share",
    ),
    signal(
        "language.tokens",
        "tokens of the update's completions",
        "tokens",
        "train/tokens",
    ),
)
