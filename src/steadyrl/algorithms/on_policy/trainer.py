"""PPO and TRPO, put together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeVar

import torch

from steadyrl.algorithms.common.replaying import empty_buffer
from steadyrl.algorithms.common.training import Training, in_environments
from steadyrl.algorithms.on_policy import closer_look
from steadyrl.algorithms.on_policy.config import OnPolicyConfig, PPOConfig
from steadyrl.algorithms.on_policy.learner import OnPolicyLearner
from steadyrl.algorithms.on_policy.ppo import train_ppo
from steadyrl.algorithms.on_policy.trpo import train_trpo
from steadyrl.algorithms.on_policy.trpo_config import TRPOConfig
from steadyrl.core.config import LiveConfig
from steadyrl.core.records import Step
from steadyrl.environments.envs import Envs
from steadyrl.experience.aged import AgedExperience
from steadyrl.nets.dense import first_non_finite

C = TypeVar("C", bound=OnPolicyConfig)


def prepare_ppo(config: PPOConfig, device: torch.device) -> Training:
    """A PPO run at its beginning."""
    buffer = partial(empty_buffer, config.replay) if config.replays else None
    return _prepare(config, device, train_ppo, buffer)


def prepare_trpo(config: TRPOConfig, device: torch.device) -> Training:
    """A TRPO run at its beginning."""
    return _prepare(config, device, train_trpo)


def _prepare(
    config: C,
    device: torch.device,
    train: Callable[[LiveConfig[C], Envs, OnPolicyLearner], Iterator[Step]],
    experience: Callable[[], AgedExperience] | None = None,
) -> Training:
    def build(envs: Envs) -> Training:
        live, learner = LiveConfig(config), OnPolicyLearner(config, envs, device)
        if experience is not None:
            learner.experience = experience()
        return Training(
            live=live,
            world=envs,
            learner=learner,
            begin=lambda: train(live, envs, learner),
            examine=lambda: closer_look.examine(learner),
            black_box=lambda: (
                first_non_finite(closer_look.tensors(learner)),
                closer_look.last_batch(learner),
            ),
            gradients=lambda **how: closer_look.gradients(learner, live.now, envs, **how),
            experience=lambda: live.now.samples_per_update,
        )

    return in_environments(config, build)
