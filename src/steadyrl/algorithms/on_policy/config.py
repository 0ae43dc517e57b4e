"""Settings of PPO, and those it shares with TRPO."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import model_validator

from steadyrl.algorithms.common.replay_config import ReplayConfig
from steadyrl.core.config import setting
from steadyrl.core.run_config import ActingConfig, LayerSizes
from steadyrl.core.schedules import ScheduledRate
from steadyrl.core.traits import Trait


class OnPolicyConfig(ActingConfig):
    """What every trainer has that learns from rollouts of its own policy."""

    # Data
    rollout_length: int = setting(2048, "steps of each environment per update", low=1)
    gamma: float = setting(0.99, "discount factor", low=0.0, high=1.0, changes="fork")
    gae_decay: float = setting(0.95, "lambda of the advantage estimator", low=0.0, high=1.0)
    normalize_observations: bool = setting(
        False, "learn on observations of mean 0, variance 1", changes="start"
    )
    reward_clip: float | None = setting(
        None,
        "learn on rewards clipped to this size; scores stay as they are",
        above=0.0,
        changes="fork",
    )
    normalize_rewards: bool = setting(
        False,
        "divide rewards by the running deviation of the discounted return",
        changes="fork",
    )
    normalize_advantages: bool = setting(True, "advantages of mean 0, variance 1 in every batch")

    # Networks
    network: str | None = setting(
        None, "networks of your own, as module:function (docs/networks.md)", changes="start"
    )
    hidden_sizes: LayerSizes = setting(
        (64, 64),
        "units of the hidden layers (images: convolutions)",
        changes="start",
    )
    convolutions: Literal["nature", "light"] = setting(
        "nature",
        "layers for images: as in Nature (2015), or light (2013): a third of the work",
        changes="start",
    )
    activation: Literal["tanh", "relu"] = setting(
        "tanh", "between the layers (images: relu)", changes="start"
    )
    log_std_start: float = setting(
        0.0, "log standard deviation of continuous actions at first", changes="start"
    )

    # Entropy bonus
    entropy_weight: float = setting(0.0, "weight of the entropy bonus at first", low=0.0)
    entropy_decay: float = setting(1.0, "the weight is multiplied by this per update", above=0.0)
    entropy_floor: float = setting(0.0, "the weight never falls below this", low=0.0)

    @property
    def samples_per_update(self) -> int:
        """What all copies of the environment contribute."""
        return self.rollout_length * self.environment.count

    @property
    def replays(self) -> bool:
        """Whether old experience is trained on too."""
        return False

    @property
    def shares_layers(self) -> bool:
        """Whether policy and value are one network with two ends."""
        return False

    def entropy_weight_at(self, updates: int) -> float:
        """The weight after so many updates."""
        decayed = self.entropy_weight * self.entropy_decay**updates
        return max(decayed, min(self.entropy_floor, self.entropy_weight))


class RolloutReplayConfig(ReplayConfig):
    """Replay of stretches of rollouts."""

    segment_length: int = setting(
        32, "environment steps of an item; shorter where an episode is cut", low=1, changes="fork"
    )


class PPOConfig(ScheduledRate, OnPolicyConfig):
    """Proximal policy optimisation (Schulman et al., 2017)."""

    traits: ClassVar[frozenset[Trait] | None] = frozenset({"acts", "on_policy", "clipped"})

    algorithm: Literal["ppo"] = setting("ppo", "which trainer", changes="start")
    learning_rate: float = setting(3e-4, "Adam's step size", low=0.0)
    minibatch_size: int = setting(64, "samples per gradient step", low=1)
    micro_batch_size: int | None = setting(
        None, "gradients are accumulated over parts of this size; null: all at once", low=1
    )
    epochs: int = setting(10, "passes over every rollout", low=1)
    clip_range: float = setting(0.2, "how far a probability ratio counts", above=0.0)
    value_clip: float | None = setting(
        None, "how far a value may move per update; null means freely", above=0.0
    )
    value_weight: float = setting(0.5, "weight of the value loss", low=0.0)
    gradient_clip: float | None = setting(
        0.5, "largest norm of the whole gradient; null means no clipping", above=0.0
    )
    target_kl: float | None = setting(
        None, "stop the update when an epoch's KL passes this; null means never", above=0.0
    )

    shared_layers: bool = setting(
        False,
        "policy and value share all layers but their last: half the work, usual for images",
        changes="start",
    )

    replay: RolloutReplayConfig = setting(RolloutReplayConfig(), "old experience among the fresh")

    @property
    def replays(self) -> bool:
        """As the config says."""
        return self.replay.enabled

    @property
    def shares_layers(self) -> bool:
        """As the config says."""
        return self.shared_layers

    @model_validator(mode="after")
    def _advantages_can_be_normalised(self) -> Self:
        last = self.samples_per_update % self.minibatch_size
        last = last or min(self.minibatch_size, self.samples_per_update)
        if self.normalize_advantages and last < 2:
            raise ValueError(
                f"minibatch_size = {self.minibatch_size} leaves a minibatch of one of "
                f"{self.samples_per_update} samples, whose advantage cannot be normalised. Use a "
                "size that divides them, or normalize_advantages = false."
            )
        return self

    @property
    def samples_per_gradient(self) -> int:
        """One minibatch."""
        return min(self.minibatch_size, self.samples_per_update)

    def learning_rate_at(self, update: int, progress: float) -> float:
        """The step size of an update, when this share of the budget is used."""
        return self.learning_rate * self.pace_at(update, progress)
