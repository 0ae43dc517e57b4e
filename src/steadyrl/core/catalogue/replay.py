"""Signals of the replay buffer."""

from __future__ import annotations

from steadyrl.core.catalogue.signal import signal

SIGNALS = (
    signal(
        "replay.truncated_as_terminated",
        "share of truncated transitions that are stored as terminated; must be 0",
        "share",
        "replay/truncated_as_terminated",
        "max",
    ),
    signal(
        "replay.misaligned_share",
        "share of the last batch whose successor is not what was seen next; must be 0",
        "share",
        "replay/misaligned_share",
        "max",
    ),
    signal("replay.size", "transitions in the buffer", "count", "replay/size", "last"),
    signal(
        "replay.batch_share",
        "batch size over buffer content",
        "ratio",
        "replay/batch_share",
        "last",
    ),
    signal(
        "replay.duplicate_share",
        "share of the last batch that repeats another item of the same batch",
        "share",
        "replay/duplicate_share",
        "last",
    ),
    signal(
        "replay.age_mean",
        "mean age of the sampled transitions, last batch",
        "env steps",
        "replay/age_mean",
        "last",
    ),
    signal(
        "replay.updates_per_env_step",
        "gradient updates per environment step so far",
        "ratio",
        "replay/updates_per_env_step",
        "last",
    ),
)
