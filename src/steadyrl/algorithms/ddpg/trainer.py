"""DDPG, put together."""

from __future__ import annotations

import torch

from steadyrl.algorithms.common.training import Training, in_environments
from steadyrl.algorithms.ddpg import closer_look
from steadyrl.algorithms.ddpg.config import DDPGConfig
from steadyrl.algorithms.ddpg.ddpg import train_ddpg
from steadyrl.algorithms.ddpg.gradients import gradients
from steadyrl.algorithms.ddpg.learner import DDPGLearner
from steadyrl.core.config import LiveConfig
from steadyrl.environments.envs import Envs
from steadyrl.nets.compiled import passes_of
from steadyrl.nets.dense import first_non_finite


def prepare(config: DDPGConfig, device: torch.device) -> Training:
    """A DDPG run at its beginning."""

    def build(envs: Envs) -> Training:
        live, learner = LiveConfig(config), DDPGLearner(config, envs, device)
        return Training(
            live=live,
            world=envs,
            learner=learner,
            begin=lambda: train_ddpg(live, envs, learner),
            examine=lambda: closer_look.examine(learner, live.now),
            black_box=lambda: (
                first_non_finite(closer_look.tensors(learner, live.now)),
                closer_look.last_batch(learner),
            ),
            gradients=lambda **how: gradients(learner, live.now, envs.count, **how),
            experience=lambda: len(learner.replay),
            passes=passes_of(learner.actor),
        )

    return in_environments(config, build)
