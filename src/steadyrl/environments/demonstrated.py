"""The demonstrations a config names: read from a file, or played by the scripted expert."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from steadyrl.core.demonstrations_config import DemonstrationsConfig
from steadyrl.core.errors import SteadyError
from steadyrl.environments.assembly import AssemblyEnv, expert
from steadyrl.experience.demonstration_files import read_demonstrations
from steadyrl.experience.demonstrations import Demonstrations, made


def load_demonstrations(config: DemonstrationsConfig) -> Demonstrations:
    """The transitions, as many trajectories as wanted, filtered."""
    if config.path is None:
        count = config.trajectories or 1
        data = scripted_demonstrations(count, config.expert_length, config.expert_seed)
    else:
        data = read_demonstrations(Path(config.path), observation_key=config.observation_key)
        if config.trajectories is not None:
            data = data.first(config.trajectories)
    return data.without_zero_actions() if config.drop_zero_actions else data


def learned_from(config: DemonstrationsConfig) -> int | None:
    """How many transitions a config would learn from; None if they cannot be had."""
    try:
        count = len(load_demonstrations(config))
    except SteadyError:
        return None  # training will say what is wrong with the file
    return round((1.0 - config.validation_share) * count)


def scripted_demonstrations(trajectories: int, length: int, seed: int) -> Demonstrations:
    """The expert's trajectories in the assembly task, with a hand that trembles a little."""
    generator = np.random.default_rng(seed)
    env = AssemblyEnv(episode_length=length)
    observations, actions = [], []
    for number in range(trajectories):
        seen, _ = env.reset(seed=seed * 1000 + number)
        for _ in range(length):
            action = expert(env, generator.standard_normal(6))
            observations.append(seen)
            actions.append(action)
            seen = env.step(action)[0]
    starts = [number * length for number in range(trajectories)]
    source = f"the scripted expert (seed {seed})"
    return made(np.stack(observations), np.stack(actions), starts, source)
