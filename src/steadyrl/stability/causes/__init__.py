"""All causes, listed."""

from __future__ import annotations

from steadyrl.stability.causes import (
    actor_sign_flipped,
    buffer_too_small,
    discount_too_low,
    early_termination_pays,
    exploration_too_large,
    exploration_too_small,
    learning_rate_too_high,
    learning_rate_too_low,
    machine_overloaded,
    observation_not_updated,
    observations_unscaled,
    optimiser_detached,
    reward_scale_too_large,
    successors_misaligned,
    target_not_updated,
    target_too_fast,
    terminal_mask_missing,
    too_many_updates,
    truncation_as_termination,
    value_overestimation,
)

CAUSES = (
    learning_rate_too_high.CAUSE,
    learning_rate_too_low.CAUSE,
    reward_scale_too_large.CAUSE,
    target_not_updated.CAUSE,
    target_too_fast.CAUSE,
    terminal_mask_missing.CAUSE,
    truncation_as_termination.CAUSE,
    early_termination_pays.CAUSE,
    exploration_too_small.CAUSE,
    exploration_too_large.CAUSE,
    actor_sign_flipped.CAUSE,
    optimiser_detached.CAUSE,
    observations_unscaled.CAUSE,
    observation_not_updated.CAUSE,
    successors_misaligned.CAUSE,
    buffer_too_small.CAUSE,
    too_many_updates.CAUSE,
    value_overestimation.CAUSE,
    discount_too_low.CAUSE,
    machine_overloaded.CAUSE,
)
