"""From a config to a trainer that is ready to yield Steps, whatever the algorithm."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, cast

import torch
from gymnasium.spaces import Box
from numpy.typing import NDArray

from steadyrl.algorithms import examine_bc, examine_ddpg, examine_on_policy, gradients_ddpg
from steadyrl.algorithms.bc import train_bc
from steadyrl.algorithms.bc_learner import BCLearner, Clock
from steadyrl.algorithms.ddpg import train_ddpg
from steadyrl.algorithms.ddpg_learner import DDPGLearner
from steadyrl.algorithms.on_policy_learner import OnPolicyLearner
from steadyrl.algorithms.ppo import train_ppo
from steadyrl.algorithms.trpo import train_trpo
from steadyrl.core.config import LiveConfig
from steadyrl.core.configs.bc import BCConfig
from steadyrl.core.configs.ddpg import DDPGConfig
from steadyrl.core.configs.ppo import OnPolicyConfig, PPOConfig
from steadyrl.core.configs.run import ComputeConfig, RunConfig
from steadyrl.core.configs.trpo import TRPOConfig
from steadyrl.core.errors import ConfigError
from steadyrl.core.networks import first_non_finite
from steadyrl.core.records import Step
from steadyrl.environments.demonstrated import load_demonstrations
from steadyrl.environments.envs import Envs

C = TypeVar("C", bound=OnPolicyConfig)


class Learner(Protocol):
    """What every learner offers: all of its state, out and in."""

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
    """A config in force, its environments, its learner, and how to make them yield Steps."""

    live: LiveConfig[RunConfig]
    envs: World
    learner: Learner
    begin: Callable[[], Iterator[Step]]
    examine: Callable[[], dict[str, float]]  # a closer look, for probes
    # The first bad tensor's name, and the last batch, part by part.
    black_box: Callable[[], tuple[str | None, dict[str, NDArray[Any]]]]
    gradients: Callable[..., dict[str, NDArray[Any]]]  # of a batch, by part; for their noise
    experience: Callable[[], int]  # samples there are to draw from

    @property
    def steps(self) -> Iterator[Step]:
        """The Steps from here on; asked for again, they go on from where the learner stands."""
        return self.begin()

    def state_dict(self) -> dict[str, Any]:
        """Everything the coming Steps depend on."""
        return {
            "config": self.live.state_dict(),
            "envs": self.envs.state_dict(),
            "learner": self.learner.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Back to a recorded state; the next Step is the one that followed it."""
        self.live.load_state_dict(state["config"])
        self.envs.load_state_dict(state["envs"])
        self.learner.load_state_dict(state["learner"])


def prepare(config: RunConfig) -> Training:
    """Everything a run needs, at its beginning; whoever asks closes its `envs`."""
    device = choose_device(config.compute)
    torch.set_num_threads(config.compute.threads)
    if config.compute.precision == "bf16" and device.type == "cpu" and not has_fast_bf16():
        raise ConfigError(
            "compute.precision = 'bf16': this processor only emulates bf16, which is several times "
            "slower than fp32. Use fp32 here."
        )
    if isinstance(config, BCConfig):
        return _bc(config, device)
    with ExitStack() as undo:  # a learner that refuses leaves no environments behind
        envs = Envs(config.environment, seed=config.seed)
        undo.callback(envs.close)
        training = _in_environments(config, envs, device)
        undo.pop_all()
    return training


def _in_environments(config: RunConfig, envs: Envs, device: torch.device) -> Training:
    if isinstance(config, DDPGConfig):
        return _ddpg(config, envs, device)
    if isinstance(config, PPOConfig):
        ppo = LiveConfig(config)
        return _on_policy(ppo, envs, OnPolicyLearner(config, envs, device), train_ppo)
    if isinstance(config, TRPOConfig):
        trpo = LiveConfig(config)
        return _on_policy(trpo, envs, OnPolicyLearner(config, envs, device), train_trpo)
    raise ConfigError(f"algorithm = {config.algorithm!r} has no trainer.")


def _ddpg(config: DDPGConfig, envs: Envs, device: torch.device) -> Training:
    live, learner = LiveConfig(config), DDPGLearner(config, envs, device)
    return Training(
        live=cast(LiveConfig[RunConfig], live),
        envs=envs,
        learner=learner,
        begin=lambda: train_ddpg(live, envs, learner),
        examine=lambda: examine_ddpg.examine(learner, live.now),
        black_box=lambda: (
            first_non_finite(examine_ddpg.tensors(learner, live.now)),
            examine_ddpg.last_batch(learner),
        ),
        gradients=lambda **how: gradients_ddpg.gradients(learner, live.now, envs.count, **how),
        experience=lambda: len(learner.replay),
    )


def _bc(config: BCConfig, device: torch.device) -> Training:
    live, clock = LiveConfig(config), Clock()
    learner = BCLearner(config, load_demonstrations(config.demonstrations), device)
    if config.evaluation.episodes:
        _refuse_other_spaces(config, learner)
    return Training(
        live=cast(LiveConfig[RunConfig], live),
        envs=clock,
        learner=learner,
        begin=lambda: train_bc(live, clock, learner),
        examine=lambda: examine_bc.examine(learner, live.now),
        black_box=lambda: (
            first_non_finite(examine_bc.tensors(learner)),
            examine_bc.last_batch(learner),
        ),
        gradients=lambda **how: examine_bc.gradients(learner, live.now, **how),
        experience=lambda: len(learner.data),
    )


def _refuse_other_spaces(config: BCConfig, learner: BCLearner) -> None:
    """A clone can only be tried where it sees and does what was recorded."""
    envs = Envs(config.environment.model_copy(update={"count": 1}), seed=config.seed)
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


def _on_policy(
    live: LiveConfig[C],
    envs: Envs,
    learner: OnPolicyLearner,
    train: Callable[[LiveConfig[C], Envs, OnPolicyLearner], Iterator[Step]],
) -> Training:
    return Training(
        live=cast(LiveConfig[RunConfig], live),
        envs=envs,
        learner=learner,
        begin=lambda: train(live, envs, learner),
        examine=lambda: examine_on_policy.examine(learner),
        black_box=lambda: (
            first_non_finite(examine_on_policy.tensors(learner)),
            examine_on_policy.last_batch(learner),
        ),
        gradients=lambda **how: examine_on_policy.gradients(learner, live.now, envs, **how),
        experience=lambda: live.now.batch,
    )


def has_fast_bf16() -> bool:
    """Whether bf16 products beat fp32 ones on this CPU. Measured: emulation loses tenfold."""

    def seconds(kind: torch.dtype) -> float:
        left = torch.ones(256, 256, dtype=kind)
        times = []
        for _ in range(5):
            started = time.perf_counter()
            torch.mm(left, left)
            times.append(time.perf_counter() - started)
        return min(times)

    return seconds(torch.bfloat16) < seconds(torch.float32)


def choose_device(compute: ComputeConfig) -> torch.device:
    """The device the config names; `auto` takes CUDA, then MPS, then the CPU."""
    if compute.device == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        device = torch.device(compute.device)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise ConfigError(
            f"compute.device = '{compute.device}' cannot be used here ({reason}). "
            "Use cpu, cuda, cuda:N, mps or auto."
        ) from None
    return device
