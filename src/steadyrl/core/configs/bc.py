"""Settings of behaviour cloning."""

from __future__ import annotations

import math
from typing import Literal, Self

from pydantic import model_validator

from steadyrl.core.config import Settings, setting
from steadyrl.core.configs.run import (
    EnvironmentConfig,
    EvaluationConfig,
    LayerSizes,
    RunConfig,
)

NO_ENVIRONMENT = "none"


class DemonstrationsConfig(Settings):
    """Where the recorded transitions come from, and which of them are used."""

    path: str | None = setting(
        None, "file or Minari dataset to read; null: the scripted expert plays"
    )
    trajectories: int | None = setting(None, "use only the first so many; null: all", low=1)
    observation_key: str | None = setting(
        None, "which entry of dictionary observations; null: all vectors, joined"
    )
    drop_zero_actions: bool = setting(False, "leave out transitions in which nothing is done")
    validation_share: float = setting(
        0.0, "share of the trajectories kept for validation", low=0.0, below=1.0
    )
    expert_length: int = setting(418, "transitions per trajectory of the scripted expert", low=10)
    expert_seed: int = setting(0, "which trajectories the scripted expert plays", low=0)


class BCConfig(RunConfig):
    """Behaviour cloning with a Gaussian policy. Its steps are gradient steps."""

    algorithm: Literal["bc"] = setting("bc", "which trainer")
    total_env_steps: int = setting(20_000, "gradient steps (there is no environment)", low=1)
    log_every: int = setting(100, "gradient steps between two Steps", low=1)
    environment: EnvironmentConfig = setting(
        EnvironmentConfig(id=NO_ENVIRONMENT), "where the clone is tried, if there is one"
    )
    evaluation: EvaluationConfig = setting(
        EvaluationConfig(episodes=0), "episodes in the environment, if there is one"
    )
    demonstrations: DemonstrationsConfig = setting(DemonstrationsConfig(), "the data")

    # Policy
    hidden_sizes: LayerSizes = setting((256, 256), "units of the hidden layers")
    activation: Literal["relu", "tanh"] = setting("relu", "between the layers")
    std: Literal["state", "global", "fixed"] = setting(
        "state", "standard deviation: of every state, one for all, or never learned"
    )
    std_floor: float = setting(1e-5, "the standard deviation never falls below this", above=0.0)
    std_start: float = setting(1.0, "where a global or fixed one begins", above=0.0)
    squash: bool = setting(False, "actions pass through tanh")
    dropout: float = setting(0.0, "share of hidden units silenced while learning", low=0, below=1)
    layer_norm: bool = setting(False, "normalise hidden layers")
    normalize_observations: bool = setting(True, "learn on observations of mean 0, variance 1")

    # Objective
    objective: Literal["nll", "mse", "beta_nll"] = setting("nll", "what is minimised")
    beta: float = setting(0.5, "of beta_nll: 0 is nll, 1 weighs like mse", low=0.0, high=1.0)

    # Learning
    batch_size: int = setting(256, "transitions per gradient step", low=1)
    sampling: Literal["replacement", "epoch", "difficulty"] = setting(
        "replacement", "draw anew each time, go through all in turn, or draw hard ones more often"
    )
    difficulty_power: float = setting(0.5, "of difficulty: 0 draws uniformly", low=0.0)
    learning_rate: float = setting(3e-4, "Adam's step size", low=0.0)
    learning_rate_schedule: Literal["constant", "linear", "cosine"] = setting(
        "constant", "linear and cosine fall to 0 at the end"
    )
    warm_up: int = setting(0, "gradient steps over which the rate rises to its value", low=0)
    second_moment_decay: float = setting(
        0.999, "Adam's beta2; lower follows sudden gradients faster", low=0.0, below=1.0
    )
    gradient_clip: float | None = setting(
        None, "largest gradient norm; null means no clipping", above=0.0
    )

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.objective == "mse" and self.std != "fixed":
            raise ValueError(
                f"objective = mse does not teach a standard deviation, but std = {self.std!r} is "
                "learned. Use std = fixed, or objective = nll."
            )
        if self.evaluation.episodes and self.environment.id == NO_ENVIRONMENT:
            raise ValueError(
                f"evaluation.episodes = {self.evaluation.episodes} needs an environment.id to try "
                "the clone in. Add it, or set evaluation.episodes to 0."
            )
        return self

    def learning_rate_at(self, step: int) -> float:
        """The step size of one gradient step."""
        rate = self.learning_rate
        if self.warm_up and step < self.warm_up:
            return rate * (step + 1) / self.warm_up
        progress = min(1.0, step / self.total_env_steps)
        if self.learning_rate_schedule == "linear":
            return rate * (1.0 - progress)
        if self.learning_rate_schedule == "cosine":
            return rate * 0.5 * (1.0 + math.cos(math.pi * progress))
        return rate
