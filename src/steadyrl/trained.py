"""The policy of a run, taken out of one of its checkpoints: it acts, without trainer and world.

    policy = steadyrl.load_policy("runs/ppo-cartpole-v1-seed0")
    action = policy.act(observation)

What it sees and does is in the checkpoint, and so is how observations are normalised.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces as gym_spaces
from gymnasium.spaces import utils
from numpy.typing import NDArray

from steadyrl.algorithms.common.acting import Acting
from steadyrl.core.errors import ConfigError, EnvironmentFault
from steadyrl.core.registry import acting_of
from steadyrl.core.run_config import RunConfig
from steadyrl.environments.envs import Envs
from steadyrl.environments.spaces import Spaces, is_array_space, told
from steadyrl.store.choosing import Chosen, choose_checkpoint
from steadyrl.store.reader import RunReader

Array = NDArray[Any]
NUMBERS = "fiub"  # kinds of arrays: floats, whole numbers, truths


class TrainedPolicy:
    """What was learned: acts on one observation or on many, as it did when it was evaluated."""

    def __init__(
        self, config: RunConfig, spaces: Spaces, acting: Acting, path: Path, chosen: Chosen
    ) -> None:
        self.config, self.spaces, self.acting = config, spaces, acting
        self.path, self.chosen = path, chosen
        self._shape = tuple(spaces.observation.shape or ())
        self._plain = is_array_space(spaces.observation)
        self._generator = np.random.default_rng(config.seed)

    @property
    def observation_space(self) -> gym_spaces.Space[Any]:
        """What it sees, as its environment gives it."""
        return self.spaces.observation

    @property
    def action_space(self) -> gym_spaces.Space[Any]:
        """What it does, as its environment takes it."""
        return self.spaces.action

    @property
    def step(self) -> int:
        """The Step of its checkpoint."""
        return self.chosen.step

    def seed(self, seed: int) -> None:
        """Where drawn actions begin; those that are not drawn need no seed."""
        self._generator = np.random.default_rng(seed)

    def act(self, observation: Any, deterministic: bool = True) -> Any:
        """The action for one observation, or the actions for many.

        `deterministic`: the action it would choose, as in evaluations; else one as it explores in
        training. Many observations are an array with one more axis in front (of a Dict space: a
        dictionary of such arrays), or a list of single ones.
        """
        rows, one = self._rows(observation)
        if deterministic:
            actions = self.acting.best(rows)
        else:
            actions = self.acting.draw(rows, self._generator)
        return actions[0] if one else actions

    def _rows(self, observation: Any) -> tuple[Array, bool]:
        """Arrays with one row per observation, and whether it was a single one."""
        if not self._plain:
            return self._flattened(observation)
        found = np.asarray(observation)
        if found.dtype.kind not in NUMBERS:
            raise EnvironmentFault(
                f"the observation {_short(observation)} is no array of numbers: this policy sees "
                f"{told(self.observation_space)}."
            )
        one = found.shape == self._shape
        if not one and (found.shape[1:] != self._shape or found.ndim != len(self._shape) + 1):
            many = ", ".join(map(str, ("count", *self._shape)))
            raise EnvironmentFault(
                f"an observation of shape {found.shape} was given: this policy sees {self._shape}, "
                f"or many of them as ({many})."
            )
        if found.dtype.kind == "f" and not np.isfinite(found).all():
            where = ", ".join(map(str, np.argwhere(~np.isfinite(found))[0]))
            raise EnvironmentFault(
                f"observation[{where}] is not a finite number: whatever the policy did would mean "
                "nothing."
            )
        return (found[None] if one else found), one

    def _flattened(self, observation: Any) -> tuple[Array, bool]:
        space = self.observation_space
        if space.contains(observation):
            return np.asarray(utils.flatten(space, observation))[None], True
        many = _one_by_one(space, observation)
        for number, some in enumerate(many):
            if not space.contains(some):
                raise EnvironmentFault(
                    f"observation {number} ({_short(some)}) is not in {told(space)}, which this "
                    "policy sees."
                )
        return np.stack([np.asarray(utils.flatten(space, some)) for some in many]), False

    def __repr__(self) -> str:
        return f"<{self.config.algorithm} policy of {self.path}, {self.chosen.because}>"


def load_policy(
    run: str | os.PathLike[str], which: str | int = "best", *, seed: int | None = None
) -> TrainedPolicy:
    """The policy that a run has learned.

    Examples:
        >>> policy = steadyrl.load_policy(run)
        >>> policy.act([0.0, 0.0, 0.0, 0.0]) in (0, 1)
        True
        >>> policy.act([[0.0, 0.0, 0.0, 0.0]] * 5).shape
        (5,)

    Args:
        run: the run's folder.
        which: "best" (the best evaluated checkpoint that was kept), "last", or a Step's number.
        seed: of drawn actions (`deterministic=False`); without it the run's own.
    """
    path = Path(run)
    store = RunReader.open(path)
    make = acting_of(store.config.algorithm)
    if make is None:
        raise ConfigError(
            f"{path}: a run of {store.config.algorithm} has no policy of actions. A language model "
            "is asked with 'steadyrl language ask', and exported with 'steadyrl export'."
        )
    chosen = choose_checkpoint(store, which)
    state = store.checkpoints.load(chosen.step)
    config = type(store.config).parse(state["config"]["now"], source=str(path))
    spaces = _spaces(config, state)
    policy = TrainedPolicy(config, spaces, make(config, spaces, state["learner"]), path, chosen)
    if seed is not None:
        policy.seed(seed)
    return policy


def _spaces(config: RunConfig, state: Mapping[str, Any]) -> Spaces:
    """As the checkpoint says; those of older versions do not, so their environment is asked."""
    if state.get("spaces"):
        return Spaces.from_record(state["spaces"])
    environment = config.value_of("environment").copies(1)
    with closing(Envs(environment, seed=config.seed)) as envs:
        return envs.spaces


def _one_by_one(space: gym_spaces.Space[Any], observation: Any) -> Sequence[Any]:
    """Many observations of a space that is no Box, as a list of single ones."""
    if isinstance(space, gym_spaces.Dict) and isinstance(observation, Mapping):
        parts = {name: _one_by_one(space[name], observation[name]) for name in space.spaces}
        count = min(map(len, parts.values()), default=0)
        return [{name: part[row] for name, part in parts.items()} for row in range(count)]
    if isinstance(space, gym_spaces.Tuple) and isinstance(observation, tuple):
        each = [_one_by_one(s, o) for s, o in zip(space.spaces, observation, strict=True)]
        return list(zip(*each, strict=True))
    try:
        return list(observation)
    except TypeError:
        raise EnvironmentFault(
            f"the observation {_short(observation)} is not in {told(space)}, which this policy "
            "sees."
        ) from None


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
