"""Environments: any Gymnasium id, stepped side by side, and our residual-control task."""

import gymnasium

RESIDUAL_CONTROL = "steadyrl/ResidualControl-v0"

if RESIDUAL_CONTROL not in gymnasium.registry:
    gymnasium.register(
        RESIDUAL_CONTROL,
        entry_point="steadyrl.environments.residual_control:ResidualControlEnv",
        vector_entry_point="steadyrl.environments.residual_control:ResidualControlVectorEnv",
    )
