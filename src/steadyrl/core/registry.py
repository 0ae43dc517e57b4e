"""Which algorithms there are: one line each, its parts imported on first use.

The config class must come without torch, for commands that only read. The trainer is a function
that takes the config and the device and returns a `Training` (algorithms/common/training.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from steadyrl.core.errors import ConfigError

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


@dataclass(frozen=True, slots=True)
class Algorithm:
    """Where an algorithm's parts are, each as `module:name`."""

    config: str
    trainer: str
    acting: str = ""  # what makes a policy of actions out of a checkpoint, if it trains one


ALGORITHMS: dict[str, Algorithm] = {
    "ddpg": Algorithm(
        "steadyrl.algorithms.ddpg.config:DDPGConfig",
        "steadyrl.algorithms.ddpg.trainer:prepare",
        "steadyrl.algorithms.ddpg.acting:acting",
    ),
    "ppo": Algorithm(
        "steadyrl.algorithms.on_policy.config:PPOConfig",
        "steadyrl.algorithms.on_policy.trainer:prepare_ppo",
        "steadyrl.algorithms.on_policy.acting:acting",
    ),
    "trpo": Algorithm(
        "steadyrl.algorithms.on_policy.trpo_config:TRPOConfig",
        "steadyrl.algorithms.on_policy.trainer:prepare_trpo",
        "steadyrl.algorithms.on_policy.acting:acting",
    ),
    "language": Algorithm(
        "steadyrl.algorithms.language.config:LanguageConfig",
        "steadyrl.algorithms.language.trainer:prepare",
    ),
    "bc": Algorithm(
        "steadyrl.algorithms.bc.config:BCConfig",
        "steadyrl.algorithms.bc.trainer:prepare",
        "steadyrl.algorithms.bc.acting:acting",
    ),
}


def config_class(name: str) -> type[RunConfig]:
    """The settings of an algorithm."""
    if name not in ALGORITHMS:
        known = ", ".join(ALGORITHMS)
        raise ConfigError(f"algorithm = {name!r} is not one of: {known}.")
    found: type[RunConfig] = _imported(ALGORITHMS[name].config)
    return found


def trainer_of(name: str) -> Any:
    """What makes a config of this algorithm ready to train."""
    if name not in ALGORITHMS:
        if name == "foreign":
            raise ConfigError("another program trained this: only that program can train it again.")
        raise ConfigError(f"algorithm = {name!r} has no trainer.")
    return _imported(ALGORITHMS[name].trainer)


def acting_of(name: str) -> Any:
    """What makes a policy of actions out of a checkpoint of this algorithm; None if it has none."""
    found = ALGORITHMS.get(name)
    return _imported(found.acting) if found is not None and found.acting else None


def _imported(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
