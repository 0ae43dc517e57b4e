"""A trainer that is ready to yield Steps, whatever the algorithm."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, Protocol

from numpy.typing import NDArray

from steadyrl.algorithms.common.device import claim_device
from steadyrl.core.config import LiveConfig
from steadyrl.core.errors import ConfigError
from steadyrl.core.launch import launched
from steadyrl.core.presets import refuse_blanks
from steadyrl.core.records import Step
from steadyrl.core.registry import trainer_of
from steadyrl.core.run_config import ActingConfig, RunConfig
from steadyrl.environments.envs import Envs
from steadyrl.environments.spaces import Spaces
from steadyrl.nets.processes import ALONE, Processes


class Learner(Protocol):
    """What every learner offers: all of its state, out and in."""

    steps: int  # how many Steps it has been through

    def state_dict(self) -> dict[str, Any]:
        """Everything the next update depends on."""
        ...

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Back to a recorded state."""
        ...


class World(Protocol):
    """What a run advances in: environments, or the pages of a dataset."""

    @property
    def steps_taken(self) -> int:
        """How far it has come."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """Everything the coming steps depend on."""
        ...

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Back to a recorded state."""
        ...

    def close(self) -> None:
        """Release what it holds."""
        ...


@dataclass(frozen=True)
class Training:
    """A config in force, the world it advances in, its learner, and how they yield Steps."""

    live: LiveConfig[Any]
    world: World
    learner: Learner
    begin: Callable[[], Iterator[Step]]
    examine: Callable[[], dict[str, float]]  # a closer look, for probes
    # The first bad tensor's name, and the last batch, part by part.
    black_box: Callable[[], tuple[str | None, dict[str, NDArray[Any]]]]
    gradients: Callable[..., dict[str, NDArray[Any]]]  # of a batch, by part; for their noise
    experience: Callable[[], int]  # samples there are to draw from
    # Ways to draw a batch for measuring its gradient: at random, or as stretches in time.
    schemes: tuple[str, ...] = ("drawn", "trajectory")
    processes: Processes = ALONE  # who else trains the same weights
    spaces: Spaces | None = None  # what the policy sees and does, if it is one of actions
    passes: str = ""  # who computes them, if it is not torch

    @property
    def steps(self) -> Iterator[Step]:
        """The Steps from here on; asked for again, they go on from where the learner stands."""
        return self.begin()

    def state_dict(self) -> dict[str, Any]:
        """Everything the coming Steps depend on."""
        return {
            "config": self.live.state_dict(),
            "spaces": self.spaces and self.spaces.record(),
            "world": self.world.state_dict(),
            "learner": self.learner.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Back to a recorded state; the next Step is the one that followed it."""
        self.live.load_state_dict(state["config"])
        self.world.load_state_dict(state["world"])
        self.learner.load_state_dict(state["learner"])


def prepare(config: RunConfig) -> Training:
    """Everything a run needs, at its beginning; whoever asks closes its `world`."""
    refuse_blanks(config)
    training: Training = trainer_of(config.algorithm)(config, claim_device(config.compute))
    if training.processes.count != launched().count:
        training.world.close()
        raise ConfigError(
            f"{launched().count} processes were launched, but algorithm = {config.algorithm!r} "
            "trains in one. Start it without accelerate, torchrun or mpirun."
        )
    return training


def in_environments(config: ActingConfig, build: Callable[[Envs], Training]) -> Training:
    """A trainer in its environments; one that refuses them leaves none behind."""
    with ExitStack() as undo:
        envs = Envs(config.environment, seed=config.seed)
        undo.callback(envs.close)
        training = replace(build(envs), spaces=envs.spaces)
        undo.pop_all()
    return training
