"""Settings that may change while training, and counters."""

from __future__ import annotations

from steadyrl.core.catalogue.signal import signal

SIGNALS = (
    signal("setting.learning_rate", "learning rate in force", "1", "train/learning_rate", "last"),
    signal(
        "setting.gradient_clip", "gradient clip in force", "norm", "train/gradient_clip", "last"
    ),
    signal(
        "setting.exploration_rate",
        "share of actions that are taken at random (epsilon)",
        "share",
        "rollout/exploration_rate",
        "last",
    ),
    signal(
        "run.restarted",
        "1 where a log goes on after its program was started again",
        "count",
        "run/restarted",
        "max",
    ),
    signal(
        "train.updates",
        "updates so far: gradient steps, or rollouts learned from (PPO, TRPO)",
        "count",
        "train/n_updates",
        "last",
    ),
)
