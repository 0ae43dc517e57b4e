"""The declared list: patients, healthy controls, faults with three severities each.

Development and test are split by environment and by fault family: limits are to be set looking at
the development cases only (docs/fault-bench.md says how far that has been kept).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from steadyrl.core.configs import parse_config
from steadyrl.core.configs.run import RunConfig

COMMON: Mapping[str, Any] = {
    "algorithm": "ddpg",
    "log_every": 100,
    "batch_size": 64,
    "hidden_sizes": [64, 64],
    "buffer_size": 20_000,
    "learning_starts": 500,
    "learning_rate": 1e-3,
    "noise_std": 0.1,
    "checkpoints": {"every_env_steps": 1000, "keep": 1},
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
        "evaluation": {"every_env_steps": 300, "episodes": 5},
    },
    "point-mass": {
        **COMMON,
        "total_env_steps": 4000,
        "environment": {"id": "bench/PointMass-v0"},
        "evaluation": {"every_env_steps": 200, "episodes": 5},
    },
    "residual": {
        **COMMON,
        "total_env_steps": 5000,
        "reward_scale": 0.001,
        "environment": {"id": "steadyrl/ResidualControl-v0", "settings": RESIDUAL},
        "evaluation": {"every_env_steps": 250, "episodes": 5},
    },
}

# Rules were written looking at seeds 0 to 2 and 2000 to 2001 (healthy), 100 to 102 (faulty). The
# published figures come from seeds nobody had seen when the rules were frozen.
FIRST_HEALTHY_SEED = 4000
FIRST_FAULTY_SEED = 1000

DEVELOPMENT_PATIENTS = ("pendulum", "point-mass")
SEVERITIES = ("low", "medium", "high")


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One way to break a run: settings, or a substituted function, in three severities."""

    name: str
    family: str
    causes: tuple[str, ...]  # equivalent right answers
    settings: tuple[Mapping[str, Any], ...] = ({}, {}, {})
    substitution: str | None = None
    strengths: tuple[float, float, float] = (0.3, 0.6, 1.0)
    patients: tuple[str, ...] = ("pendulum", "point-mass", "residual")
    by_length: bool = False  # judged by episode length: the fault changes the task's returns


def _values(name: str, *values: Any) -> tuple[Mapping[str, Any], ...]:
    return tuple({name: value} for value in values)


def _distorted(**settings: Any) -> Mapping[str, Any]:
    return {"distort": settings}


FREE_TERMINATION = {"environment.settings.termination_penalty": 0.0}

FAULTS: tuple[Fault, ...] = (
    Fault(
        name="learning-rate-high",
        family="optimisation",
        causes=("C201",),
        settings=_values("learning_rate", 0.01, 0.03, 0.1),
    ),
    Fault(
        name="learning-rate-low",
        family="optimisation",
        causes=("C202",),
        settings=_values("learning_rate", 1e-5, 1e-6, 1e-7),
    ),
    Fault(
        name="discount-low",
        family="optimisation",
        causes=("C221",),
        settings=_values("gamma", 0.6, 0.3, 0.0),
    ),
    Fault(
        name="exploration-absent",
        family="exploration",
        causes=("C209",),
        settings=_values("noise_std", 0.005, 0.001, 0.0),
    ),
    Fault(
        name="exploration-drowns",
        family="exploration",
        causes=("C210",),
        settings=_values("noise_std", 1.0, 2.0, 5.0),
    ),
    Fault(
        name="reward-scale-large",
        family="scale",
        causes=("C203",),
        settings=_values("reward_scale", 100.0, 1000.0, 10_000.0),
    ),
    Fault(
        name="observation-scale",
        family="scale",
        causes=("C213",),
        settings=(_distorted(stretch=300.0), _distorted(stretch=3e3), _distorted(stretch=3e4)),
        patients=("pendulum", "point-mass"),
    ),
    Fault(
        name="actor-sign-flipped",
        family="code-policy",
        causes=("C211",),
        substitution="actor-sign-flipped",
    ),
    Fault(
        name="optimiser-detached",
        family="code-policy",
        causes=("C212",),
        substitution="optimiser-detached",
    ),
    # Held-out families
    Fault(
        name="tau-high",
        family="target",
        causes=("C205",),
        settings=_values("tau", 0.3, 0.6, 1.0),
    ),
    Fault(
        name="tau-low",
        family="target",
        causes=("C204",),
        settings=_values("tau", 1e-5, 1e-6, 0.0),
    ),
    Fault(
        name="target-not-updated",
        family="target",
        causes=("C204",),
        substitution="target-not-updated",
        strengths=(0.999, 0.9999, 1.0),
    ),
    Fault(
        name="buffer-small",
        family="data",
        causes=("C216",),
        settings=_values("buffer_size", 512, 128, 64),
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
    ),
    Fault(
        name="successors-misaligned",
        family="code-data",
        causes=("C215",),
        substitution="successors-misaligned",
    ),
    Fault(
        name="observation-frozen",
        family="code-data",
        causes=("C214",),
        settings=(_distorted(frozen=True),) * 3,
        patients=("pendulum", "point-mass"),
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

DEVELOPMENT_FAMILIES = ("optimisation", "exploration", "scale", "code-policy")

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


@dataclass(frozen=True, kw_only=True)
class Case:
    """One run of the bench."""

    patient: str
    seed: int
    fault: Fault | None = None
    severity: int = 0
    variant: str = "plain"
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """A folder name."""
        kind = f"{self.fault.name}-{SEVERITIES[self.severity]}" if self.fault else self.variant
        return f"{self.patient}-{kind}-seed{self.seed}"

    @property
    def development(self) -> bool:
        """Whether limits may be set looking at this case."""
        family = self.fault is None or self.fault.family in DEVELOPMENT_FAMILIES
        return self.patient in DEVELOPMENT_PATIENTS and family

    def config(self) -> RunConfig:
        """The run's config."""
        changes = dict(self.settings)
        if self.fault is not None:
            changes |= self.fault.settings[self.severity]
        values = dict(PATIENTS[self.patient])
        distort = changes.pop("distort", None)
        if distort is not None:
            base = dict(values["environment"])
            settings = {"base": base["id"], **distort}
            values["environment"] = {"id": "bench/Distorted-v0", "settings": settings}
        if "reward_scale" in changes:  # relative to the patient's own
            changes["reward_scale"] *= values.get("reward_scale", 1.0)
        return parse_config(values, overrides={**changes, "seed": self.seed})


def faulty_cases(seeds: int) -> Iterator[Case]:
    """Every fault x severity x patient x seed."""
    for fault in FAULTS:
        for severity in range(3):
            for patient in fault.patients:
                for seed in range(FIRST_FAULTY_SEED, FIRST_FAULTY_SEED + seeds):
                    yield Case(patient=patient, seed=seed, fault=fault, severity=severity)


def healthy_cases(seeds: int) -> Iterator[Case]:
    """Every variant x patient x seed, and the sparse task that nobody learns in the budget."""
    for variant, settings in HEALTHY.items():
        for patient in PATIENTS:
            for seed in range(FIRST_HEALTHY_SEED, FIRST_HEALTHY_SEED + seeds):
                yield Case(patient=patient, seed=seed, variant=variant, settings=settings)
    sparse = {"environment.settings": {"sparse": True}}
    for seed in range(FIRST_HEALTHY_SEED, FIRST_HEALTHY_SEED + seeds):
        yield Case(patient="point-mass", seed=seed, variant="sparse", settings=sparse)
