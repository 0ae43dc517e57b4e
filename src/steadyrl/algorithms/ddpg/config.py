"""Settings of DDPG and of the three switches that make it TD3."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import model_validator

from steadyrl.core.config import setting
from steadyrl.core.run_config import ActingConfig, LayerSizes
from steadyrl.core.schedules import ScheduledRate
from steadyrl.core.traits import Trait


class DDPGConfig(ScheduledRate, ActingConfig):
    """Deep deterministic policy gradient (Lillicrap et al., 2015)."""

    traits: ClassVar[frozenset[Trait] | None] = frozenset({"acts", "off_policy", "climbs_values"})

    algorithm: Literal["ddpg"] = setting("ddpg", "which trainer", changes="start")
    log_every: int = setting(200, "environment steps between two Steps", low=1)

    # Learning
    learning_rate: float = setting(1e-3, "Adam's step size, critic and actor", low=0.0)
    actor_learning_rate: float | None = setting(
        None, "the actor's own step size; null means the same as learning_rate", low=0.0
    )
    batch_size: int = setting(256, "transitions per update", low=1)
    gamma: float = setting(0.99, "discount factor", low=0.0, below=1.0, changes="fork")
    tau: float = setting(0.005, "share of the online weights mixed into the targets", low=0, high=1)
    gradient_clip: float | None = setting(
        None, "largest gradient norm, per network; null means no clipping", above=0.0
    )
    reward_scale: float = setting(
        1.0, "rewards are multiplied by this before learning", above=0.0, changes="fork"
    )
    normalize_observations: bool = setting(
        False, "learn on observations of mean 0, variance 1", changes="start"
    )
    network: str | None = setting(
        None, "networks of your own, as module:function (docs/networks.md)", changes="start"
    )
    hidden_sizes: LayerSizes = setting(
        (256, 256), "units of the hidden layers, both networks", changes="start"
    )
    compiled: bool = setting(
        True,
        "pass through networks by a kernel that this machine's C compiler makes, if it has one",
        changes="fork",
    )

    # Data
    buffer_size: int = setting(
        1_000_000, "transitions the replay buffer holds", low=1, changes="fork"
    )
    learning_starts: int = setting(256, "environment steps of random actions first", low=0)
    train_every: int = setting(1, "environment steps between trainings", low=1)
    updates_per_training: int = setting(1, "gradient updates per training", low=1)
    noise_std: float = setting(
        0.1, "standard deviation of exploration noise; actions span -1..1", low=0.0
    )

    # Replay
    replay: Literal["uniform", "prioritised"] = setting(
        "uniform", "how batches are drawn", changes="start"
    )
    priority_alpha: float = setting(0.6, "0 draws uniformly, 1 by TD error", low=0.0, high=1.0)
    priority_beta: float = setting(0.4, "strength of the bias correction", low=0.0, high=1.0)
    priority_beta_growth: float = setting(1e-5, "beta's growth per update, up to 1", low=0.0)

    # TD3 (Fujimoto et al., 2018)
    twin_critics: bool = setting(
        False, "two critics; the smaller one makes the target", changes="start"
    )
    policy_delay: int = setting(1, "critic updates per actor and target update", low=1)
    target_noise_std: float = setting(0.0, "noise on the target policy's actions", low=0.0)
    target_noise_clip: float = setting(0.5, "bound of that noise", low=0.0)

    @model_validator(mode="after")
    def _learning_can_start(self) -> Self:
        if self.buffer_size < self.batch_size:
            raise ValueError(
                f"buffer_size = {self.buffer_size} is smaller than batch_size = {self.batch_size}: "
                "no batch could ever be drawn. Raise buffer_size or lower batch_size."
            )
        if self.environment.count > self.log_every:
            raise ValueError(
                f"log_every = {self.log_every} is smaller than environment.count = "
                f"{self.environment.count}: every Step needs at least one environment step each."
            )
        return self

    def paced(self, updates: int, progress: float) -> Self:
        """With the rates that hold until the next Step, after so many updates."""
        pace = self.pace_at(updates, progress)
        if pace == 1.0:
            return self
        actor = self.actor_learning_rate
        rates = {
            "learning_rate": pace * self.learning_rate,
            "actor_learning_rate": None if actor is None else pace * actor,
        }
        return self.model_copy(update=rates)
