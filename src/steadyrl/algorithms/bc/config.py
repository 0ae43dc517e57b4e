"""Settings of behaviour cloning."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import model_validator

from steadyrl.core.config import setting
from steadyrl.core.demonstrations_config import DemonstrationsConfig
from steadyrl.core.run_config import (
    NO_ENVIRONMENT,
    EnvironmentConfig,
    EvaluationConfig,
    LayerSizes,
)
from steadyrl.core.schedules import ScheduledRate
from steadyrl.core.traits import GRADIENT_STEPS, RETURN, Score, Trait, Unit

# Minus the squared error: how well a clone fits what it was shown, on what was kept back.
KEPT_BACK = Score("squared error", "bc.validation_mse", higher_is_better=False, last=5)
SHOWN = Score("squared error", "bc.full_mse", higher_is_better=False, last=5)


class BCConfig(ScheduledRate):
    """Behaviour cloning with a Gaussian policy. Its steps are gradient steps."""

    traits: ClassVar[frozenset[Trait] | None] = frozenset({"cloning"})
    unit: ClassVar[Unit] = GRADIENT_STEPS
    scores: ClassVar[tuple[Score, ...]] = (RETURN, KEPT_BACK, SHOWN)
    remedies_tried: ClassVar[int] = 9  # cloning is cheap: all that may help is tried and compared

    algorithm: Literal["bc"] = setting("bc", "which trainer", changes="start")
    # It also says which of the data are kept back.
    seed: int = setting(0, "the one seed that all randomness derives from", low=0, changes="start")
    total_gradient_steps: int = setting(20_000, "gradient steps to train for", low=1)
    log_every: int = setting(100, "gradient steps between two Steps", low=1)
    environment: EnvironmentConfig = setting(
        EnvironmentConfig(id=NO_ENVIRONMENT),
        "where the clone is tried, if there is one",
        changes="start",
    )
    evaluation: EvaluationConfig = setting(
        EvaluationConfig(episodes=0), "episodes in the environment, if there is one"
    )
    demonstrations: DemonstrationsConfig = setting(
        DemonstrationsConfig(), "the data", changes="start"
    )

    # Policy
    network: str | None = setting(
        None, "networks of your own, as module:function (docs/networks.md)", changes="start"
    )
    hidden_sizes: LayerSizes = setting((256, 256), "units of the hidden layers", changes="start")
    activation: Literal["relu", "tanh"] = setting("relu", "between the layers", changes="start")
    std: Literal["state", "global", "fixed"] = setting(
        "state",
        "standard deviation: of every state, one for all, or never learned",
        changes="start",
    )
    std_floor: float = setting(1e-5, "the standard deviation never falls below this", above=0.0)
    std_start: float = setting(
        1.0, "where a global or fixed one begins", above=0.0, changes="start"
    )
    squash: bool = setting(False, "actions pass through tanh", changes="start")
    dropout: float = setting(
        0.0, "share of hidden units silenced while learning", low=0, below=1, changes="start"
    )
    layer_norm: bool = setting(False, "normalise hidden layers", changes="start")
    normalize_observations: bool = setting(
        True, "learn on observations of mean 0, variance 1", changes="start"
    )

    # Objective
    objective: Literal["nll", "mse", "beta_nll"] = setting(
        "nll", "what is minimised", changes="fork"
    )
    beta: float = setting(0.5, "of beta_nll: 0 is nll, 1 weighs like mse", low=0.0, high=1.0)

    # Learning
    batch_size: int = setting(256, "transitions per gradient step", low=1)
    sampling: Literal["replacement", "epoch", "difficulty"] = setting(
        "replacement",
        "draw anew each time, go through all in turn, or draw hard ones more often",
        changes="fork",
    )
    difficulty_power: float = setting(0.5, "of difficulty: 0 draws uniformly", low=0.0)
    learning_rate: float = setting(3e-4, "Adam's step size", low=0.0)
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
        if self.evaluation.episodes and not self.environment.exists:
            raise ValueError(
                f"evaluation.episodes = {self.evaluation.episodes} needs an environment.id to try "
                "the clone in. Add it, or set evaluation.episodes to 0."
            )
        return self

    def learning_rate_at(self, step: int) -> float:
        """The step size of one gradient step."""
        return self.learning_rate * self.pace_at(step, step / self.total_gradient_steps)
