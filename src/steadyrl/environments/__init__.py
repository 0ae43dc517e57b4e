"""Environments: any Gymnasium id, stepped side by side, our residual-control and assembly tasks."""

import gymnasium

ASSEMBLY = "steadyrl/Assembly-v0"
RESIDUAL_CONTROL = "steadyrl/ResidualControl-v0"

if RESIDUAL_CONTROL not in gymnasium.registry:
    gymnasium.register(
        RESIDUAL_CONTROL,
        entry_point="steadyrl.environments.residual_control:ResidualControlEnv",
        vector_entry_point="steadyrl.environments.residual_control:ResidualControlVectorEnv",
    )

if ASSEMBLY not in gymnasium.registry:
    gymnasium.register(ASSEMBLY, entry_point="steadyrl.environments.assembly:AssemblyEnv")
