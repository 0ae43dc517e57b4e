"""All static checks, listed: what a config can be told before any step."""

from __future__ import annotations

from steadyrl.stability.checks import (
    batch_of_one,
    batch_of_the_data,
    buffer_small,
    clip_against_scale,
    clip_range_extreme,
    damping_extreme,
    demonstrations_few,
    discount_short,
    entropy_weight_extreme,
    epochs_many,
    evaluation_sparse,
    learning_rate_extreme,
    learning_starts_early,
    noise_extreme,
    tau_extreme,
    termination_is_free,
    threads_many,
    trust_region_extreme,
    updates_many,
)

CHECKS = (
    learning_starts_early.CHECK,
    buffer_small.CHECK,
    tau_extreme.CHECK,
    noise_extreme.CHECK,
    learning_rate_extreme.CHECK,
    batch_of_one.CHECK,
    termination_is_free.CHECK,
    clip_against_scale.CHECK,
    discount_short.CHECK,
    threads_many.CHECK,
    updates_many.CHECK,
    evaluation_sparse.CHECK,
    clip_range_extreme.CHECK,
    entropy_weight_extreme.CHECK,
    epochs_many.CHECK,
    trust_region_extreme.CHECK,
    damping_extreme.CHECK,
    demonstrations_few.CHECK,
    batch_of_the_data.CHECK,
)
