"""All that crosses a layer: what a trainer yields, what is changed, how a run ended."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Json = Any

Severity = Literal["note", "warning", "severe"]
SEVERITIES: tuple[Severity, ...] = ("note", "warning", "severe")
# A full disk or a busy machine is worth knowing, but nothing that training has done.
Concern = Literal["training", "machine"]
RunStatus = Literal["finished", "interrupted", "stopped", "diverged", "failed"]


@dataclass(frozen=True, slots=True)
class Step:
    """What one update, or a stretch of `log_every`, measured."""

    index: int
    taken: int  # how far the run has come, in its own unit
    seconds: float
    signals: Mapping[str, float]

    def to_json(self) -> dict[str, Json]:
        """As strict JSON: non-finite signals become the strings "nan", "inf", "-inf"."""
        return {
            "index": self.index,
            "taken": self.taken,
            "seconds": round(self.seconds, 6),
            "signals": {name: number_to_json(value) for name, value in self.signals.items()},
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Json]) -> Step:
        """The inverse of `to_json`."""
        signals = {name: float(value) for name, value in record["signals"].items()}
        return cls(record["index"], record["taken"], record["seconds"], signals)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A setting changed while training, and why."""

    name: str
    before: Json
    after: Json
    step: int
    because: str

    def to_json(self) -> dict[str, Json]:
        """As a plain dictionary."""
        return asdict(self)


def told_change(name: str, before: Json, after: Json) -> str:
    """A changed setting in words."""
    return f"{name} {_short(before)} -> {_short(after)}"


def _short(value: Json) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Intervention:
    """What the guard did: back to a good checkpoint, and on from there with other settings."""

    found: str  # the finding it answered: rule, name and message
    found_at: int  # in the run's own unit
    step: int  # of the checkpoint
    taken: int  # of the checkpoint
    remedy: str
    changes: Mapping[str, tuple[Json, Json]]  # by setting: before, after
    because: str
    unit: str = "env step"

    @property
    def told(self) -> str:
        """What was changed, and when it had become necessary."""
        parts = (told_change(name, *pair) for name, pair in self.changes.items())
        return f"{', '.join(parts)} at {self.found_at:,}"

    @property
    def sentence(self) -> str:
        """What the guard did, for terminals and pages; `because` says why."""
        return f"the guard went back to {self.unit} {self.taken:,} and changed {self.told}"

    def to_json(self) -> dict[str, Json]:
        """As a plain dictionary."""
        return {**asdict(self), "changes": {name: list(v) for name, v in self.changes.items()}}

    @classmethod
    def from_json(cls, record: Mapping[str, Json]) -> Intervention:
        """The inverse of `to_json`, and of an event that holds it."""
        changes = {name: (before, after) for name, (before, after) in record["changes"].items()}
        return cls(**{**_without_kind(record), "changes": changes})


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a probe found: a sentence and its numbers."""

    probe: str
    statement: str
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A rule saw something at a Step."""

    rule: str
    name: str
    severity: Severity
    step: int
    taken: int
    message: str
    evidence: Mapping[str, float]
    concerns: Concern = "training"

    @property
    def alarming(self) -> bool:
        """Severe, and training's own doing: what a guard may act upon."""
        return self.severity == "severe" and self.concerns == "training"

    def to_json(self) -> dict[str, Json]:
        """As strict JSON."""
        record = asdict(self)
        record["evidence"] = {name: number_to_json(v) for name, v in self.evidence.items()}
        return record

    @classmethod
    def from_json(cls, record: Mapping[str, Json]) -> Finding:
        """The inverse of `to_json`, and of an event that holds it."""
        evidence = {name: float(value) for name, value in record["evidence"].items()}
        return cls(**{**_without_kind(record), "evidence": evidence})


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """One cause that explains findings, with what speaks for and against it."""

    cause: str
    name: str
    confidence: float  # how often an answer of this weight was right
    onset: int  # Step of the first finding it explains
    explains: tuple[str, ...]
    evidence_for: tuple[str, ...]
    evidence_against: tuple[str, ...]
    would_decide: str
    remedies: tuple[str, ...]
    concerns: Concern = "training"
    weight: float = 0.0  # what the evidence adds up to; causes are ranked by it

    @property
    def likely(self) -> bool:
        """More likely than not."""
        return self.confidence >= 0.5

    @property
    def likelihood(self) -> str:
        """A word for the confidence."""
        return "likely" if self.likely else "possibly"

    def to_json(self) -> dict[str, Json]:
        """As a plain dictionary."""
        return asdict(self)

    @classmethod
    def from_json(cls, record: Mapping[str, Json]) -> Diagnosis:
        """The inverse of `to_json`."""
        values: dict[str, Json] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in record.items()
        }
        return cls(**values)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """How a run ended: the content of `summary.json`."""

    status: RunStatus
    algorithm: str
    task: str
    seed: int
    steps: int
    taken: int
    seconds: float
    message: str = ""
    last_signals: Mapping[str, float] = field(default_factory=dict)
    best_return: float | None = None
    final_return: float | None = None

    def to_json(self) -> dict[str, Json]:
        """As strict JSON."""
        record = asdict(self)
        record["last_signals"] = {
            name: number_to_json(value) for name, value in self.last_signals.items()
        }
        for name in ("best_return", "final_return"):
            value = record[name]
            record[name] = None if value is None else number_to_json(value)
        return record


def without_nan(value: Json) -> Json:
    """Plain values for strict JSON: what is not finite becomes null, tuples become lists."""
    if isinstance(value, Mapping):
        return {name: without_nan(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _without_kind(record: Mapping[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in record.items() if name != "event"}


def number_to_json(value: float) -> float | str:
    """A float that strict JSON can hold; `float()` reads it back exactly."""
    return value if math.isfinite(value) else str(value)
