"""What every run has, whatever the algorithm."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from steadyrl.core.choices import Limits
from steadyrl.core.config import Settings, group_of, setting
from steadyrl.core.traits import ENV_STEPS, RETURN, Score, Trait, Unit

type_of_env_setting = bool | int | float | str | None
ATARI = "ALE/"  # what the ids of its games begin with
NO_ENVIRONMENT = "none"


# YAML has lists only; strict mode would refuse them for a tuple.
Names = Annotated[tuple[str, ...], Field(strict=False)]


class EnvironmentConfig(Settings):
    """Which environment, how many, and its own settings."""

    id: str = setting(
        ...,
        "Gymnasium environment id, such as CartPole-v1, or module:name of your own",
        changes="start",
    )
    count: int = setting(1, "environments stepped side by side", low=1, changes="start")
    settings: dict[str, type_of_env_setting] = setting(
        {},
        "keyword arguments of the environment (e.g. environment.settings.g 9.81)",
        changes="start",
    )

    wrappers: Names = setting(
        (), "wrappers by import path, the innermost first, such as my_env:Flatten", changes="start"
    )
    folder: str | None = setting(
        None,
        "folder of your own modules; null: beside the config, or the current one",
        changes="start",
    )
    processes: int = setting(
        1,
        "1: all copies in this process; as many as copies: each in its own, for slow ones",
        low=1,
        changes="fork",
    )

    @model_validator(mode="after")
    def _a_process_for_each(self) -> Self:
        if self.processes not in (1, self.count):
            raise ValueError(
                f"environment.processes = {self.processes}: every copy gets a process of its own, "
                f"so use 1, or environment.count = {self.count}."
            )
        return self

    def copies(self, count: int) -> Self:
        """The same with so many copies, in as many processes if there are several."""
        processes = count if self.processes > 1 else 1
        return self.model_copy(update={"count": count, "processes": processes})

    @property
    def exists(self) -> bool:
        """Whether there is one at all."""
        return self.id != NO_ENVIRONMENT


class EvaluationConfig(Settings):
    """Evaluation without exploration, on episodes of their own seeds."""

    every: int = setting(10_000, "steps of the run's own unit between evaluations", low=1)
    episodes: int = setting(10, "episodes per evaluation; 0 switches evaluation off", low=0)
    most_likely: bool = setting(
        True, "PPO and TRPO take the most likely action; false: they draw one, as in training"
    )

    def due(self, before: int, now: int) -> bool:
        """Whether an evaluation falls between two counts of the run's own unit."""
        return bool(self.episodes) and now // self.every > before // self.every


class CheckpointConfig(Settings):
    """When the whole state is written to disk."""

    every: int = setting(10_000, "steps of the run's own unit between checkpoints", low=1)
    keep: int = setting(2, "how many recent checkpoints stay; the last good one always does", low=1)
    keep_best: bool = setting(
        True, "save wherever an evaluation is the best so far, and keep that checkpoint"
    )


class StoppingConfig(Settings):
    """When a run ends before its budget because nothing improves."""

    patience: int | None = setting(
        None, "evaluations without a new best before the run ends; null: never", low=1
    )
    threshold: float = setting(0.0, "what a new best must be better by", low=0.0)


class ComputeConfig(Settings):
    """Where and how the arithmetic runs."""

    device: str = setting(
        "cpu", "cpu, cuda, cuda:N, mps, or auto for the best one present", changes="fork"
    )
    threads: int = setting(
        1, "torch threads; use spare cores for more seeds instead", low=1, changes="fork"
    )
    precision: Literal["fp32", "bf16"] = setting(
        "fp32", "number format of the matrix multiplications; weights stay fp32", changes="fork"
    )


