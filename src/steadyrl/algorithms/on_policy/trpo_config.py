"""Settings of TRPO."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import model_validator

from steadyrl.algorithms.on_policy.config import OnPolicyConfig
from steadyrl.core.config import setting
from steadyrl.core.traits import Trait


class TRPOConfig(OnPolicyConfig):
    """Trust-region policy optimisation (Schulman et al., 2015)."""

    traits: ClassVar[frozenset[Trait] | None] = frozenset({"acts", "on_policy", "trust_region"})
    pace: ClassVar[str] = "max_kl"

    algorithm: Literal["trpo"] = setting("trpo", "which trainer", changes="start")

    # Trust region
    max_kl: float = setting(0.01, "how far the policy may move per update, in nats", above=0.0)
    damping: float = setting(0.1, "added to the Fisher matrix's diagonal", low=0.0)
    whole_region: bool = setting(
        False, "damping turns the step without shortening it: the trust region is used whole"
    )
    cg_iterations: int = setting(10, "conjugate-gradient steps", low=1)
    fisher_share: float = setting(
        1.0,
        "share of the samples in Fisher products; KL is always checked on all",
        above=0.0,
        high=1.0,
    )
    backtracks: int = setting(10, "step lengths that are tried", low=1)
    backtrack_ratio: float = setting(0.8, "each is this share of the last", above=0.0, below=1.0)

    # Critic
    critic_learning_rate: float = setting(1e-3, "Adam's step size", low=0.0)
    critic_epochs: int = setting(5, "passes over every rollout", low=0)
    critic_minibatch_size: int = setting(64, "samples per gradient step", low=1)

    # Stabiliser
    stabiliser: bool = setting(False, "shrink the trust region after failed searches in a row")
    stabiliser_failures: int = setting(3, "failures in a row before it acts", low=1)
    stabiliser_kl_ratio: float = setting(0.8, "max_kl is multiplied by this", above=0.0, below=1.0)
    stabiliser_kl_floor: float = setting(0.005, "max_kl never falls below this", above=0.0)
    stabiliser_damping_ratio: float = setting(1.2, "damping is multiplied by this", above=1.0)
    stabiliser_damping_cap: float = setting(0.2, "damping never rises above this", above=0.0)

    @model_validator(mode="after")
    def _advantages_can_be_normalised(self) -> Self:
        if self.normalize_advantages and self.samples_per_update < 2:
            raise ValueError(
                "rollout_length = 1 with one environment gives one sample per update, whose "
                "advantage cannot be normalised. Use a longer rollout, or "
                "normalize_advantages = false."
            )
        return self

    @property
    def samples_per_gradient(self) -> int:
        """The whole rollout."""
        return self.samples_per_update
