"""DDPG's patients, healthy variants and faults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steadyrl.experiments.fault_bench.suite import Fault, Suite, distorted, values

COMMON: Mapping[str, Any] = {
    "algorithm": "ddpg",
    "log_every": 100,
    "batch_size": 64,
    "hidden_sizes": [64, 64],
    "buffer_size": 20_000,
    "learning_starts": 500,
    "learning_rate": 1e-3,
    "noise_std": 0.1,
    "checkpoints": {"every": 1000, "keep": 1},
}

RESIDUAL = {
    "episode_length": 300,
    "termination_penalty": 75.0,
    "cost_scale": 2000.0,
    "alive_cost": 0.05,
    "delta_scale_max": 3.0,
}

PATIENTS: Mapping[str, Mapping[str, Any]] = {
    "pendulum": {
        **COMMON,
        "total_env_steps": 6000,
        "environment": {"id": "Pendulum-v1"},
        "evaluation": {"every": 300, "episodes": 5},
    },
    "point-mass": {
        **COMMON,
        "total_env_steps": 4000,
        "environment": {"id": "bench/PointMass-v0"},
        "evaluation": {"every": 200, "episodes": 5},
    },
    "residual": {
        **COMMON,
        "total_env_steps": 5000,
        "reward_scale": 0.001,
        "environment": {"id": "steadyrl/ResidualControl-v0", "settings": RESIDUAL},
        "evaluation": {"every": 250, "episodes": 5},
    },
}


EVERYWHERE = ("pendulum", "point-mass", "residual")
FREE_TERMINATION = {"environment.settings.termination_penalty": 0.0}

FAULTS: tuple[Fault, ...] = (
    Fault(
        name="learning-rate-high",
        family="optimisation",
        causes=("C201",),
        settings=values("learning_rate", 0.01, 0.03, 0.1),
        patients=EVERYWHERE,
    ),
    Fault(
        name="learning-rate-low",
        family="optimisation",
        causes=("C202",),
        settings=values("learning_rate", 1e-5, 1e-6, 1e-7),
        patients=EVERYWHERE,
    ),
    Fault(
        name="discount-low",
        family="optimisation",
        causes=("C221",),
        settings=values("gamma", 0.6, 0.3, 0.0),
        patients=EVERYWHERE,
    ),
    Fault(
        name="exploration-absent",
        family="exploration",
        causes=("C209",),
        settings=values("noise_std", 0.005, 0.001, 0.0),
        patients=EVERYWHERE,
    ),
    Fault(
        name="exploration-drowns",
        family="exploration",
        causes=("C210",),
        settings=values("noise_std", 1.0, 2.0, 5.0),
        patients=EVERYWHERE,
    ),
    Fault(
        name="reward-scale-large",
        family="scale",
        causes=("C203",),
        settings=values("reward_scale", 100.0, 1000.0, 10_000.0),
        patients=EVERYWHERE,
    ),
    Fault(
        name="observation-scale",
        family="scale",
        causes=("C213",),
        settings=(distorted(stretch=300.0), distorted(stretch=3e3), distorted(stretch=3e4)),
        patients=("pendulum", "point-mass"),
    ),
    Fault(
        name="actor-sign-flipped",
        family="code-policy",
        causes=("C211",),
        substitution="actor-sign-flipped",
        patients=EVERYWHERE,
    ),
    Fault(
        name="optimiser-detached",
        family="code-policy",
        causes=("C212",),
        substitution="optimiser-detached",
        patients=EVERYWHERE,
    ),
    # Held-out families
    Fault(
        name="tau-high",
        family="target",
        causes=("C205",),
        settings=values("tau", 0.3, 0.6, 1.0),
        patients=EVERYWHERE,
    ),
    Fault(
        name="tau-low",
        family="target",
        causes=("C204",),
        settings=values("tau", 1e-5, 1e-6, 0.0),
        patients=EVERYWHERE,
    ),
    Fault(
        name="target-not-updated",
        family="target",
        causes=("C204",),
        substitution="target-not-updated",
        strengths=(0.999, 0.9999, 1.0),
        patients=EVERYWHERE,
    ),
    Fault(
        name="buffer-small",
        family="data",
        causes=("C216",),
        settings=values("buffer_size", 512, 128, 64),
        patients=EVERYWHERE,
    ),
    Fault(
        name="terminal-mask-missing",
        family="code-data",
        causes=("C206",),
        substitution="terminal-mask-missing",
        patients=("point-mass", "residual"),
    ),
    Fault(
        name="truncation-as-termination",
        family="code-data",
        causes=("C207",),
        substitution="truncation-as-termination",
        patients=EVERYWHERE,
    ),
    Fault(
        name="successors-misaligned",
        family="code-data",
        causes=("C215",),
        substitution="successors-misaligned",
        patients=EVERYWHERE,
    ),
    Fault(
        name="observation-frozen",
        family="code-data",
        causes=("C214",),
        settings=(distorted(frozen=True),) * 3,
        patients=("pendulum", "point-mass"),
        curable=False,
    ),
    Fault(
        name="early-termination-pays",
        family="task",
        causes=("C208",),
        settings=(
            {**FREE_TERMINATION, "environment.settings.alive_cost": 0.3},
            {**FREE_TERMINATION, "environment.settings.alive_cost": 0.6},
            {**FREE_TERMINATION, "environment.settings.alive_cost": 2.0},
        ),
        patients=("residual",),
        by_length=True,
    ),
)


# Variations that are not faults. The last ones are hard: they look like trouble and are not.
HEALTHY: Mapping[str, Mapping[str, Any]] = {
    "plain": {},
    "td3": {"twin_critics": True, "policy_delay": 2, "target_noise_std": 0.2},
    "prioritised": {"replay": "prioritised"},
    "batch-256": {"batch_size": 256},
    "gentle": {"learning_rate": 3e-4},
    "four-copies": {"environment.count": 4},
    "clipped": {"gradient_clip": 10.0},
    "tau-0.01": {"tau": 0.01, "noise_std": 0.2},
    "slow-learner": {"learning_rate": 1e-4},
    "converged": {"total_env_steps": 10_000},
}

# Rules were written looking at seeds 0 to 2 and 2000 to 2001 (healthy), 100 to 102 (faulty). The
# published figures come from seeds nobody had seen when the rules were frozen.
SUITE = Suite(
    name="ddpg",
    patients=PATIENTS,
    healthy=HEALTHY,
    faults=FAULTS,
    development_patients=("pendulum", "point-mass"),
    development_families=("optimisation", "exploration", "scale", "code-policy"),
    first_healthy_seed=4000,
    first_faulty_seed=1000,
    # A task that nobody learns in the budget.
    special=(("point-mass", "sparse", {"environment.settings": {"sparse": True}}),),
)
