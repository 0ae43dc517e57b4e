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
