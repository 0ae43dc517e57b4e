"""Settings of experience replay, the same for PPO on environments and on language models."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import model_validator

from steadyrl.core.config import Settings, setting


class ReplayConfig(Settings):
    """Old experience among the fresh; an item is a stretch of a rollout, or a prompt's answers."""

    enabled: bool = setting(False, "train on old experience too", changes="fork")
    capacity: int = setting(
        1_000, "items kept; the oldest leave first", low=1, high=10_000_000, changes="fork"
    )
    capacity_first: int | None = setting(
        None, "items kept at first, until capacity_from; null: capacity at once", low=1
    )
    capacity_from: float = setting(
        0.1, "share of the budget from which on capacity holds", low=0.0, high=1.0
    )
    minimum: int = setting(100, "items there must be before any is drawn", low=1)
    draw: int = setting(32, "items drawn per update", low=1)
    share: float | None = setting(
        None, "of an update that is old, instead of draw: 0.5 is as much as fresh", above=0, below=1
    )
    staleness: int = setting(100, "updates after which an item is not drawn any more", low=1)
    reuse: int = setting(4, "how often an item is drawn at most", low=1)
    adaptive_reuse: bool = setting(
        False, "reuse follows the policy's pace: reuse_slow below reuse_kl, else reuse_fast"
    )
    reuse_kl: float = setting(0.01, "of adaptive_reuse: KL of an update, in nats", above=0.0)
    reuse_slow: int = setting(6, "of adaptive_reuse: while the policy hardly moves", low=1)
    reuse_fast: int = setting(2, "of adaptive_reuse: while it moves", low=1)
    priority: Literal["uniform", "advantage", "td_error"] = setting(
        "uniform", "what is drawn more often: nothing, large |advantage|, or large |TD error|"
    )
    alpha: float = setting(0.6, "of priority: 0 draws evenly, 1 in proportion", low=0.0, high=1.0)
    beta: float = setting(
        0.4, "of priority: how far uneven draws are corrected", low=0.0, high=1.0, changes="start"
    )
    beta_growth: float = setting(0.001, "of priority: beta's growth per draw, up to 1", low=0.0)
    ratio_bound: float = setting(
        2.0, "largest weight of an old item for what the policy would do now", above=0.0
    )

    @model_validator(mode="after")
    def _can_begin(self) -> Self:
        room = min(self.capacity, self.capacity_first or self.capacity)
        if self.minimum > room:
            raise ValueError(
                f"minimum = {self.minimum} is more than the {room} items that are kept: nothing "
                "would ever be drawn. Use a smaller minimum or a larger capacity."
            )
        return self

    @property
    def exponent(self) -> float:
        """How far priorities count: not at all if draws are to be even."""
        return 0.0 if self.priority == "uniform" else self.alpha

    def capacity_at(self, progress: float) -> int:
        """Items kept when this share of the budget is used."""
        early = self.capacity_first is not None and progress < self.capacity_from
        return self.capacity_first if early and self.capacity_first else self.capacity

    def wanted(self, fresh: int) -> int:
        """Items to draw beside so many fresh ones."""
        if self.share is None:
            return self.draw
        return max(1, round(fresh * self.share / (1.0 - self.share)))