class RunConfig(Settings):
    """Settings common to all algorithms, and what a config class says of its algorithm."""

    # None: not known, so that every rule may hold.
    traits: ClassVar[frozenset[Trait] | None] = frozenset()
    unit: ClassVar[Unit] = ENV_STEPS
    scores: ClassVar[tuple[Score, ...]] = (RETURN,)  # the first that is measured counts
    pace: ClassVar[str] = "learning_rate"  # the setting that says how fast it learns
    remedies_tried: ClassVar[int] = 3  # by a rescue
    # What a resume may change beside the budget, because nothing that is learned depends on it.
    resumable: ClassVar[tuple[str, ...]] = ("checkpoints.every",)
    mirrored: ClassVar[bool] = True  # to TensorBoard

    algorithm: str = setting(..., "which trainer", changes="start")
    seed: int = setting(0, "the one seed that all randomness derives from", low=0, changes="fork")
    evaluation: EvaluationConfig = setting(EvaluationConfig(), "evaluation")
    checkpoints: CheckpointConfig = setting(CheckpointConfig(), "checkpoints")
    stopping: StoppingConfig = setting(StoppingConfig(), "ending early")
    compute: ComputeConfig = setting(ComputeConfig(), "compute")
    limits: Limits = setting(
        "relative",
        "what findings are held against: the run's own past, or also the documents' numbers",
        changes="fork",
    )

    @property
    def budget(self) -> int:
        """How long to train, in the run's own unit."""
        total: int = self.value_of(self.unit.setting)
        return total

    @property
    def task(self) -> str:
        """What is learned: the environment's id, or the data's name."""
        return str(self.value_of("environment.id") or "unknown")

    @property
    def plays_atari(self) -> bool:
        """Whether it learns one of ALE's games, whose images come divided by 255."""
        return self.task.startswith(ATARI)

    @property
    def recorded_by(self) -> str:
        """The program that recorded the run, if it was another."""
        return ""

    @property
    def samples_per_update(self) -> int:
        """How many samples an update takes; 0 if that is not known."""
        return int(self.value_of("batch_size") or 0)

    @property
    def samples_per_gradient(self) -> int:
        """How many samples one gradient is the mean of; 0 if that is not known."""
        return int(self.value_of("batch_size") or 0)

    def is_a(self, *traits: Trait) -> bool:
        """Whether the algorithm has all these traits."""
        return self.traits is not None and self.traits.issuperset(traits)

    def has(self, *names: str) -> bool:
        """Whether there are settings of all these dotted names."""
        return all(_declared(type(self), name) for name in names)

    def doubt(self, signal: str) -> tuple[float, str] | None:  # noqa: ARG002 - ours are sound
        """How far a signal of this run can be trusted (0 to 1) and why not further."""
        return None

    def shown(self) -> dict[str, Any]:
        """What a report shows of it."""
        return self.plain()

    def batch_of(self, size: int) -> dict[str, Any] | None:
        """The settings that make batches of this size; None if it is not one setting's matter."""
        if not self.has("batch_size"):
            return None
        changes = {"batch_size": size}
        starts = self.value_of("learning_starts")
        if starts is not None and starts < size:
            changes["learning_starts"] = size  # no sooner than a batch is there
        return changes

    def value_of(self, name: str, default: Any = None) -> Any:
        """A setting by its dotted name, or the default if there is none such or it is null."""
        value: Any = self
        for part in name.split("."):
            value = value.get(part) if isinstance(value, dict) else getattr(value, part, None)
        return default if value is None else value

    def changed(self, name: str, value: Any) -> Self:
        """A copy in which `value_of(name)` is another."""
        return self.replaced({name: value})


class ActingConfig(RunConfig):
    """What every algorithm has that acts in an environment."""

    total_env_steps: int = setting(100_000, "environment steps to train for", low=1)
    environment: EnvironmentConfig = setting(..., "the environment", changes="start")


def _declared(model: type[Settings], name: str) -> bool:
    head, _, rest = name.partition(".")
    if head not in model.model_fields:
        return False
    group = group_of(model, head)
    return not rest or group is None or _declared(group, rest)


# YAML has lists only; strict mode would refuse them for a tuple.
LayerSizes = Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(strict=False, min_length=1)]
