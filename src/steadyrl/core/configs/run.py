"""What every run has, whatever the algorithm."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field

from steadyrl.core.config import Settings, setting

type_of_env_setting = bool | int | float | str | None


class EnvironmentConfig(Settings):
    """Which environment, how many, and its own settings."""

    id: str = setting(..., "Gymnasium environment id, such as CartPole-v1")
    count: int = setting(1, "environments stepped side by side", low=1)
    settings: dict[str, type_of_env_setting] = setting(
        {}, "keyword arguments of the environment (e.g. environment.settings.g 9.81)"
    )


class EvaluationConfig(Settings):
    """Evaluation without exploration, on episodes of their own seeds."""

    every_env_steps: int = setting(10_000, "environment steps between evaluations", low=1)
    episodes: int = setting(10, "episodes per evaluation; 0 switches evaluation off", low=0)
    most_likely: bool = setting(
        True, "PPO and TRPO take the most likely action; false: they draw one, as in training"
    )

    def due(self, before: int, now: int) -> bool:
        """Whether an evaluation falls between two counts of environment steps."""
        return bool(self.episodes) and now // self.every_env_steps > before // self.every_env_steps


class CheckpointConfig(Settings):
    """When the whole state is written to disk."""

    every_env_steps: int = setting(10_000, "environment steps between checkpoints", low=1)
    keep: int = setting(2, "how many recent checkpoints stay; the last good one always does", low=1)


class ComputeConfig(Settings):
    """Where and how the arithmetic runs."""

    device: str = setting("cpu", "cpu, cuda, cuda:N, mps, or auto for the best one present")
    threads: int = setting(1, "torch threads; use spare cores for more seeds instead", low=1)
    precision: Literal["fp32", "bf16"] = setting(
        "fp32", "number format of the matrix multiplications; weights stay fp32"
    )


class RunConfig(Settings):
    """Settings common to all algorithms."""

    algorithm: str = setting("ddpg", "which trainer")
    seed: int = setting(0, "the one seed that all randomness derives from", low=0)
    total_env_steps: int = setting(100_000, "environment steps to train for", low=1)
    log_every: int = setting(
        200, "env steps between two Steps; PPO and TRPO record every update", low=1
    )
    environment: EnvironmentConfig = setting(..., "the environment")
    evaluation: EvaluationConfig = setting(EvaluationConfig(), "evaluation")
    checkpoints: CheckpointConfig = setting(CheckpointConfig(), "checkpoints")
    compute: ComputeConfig = setting(ComputeConfig(), "compute")

    @property
    def judged_as(self) -> str:
        """The algorithm whose rules hold."""
        return self.algorithm

    def doubt(self, signal: str) -> tuple[float, str] | None:  # noqa: ARG002 - ours are sound
        """How far a signal of this run can be trusted (0 to 1) and why not further."""
        return None

    def shown(self) -> dict[str, Any]:
        """What a report shows of it."""
        return self.plain()

    def value_of(self, name: str) -> Any:
        """A setting by its dotted name, or None if there is none such."""
        value: Any = self
        for part in name.split("."):
            value = value.get(part) if isinstance(value, dict) else getattr(value, part, None)
        return value

    def changed(self, name: str, value: Any) -> Self:
        """A copy in which `value_of(name)` is another."""
        return self.replaced({name: value})


# YAML has lists only; strict mode would refuse them for a tuple.
LayerSizes = Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(strict=False, min_length=1)]
