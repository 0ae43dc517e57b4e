"""Signals of the world itself, as the transitions that pass by show it."""

from __future__ import annotations

from steadyrl.core.catalogue.signal import signal

SIGNALS = (
    signal(
        "environment.action_effect",
        "largest share of what the state leaves unexplained of the next one that an action of this "
        "step or of the eight before explains; 0: actions change nothing",
        "share",
        "environment/action_effect",
        "max",
    ),
    signal(
        "environment.action_lag",
        "steps until an action's effect shows; 0: at once",
        "env steps",
        "environment/action_lag",
        "min",
    ),
    signal(
        "environment.reward_noise",
        "share of the reward's variance that transitions which are nearly alike do not share",
        "share",
        "environment/reward_noise",
    ),
)
