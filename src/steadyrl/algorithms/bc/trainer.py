"""Behaviour cloning, put together."""

from __future__ import annotations

import math

import numpy as np
import torch
from gymnasium.spaces import Box

from steadyrl.algorithms.bc import closer_look
from steadyrl.algorithms.bc.bc import train_bc
from steadyrl.algorithms.bc.config import BCConfig
from steadyrl.algorithms.bc.learner import BCLearner
from steadyrl.algorithms.common.clock import Clock
from steadyrl.algorithms.common.training import Training
from steadyrl.core.config import LiveConfig
from steadyrl.core.errors import ConfigError
from steadyrl.environments.demonstrated import load_demonstrations
from steadyrl.environments.envs import Envs
from steadyrl.environments.spaces import Spaces
from steadyrl.nets.dense import first_non_finite


def prepare(config: BCConfig, device: torch.device) -> Training:
    """A run of cloning at its beginning."""
    live, clock = LiveConfig(config), Clock()
    learner = BCLearner(config, load_demonstrations(config.demonstrations), device)
    spaces = _recorded_spaces(learner)
    if config.evaluation.episodes:
        spaces = _played_spaces(config, learner)
    return Training(
        live=live,
        world=clock,
        learner=learner,
        begin=lambda: train_bc(live, clock, learner),
        examine=lambda: closer_look.examine(learner, live.now),
        black_box=lambda: (
            first_non_finite(closer_look.tensors(learner)),
            closer_look.last_batch(learner),
        ),
        gradients=lambda **how: closer_look.gradients(learner, live.now, **how),
        experience=lambda: len(learner.data),
        spaces=spaces,
    )


def _recorded_spaces(learner: BCLearner) -> Spaces:
    """As wide as can be: the recordings do not say where the world ends."""
    shape, images = learner.data.observations.shape[1:], learner.data.images
    seen = Box(0, 255, shape, np.uint8) if images else Box(-np.inf, np.inf, shape, np.float32)
    return Spaces(seen, Box(-np.inf, np.inf, (learner.components,), np.float32))


def _played_spaces(config: BCConfig, learner: BCLearner) -> Spaces:
    """A clone can only be tried where it sees and does what was recorded."""
    envs = Envs(config.environment.copies(1), seed=config.seed)
    envs.close()
    space, seen = envs.action_space, envs.observations[0]
    if not isinstance(space, Box):
        raise ConfigError(f"environment '{envs.id}' has action space {space}: a Box is needed.")
    recorded = learner.data.observations[0]
    if math.prod(space.shape) != learner.components or seen.size != recorded.size:
        raise ConfigError(
            f"environment.id = '{envs.id}' shows {seen.size} numbers and takes "
            f"{math.prod(space.shape)}, but {learner.data.source} holds {recorded.size} and "
            f"{learner.components}. Name the environment it was recorded in, or set "
            "evaluation.episodes to 0."
        )
    learner.bounds = space
    return envs.spaces
