"""Behaviour cloning's patients, healthy variants and faults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steadyrl.experiments.fault_bench.suite import Fault, Suite, values

COMMON: Mapping[str, Any] = {
    "algorithm": "bc",
    "total_gradient_steps": 6000,
    "log_every": 100,
    "hidden_sizes": [128, 128],
    "learning_rate": 1e-3,
    "std_floor": 0.05,
    "batch_size": 128,
    "checkpoints": {"every": 2000, "keep": 1},
}
PATIENTS: Mapping[str, Mapping[str, Any]] = {
    "clone-one": COMMON,
    "clone-five": {**COMMON, "demonstrations": {"trajectories": 5, "validation_share": 0.2}},
    "clone-short": {**COMMON, "demonstrations": {"trajectories": 3, "expert_length": 200}},
}
EVERYWHERE = tuple(PATIENTS)

FAULTS: tuple[Fault, ...] = (
    Fault(
        name="learning-rate-high",
        family="optimisation",
        causes=("C262",),
        settings=values("learning_rate", 0.1, 0.3, 1.0),
        patients=EVERYWHERE,
    ),
    Fault(
        name="learning-rate-low",
        family="optimisation",
        causes=("C263",),
        settings=values("learning_rate", 1e-6, 1e-7, 1e-8),
        patients=EVERYWHERE,
    ),
    Fault(
        name="deviations-collapse",
        family="likelihood",
        causes=("C260",),
        settings=(
            {"std_floor": 1e-5, "batch_size": 256},
            {"std_floor": 1e-5, "batch_size": 400, "sampling": "epoch"},
            {"std_floor": 1e-6, "batch_size": 400, "sampling": "epoch", "learning_rate": 2e-3},
        ),
        patients=EVERYWHERE,
        by_jumps=True,
    ),
    # Held-out family
    Fault(
        name="actions-shuffled",
        family="data",
        causes=("C264",),
        substitution="actions-shuffled",
        strengths=(0.8, 0.9, 1.0),
        patients=EVERYWHERE,
    ),
    Fault(
        name="actions-shifted",
        family="data",
        causes=("C264",),
        substitution="actions-shifted",
        strengths=(40.0, 80.0, 150.0),
        patients=EVERYWHERE,
    ),
)

# Variations that are not faults.
HEALTHY: Mapping[str, Mapping[str, Any]] = {
    "plain": {},
    "batch-32": {"batch_size": 32},
    "batch-256": {"batch_size": 256},
    "in-turn": {"sampling": "epoch"},
    "difficulty": {"sampling": "difficulty"},
    "cosine": {"learning_rate_schedule": "cosine"},
    "gentle": {"learning_rate": 3e-4},
    "one-deviation": {"std": "global"},
    "fixed-mse": {"std": "fixed", "std_start": 0.2, "objective": "mse"},
    "beta-nll": {"objective": "beta_nll"},
    "layer-norm": {"layer_norm": True},
    "dropout": {"dropout": 0.1},
    "clipped": {"gradient_clip": 1.0},
    "short-memory": {"second_moment_decay": 0.95},
}

SUITE = Suite(
    name="cloning",
    patients=PATIENTS,
    healthy=HEALTHY,
    faults=FAULTS,
    development_patients=("clone-one", "clone-short"),
    development_families=("optimisation", "likelihood"),
    first_healthy_seed=4000,
    first_faulty_seed=1000,
)
