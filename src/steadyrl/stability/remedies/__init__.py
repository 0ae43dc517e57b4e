"""All remedies, by id."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.stability.remedies import (
    change_the_task,
    clip_gradients,
    fewer_updates,
    fix_the_code,
    free_the_machine,
    larger_buffer,
    later_start,
    lower_learning_rate,
    more_curvature,
    normalize_observations,
    normalize_rewards,
    raise_learning_rate,
    scale_rewards,
    stronger_critic,
    termination_penalty,
    twin_critics,
    usual_clip,
    usual_damping,
    usual_discount,
    usual_entropy,
    usual_epochs,
    usual_noise,
    usual_tau,
    usual_trust_region,
)
from steadyrl.stability.rules import Remedy

REMEDIES: Mapping[str, Remedy] = {
    remedy.id: remedy
    for remedy in (
        lower_learning_rate.REMEDY,
        raise_learning_rate.REMEDY,
        scale_rewards.REMEDY,
        usual_tau.REMEDY,
        termination_penalty.REMEDY,
        usual_noise.REMEDY,
        clip_gradients.REMEDY,
        normalize_observations.REMEDY,
        larger_buffer.REMEDY,
        later_start.REMEDY,
        fewer_updates.REMEDY,
        twin_critics.REMEDY,
        usual_discount.REMEDY,
        usual_epochs.REMEDY,
        usual_clip.REMEDY,
        usual_entropy.REMEDY,
        usual_damping.REMEDY,
        usual_trust_region.REMEDY,
        stronger_critic.REMEDY,
        more_curvature.REMEDY,
        normalize_rewards.REMEDY,
        free_the_machine.REMEDY,
        fix_the_code.REMEDY,
        change_the_task.REMEDY,
    )
}
