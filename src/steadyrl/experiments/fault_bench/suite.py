"""What a suite of the fault bench declares: patients, healthy variants, faults in three severities.

Development and test are split by environment and by fault family: limits are to be set looking at
the development cases only (docs/fault-bench.md says how far that has been kept).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from steadyrl.core.errors import ConfigError
from steadyrl.core.presets import parse_config
from steadyrl.core.run_config import RunConfig

SEVERITIES = ("low", "medium", "high")


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One way to break a run: settings, or a substituted function, in three severities."""

    name: str
    family: str
    causes: tuple[str, ...]  # equivalent right answers
    patients: tuple[str, ...]
    settings: tuple[Mapping[str, Any], ...] = ({}, {}, {})
    substitution: str | None = None
    strengths: tuple[float, float, float] = (0.3, 0.6, 1.0)
    by_length: bool = False  # judged by episode length: the fault changes the task's returns
    by_jumps: bool = False  # judged by jumps of the loss: a clone may fit as well as before
    curable: bool = True  # by settings; code and blind environments are not

    @property
    def repairable(self) -> bool:
        """Whether a change of settings could mend it."""
        return self.curable and self.substitution is None


def values(name: str, *chosen: Any) -> tuple[Mapping[str, Any], ...]:
    """One setting in its severities."""
    return tuple({name: value} for value in chosen)


def distorted(**settings: Any) -> Mapping[str, Any]:
    """The patient's environment behind a wrapper that spoils what is seen."""
    return {"distort": settings}


@dataclass(frozen=True, kw_only=True)
class BenchCase:
    """One run of the bench."""

    patient: str
    seed: int
    base: Mapping[str, Any]  # the patient's config
    development: bool  # whether limits may be set looking at this case
    fault: Fault | None = None
    severity: int = 0
    variant: str = "plain"
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """A folder name."""
        kind = f"{self.fault.name}-{SEVERITIES[self.severity]}" if self.fault else self.variant
        return f"{self.patient}-{kind}-seed{self.seed}"

    def config(self) -> RunConfig:
        """The run's config."""
        changes = dict(self.settings)
        if self.fault is not None:
            changes |= self.fault.settings[self.severity]
        plain = dict(self.base)
        distort = changes.pop("distort", None)
        if distort is not None:
            base = dict(plain["environment"])
            settings = {"base": base["id"], **distort}
            plain["environment"] = {**base, "id": "bench/Distorted-v0", "settings": settings}
        if "reward_scale" in changes:  # relative to the patient's own
            changes["reward_scale"] *= plain.get("reward_scale", 1.0)
        return parse_config(plain, overrides={**changes, "seed": self.seed})


@dataclass(frozen=True, kw_only=True)
class Suite:
    """The declared list for one kind of trainer."""

    name: str
    patients: Mapping[str, Mapping[str, Any]]
    healthy: Mapping[str, Mapping[str, Any]]  # variations that are not faults
    faults: tuple[Fault, ...]
    development_patients: tuple[str, ...]
    development_families: tuple[str, ...]
    first_healthy_seed: int
    first_faulty_seed: int
    severities: tuple[int, ...] = (0, 1, 2)
    # Variants that make sense for some patients only.
    special: tuple[tuple[str, str, Mapping[str, Any]], ...] = ()
    # Language models begin from one and the same warm start, made once.
    one_warm_start: bool = False

    def of_family(self, family: str) -> Suite:
        """Its faults (by a part of the family's name) and plain healthy runs of their patients."""
        faults = tuple(fault for fault in self.faults if family in fault.family)
        if not faults:
            known = ", ".join(dict.fromkeys(fault.family for fault in self.faults))
            raise ConfigError(
                f"no family '{family}' in the suite {self.name}. Use one of: {known}."
            )
        concerned = {patient for fault in faults for patient in fault.patients}
        return replace(
            self,
            faults=faults,
            patients={name: p for name, p in self.patients.items() if name in concerned},
            healthy={"plain": self.healthy["plain"]},
            special=tuple(s for s in self.special if s[0] in concerned and family in s[1]),
        )

    def on_seeds(self, faulty: int | None, healthy: int | None) -> Suite:
        """The same cases on other seeds, counted from these (None: as declared)."""
        return replace(
            self,
            first_faulty_seed=self.first_faulty_seed if faulty is None else faulty,
            first_healthy_seed=self.first_healthy_seed if healthy is None else healthy,
        )

    def healthy_case(
        self, patient: str, seed: int, variant: str = "plain", **settings: Any
    ) -> BenchCase:
        """A control."""
        return BenchCase(
            patient=patient,
            seed=seed,
            base=self.patients[patient],
            development=patient in self.development_patients,
            variant=variant,
            settings=settings,
        )

    def faulty_case(self, fault: Fault, severity: int, patient: str, seed: int) -> BenchCase:
        """A patient with a fault."""
        return BenchCase(
            patient=patient,
            seed=seed,
            base=self.patients[patient],
            development=patient in self.development_patients
            and fault.family in self.development_families,
            fault=fault,
            severity=severity,
        )

    def faulty_cases(self, seeds: int) -> Iterator[BenchCase]:
        """Every fault x severity x patient x seed."""
        for fault in self.faults:
            for severity in self.severities:
                for patient in fault.patients:
                    for seed in range(self.first_faulty_seed, self.first_faulty_seed + seeds):
                        yield self.faulty_case(fault, severity, patient, seed)

    def healthy_cases(self, seeds: int) -> Iterator[BenchCase]:
        """Every variant x patient x seed, and the special ones."""
        chosen = range(self.first_healthy_seed, self.first_healthy_seed + seeds)
        variants = [
            *(
                (p, name, settings)
                for name, settings in self.healthy.items()
                for p in self.patients
            ),
            *self.special,
        ]
        for patient, variant, settings in variants:
            for seed in chosen:
                yield self.healthy_case(patient, seed, variant, **settings)
