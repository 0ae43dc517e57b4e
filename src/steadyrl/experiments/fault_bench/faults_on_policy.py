"""PPO's and TRPO's patients, healthy variants and faults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steadyrl.experiments.fault_bench.suite import Fault, Suite, distorted, values

COMMON: Mapping[str, Any] = {
    "checkpoints": {"every": 10_000, "keep": 1},
    "hidden_sizes": [64, 64],
}
CARTPOLE: Mapping[str, Any] = {
    **COMMON,
    "total_env_steps": 30_720,
    "environment": {"id": "CartPole-v1", "count": 8},
    "rollout_length": 128,
    "gamma": 0.98,
    "gae_decay": 0.9,
    "evaluation": {"every": 2048, "episodes": 5},
}
POINT_MASS: Mapping[str, Any] = {
    **COMMON,
    "total_env_steps": 30_720,
    "environment": {"id": "bench/PointMass-v0", "count": 8},
    "rollout_length": 128,
    "gamma": 0.95,
    "gae_decay": 0.95,
    "evaluation": {"every": 2048, "episodes": 5},
}
PENDULUM: Mapping[str, Any] = {
    **COMMON,
    "total_env_steps": 49_152,
    "environment": {"id": "Pendulum-v1", "count": 4},
    "rollout_length": 512,
    "gamma": 0.9,
    "gae_decay": 0.95,
    "normalize_rewards": True,
    "evaluation": {"every": 4096, "episodes": 5},
}
PPO: Mapping[str, Any] = {
    "algorithm": "ppo",
    "minibatch_size": 256,
    "epochs": 10,
    "learning_rate": 1e-3,
}
TRPO: Mapping[str, Any] = {
    "algorithm": "trpo",
    "max_kl": 0.02,
    "critic_epochs": 10,
    "critic_minibatch_size": 256,
}

REPLAYED: Mapping[str, Any] = {
    **CARTPOLE,
    **PPO,
    "rollout_length": 96,
    "minibatch_size": 128,
    "epochs": 1,
    "replay": {"enabled": True, "priority": "advantage", "minimum": 48},
}

PATIENTS: Mapping[str, Mapping[str, Any]] = {
    "ppo-cartpole": {**CARTPOLE, **PPO},
    "ppo-point-mass": {**POINT_MASS, **PPO},
    "ppo-pendulum": {**PENDULUM, **PPO},
    "ppo-replay": REPLAYED,
    "trpo-cartpole": {**CARTPOLE, **TRPO},
    "trpo-point-mass": {**POINT_MASS, **TRPO},
    "trpo-pendulum": {**PENDULUM, **TRPO, "normalize_observations": True},
}
OF_PPO = ("ppo-cartpole", "ppo-point-mass", "ppo-pendulum")
REPLAYING = ("ppo-replay",)
OF_TRPO = ("trpo-cartpole", "trpo-point-mass", "trpo-pendulum")
BALANCING = ("ppo-cartpole", "trpo-cartpole")
CUT_OFF = ("ppo-point-mass", "ppo-pendulum", "trpo-point-mass", "trpo-pendulum")
SEEING = ("ppo-cartpole", "ppo-point-mass", "trpo-cartpole", "trpo-point-mass")

FAULTS: tuple[Fault, ...] = (
    Fault(
        name="learning-rate-high",
        family="optimisation",
        causes=("C241",),
        settings=values("learning_rate", 0.02, 0.05, 0.2),
        patients=OF_PPO,
    ),
    Fault(
        name="learning-rate-low",
        family="optimisation",
        causes=("C242",),
        settings=values("learning_rate", 1e-5, 1e-6, 1e-7),
        patients=OF_PPO,
    ),
    Fault(
        name="discount-low",
        family="optimisation",
        causes=("C221",),
        settings=values("gamma", 0.5, 0.2, 0.0),
        patients=(*OF_PPO, *OF_TRPO),
    ),
    Fault(
        name="entropy-high",
        family="exploration",
        causes=("C246",),
        settings=values("entropy_weight", 0.3, 1.0, 5.0),
        patients=(*OF_PPO, *OF_TRPO),
    ),
    Fault(
        name="observation-scale",
        family="scale",
        causes=("C213",),
        settings=(distorted(stretch=300.0), distorted(stretch=3e3), distorted(stretch=3e4)),
        patients=SEEING,
    ),
    Fault(
        name="advantage-sign-flipped",
        family="code-policy",
        causes=("C248", "C252"),
        substitution="advantage-sign-flipped",
        strengths=(1.0, 1.0, 1.0),
        patients=(*OF_PPO, *OF_TRPO),
    ),
    Fault(
        name="policy-optimiser-detached",
        family="code-policy",
        causes=("C212",),
        substitution="policy-optimiser-detached",
        patients=OF_PPO,
    ),
    Fault(
        name="trust-region-large",
        family="region",
        causes=("C251",),
        settings=values("max_kl", 0.5, 2.0, 10.0),
        patients=OF_TRPO,
    ),
    Fault(
        name="trust-region-tiny",
        family="region",
        causes=("C254",),
        settings=values("max_kl", 1e-5, 1e-6, 1e-7),
        patients=OF_TRPO,
    ),
    Fault(
        name="replay-stale",
        family="replay",
        causes=("C291",),
        settings=(
            {"replay.staleness": 1_000, "replay.capacity": 2_000, "learning_rate": 3e-3},
            {"replay.staleness": 1_000, "replay.capacity": 5_000, "learning_rate": 1e-2},
            {"replay.staleness": 1_000, "replay.capacity": 10_000, "learning_rate": 2e-2},
        ),
        patients=REPLAYING,
    ),
    Fault(
        name="replay-overused",
        family="replay",
        causes=("C292", "C291"),
        settings=(
            {"replay.reuse": 50, "replay.draw": 200, "replay.capacity": 300},
            {"replay.reuse": 50, "replay.draw": 400, "replay.capacity": 300},
            {"replay.reuse": 50, "replay.draw": 400, "replay.capacity": 100},
        ),
        patients=REPLAYING,
    ),
    Fault(
        name="replay-uncorrected",
        family="replay",
        causes=("C293",),
        settings=(
            {"replay.beta": 0.0, "replay.beta_growth": 0.0},
            {"replay.beta": 0.0, "replay.beta_growth": 0.0, "replay.alpha": 0.8},
            {"replay.beta": 0.0, "replay.beta_growth": 0.0, "replay.alpha": 1.0},
        ),
        patients=REPLAYING,
    ),
    # Held-out families
    Fault(
        name="replay-without-ratio",
        family="code-replay",
        causes=("C294",),
        substitution="replay-without-ratio",
        patients=REPLAYING,
    ),
    Fault(
        name="replay-priorities-stay",
        family="code-replay",
        causes=("C294",),
        substitution="replay-priorities-stay",
        patients=REPLAYING,
    ),
    Fault(
        name="replay-births-lost",
        family="code-replay",
        causes=("C294",),
        substitution="replay-births-lost",
        patients=REPLAYING,
    ),
    Fault(
        name="clip-range-large",
        family="clipping",
        causes=("C244",),
        settings=(
            {"clip_range": 2.0, "epochs": 20, "learning_rate": 3e-3},
            {"clip_range": 5.0, "epochs": 20, "learning_rate": 3e-3},
            {"clip_range": 20.0, "epochs": 30, "learning_rate": 3e-3},
        ),
        patients=OF_PPO,
    ),
    Fault(
        name="clip-range-tiny",
        family="clipping",
        causes=("C245",),
        settings=values("clip_range", 0.003, 0.001, 0.0003),
        patients=OF_PPO,
    ),
    Fault(
        name="epochs-many",
        family="clipping",
        causes=("C243",),
        settings=values("epochs", 40, 80, 160),
        patients=("ppo-cartpole", "ppo-pendulum"),
    ),
    Fault(
        name="rewards-large",
        family="reward",
        causes=("C255",),
        settings=(
            distorted(reward_stretch=1e3),
            distorted(reward_stretch=1e5),
            distorted(reward_stretch=1e7),
        ),
        patients=("ppo-cartpole",),
        by_length=True,
    ),
    Fault(
        name="damping-large",
        family="curvature",
        causes=("C250",),
        settings=values("damping", 10.0, 100.0, 1000.0),
        patients=OF_TRPO,
    ),
    Fault(
        name="critic-starved",
        family="critic",
        causes=("C249",),
        settings=values("critic_learning_rate", 1e-5, 1e-6, 0.0),
        patients=OF_TRPO,
    ),
    Fault(
        name="probabilities-mismatch",
        family="code-data",
        causes=("C247",),
        substitution="probabilities-mismatch",
        patients=(*OF_PPO, *OF_TRPO),
    ),
    Fault(
        name="terminal-mask-missing",
        family="code-data",
        causes=("C206",),
        substitution="on-policy-terminal-mask-missing",
        patients=BALANCING,
    ),
    Fault(
        name="truncation-as-termination",
        family="code-data",
        causes=("C207",),
        substitution="on-policy-truncation-as-termination",
        patients=CUT_OFF,
    ),
    Fault(
        name="objectives-differ",
        family="code-data",
        causes=("C252", "C246"),
        substitution="objectives-differ",
        settings=values("entropy_weight", 0.5, 1.0, 3.0),
        patients=OF_TRPO,
    ),
    Fault(
        name="observation-frozen",
        family="code-data",
        causes=("C214",),
        settings=(distorted(frozen=True),) * 3,
        patients=SEEING,
        curable=False,
    ),
)

# Variations that are not faults. The last ones are hard: they look like trouble and are not.
HEALTHY: Mapping[str, Mapping[str, Any]] = {
    "plain": {},
    "entropy-bonus": {"entropy_weight": 0.005},
    "longer-rollouts": {"rollout_length": 256},
    "normalised": {"normalize_observations": True},
    "wide": {"hidden_sizes": [128, 128]},
    "relu": {"activation": "relu"},
}
REPLAYS: Mapping[str, Mapping[str, Any]] = {
    "uniform": {"replay.priority": "uniform"},
    "by-td-error": {"replay.priority": "td_error"},
    "efficient": {"replay.draw": 64, "replay.reuse": 8, "replay.capacity": 2_000},
    "conservative": {"replay.draw": 16, "replay.reuse": 2, "replay.staleness": 50},
    "adaptive": {"replay.adaptive_reuse": True},
}
SPECIAL: tuple[tuple[str, str, Mapping[str, Any]], ...] = (
    *((p, "target-kl", {"target_kl": 0.03}) for p in OF_PPO),
    *((p, "gentle", {"learning_rate": 3e-4}) for p in OF_PPO),
    *((p, "linear", {"learning_rate_schedule": "linear"}) for p in OF_PPO),
    *((p, "few-epochs", {"epochs": 4}) for p in OF_PPO),
    *((p, "kl-0.01", {"max_kl": 0.01}) for p in OF_TRPO),
    *((p, "subsampled", {"fisher_share": 0.25}) for p in OF_TRPO),
    *((p, "stabiliser", {"stabiliser": True}) for p in OF_TRPO),
    *((p, "damping-0.01", {"damping": 0.01}) for p in OF_TRPO),
    *(("ppo-replay", f"replay-{name}", changes) for name, changes in REPLAYS.items()),
    ("ppo-cartpole", "converged", {"total_env_steps": 61_440}),
    ("trpo-cartpole", "converged", {"total_env_steps": 61_440}),
    # Tasks that nobody learns in the budget.
    ("ppo-point-mass", "sparse", {"environment.settings": {"sparse": True}}),
    ("trpo-point-mass", "sparse", {"environment.settings": {"sparse": True}}),
)

SUITE = Suite(
    name="on-policy",
    patients=PATIENTS,
    healthy=HEALTHY,
    faults=FAULTS,
    development_patients=("ppo-cartpole", "ppo-point-mass", "trpo-cartpole", "trpo-point-mass"),
    development_families=(
        "optimisation",
        "exploration",
        "scale",
        "code-policy",
        "region",
        "replay",
    ),
    first_healthy_seed=4000,
    first_faulty_seed=1000,
    special=SPECIAL,
)
