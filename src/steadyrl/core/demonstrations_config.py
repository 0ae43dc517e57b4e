"""Settings of recorded demonstrations."""

from __future__ import annotations

from steadyrl.core.config import Settings, setting


class DemonstrationsConfig(Settings):
    """Where the recorded transitions come from, and which of them are used."""

    path: str | None = setting(
        None, "file or Minari dataset to read; null: the scripted expert plays", changes="start"
    )
    trajectories: int | None = setting(
        None, "use only the first so many; null: all", low=1, changes="start"
    )
    observation_key: str | None = setting(
        None, "which entry of dictionary observations; null: all vectors, joined", changes="start"
    )
    drop_zero_actions: bool = setting(
        False, "leave out transitions in which nothing is done", changes="start"
    )
    validation_share: float = setting(
        0.0, "share of the trajectories kept for validation", low=0.0, below=1.0, changes="start"
    )
    expert_length: int = setting(
        418, "transitions per trajectory of the scripted expert", low=10, changes="start"
    )
    expert_seed: int = setting(
        0, "which trajectories the scripted expert plays", low=0, changes="start"
    )
