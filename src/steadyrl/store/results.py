"""What experiments keep: one JSON file in their folder each, as types.

Whoever writes such a file and whoever shows it agree by these. Paths in them lead from their own
folder (`store/paths.py`), so that it may be moved; what was not measured is null.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NotRequired, TypedDict

from steadyrl.core.errors import StoreError
from steadyrl.core.ordinary import read_json

Kind = Literal["rescue", "ladder", "compare", "study", "faults"]
FILES: dict[str, Kind] = {
    "rescue.json": "rescue",
    "ladder.json": "ladder",
    "compare.json": "compare",
    "study.json": "study",
    "faults.json": "faults",
}
WRITERS: dict[Kind, str] = {
    "rescue": "steadyrl rescue",
    "ladder": "steadyrl ladder",
    "compare": "steadyrl compare",
    "study": "steadyrl study",
    "faults": "steadyrl bench faults",
}
UNFIT = (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError)


class Estimate(TypedDict):
    """A value and its interval."""

    value: float | None
    low: float | None
    high: float | None


class TrialRow(TypedDict):
    """How one run of a rescue ended."""

    run: str
    status: str
    severe: Sequence[str]
    final_return: float | None
    final_length: float | None
    score: NotRequired[str]  # what `final_return` is; with a minus where less is better


class TriedRow(TrialRow):
    """A change that was tried, and what became of it."""

    name: str
    origin: str  # the cause that proposed it, or: random fix, placebo, asked for
    changes: NotRequired[Mapping[str, Any]]
    measure: NotRequired[str]
    helped: bool


class ProvedRow(TypedDict):
    """A fresh seed, without and with the change."""

    seed: int
    before: TrialRow
    after: TrialRow
    better: bool


class RescueStory(TypedDict):
    """rescue.json."""

    status: str
    message: str
    findings: NotRequired[Sequence[Mapping[str, Any]]]
    diagnoses: Sequence[Mapping[str, Any]]
    tried: Sequence[TriedRow]
    verified: Sequence[ProvedRow]
    control: TrialRow | None
    chosen: Mapping[str, Any] | None
    measure: NotRequired[str | None]
    p_value: NotRequired[float | None]


class Gate(TypedDict):
    """What a gate saw and answered."""

    measure: str
    value: float | None
    low: NotRequired[float | None]
    high: NotRequired[float | None]
    answer: str


class Rung(TypedDict):
    """One batch size of a ladder."""

    batch_size: int
    seeds: int
    decision: str
    gates: Sequence[Gate]
    final_return: Estimate
    final_length: Estimate
    utilisation: float | None
    device: str
    samples_per_second: float | None
    minutes: float | None
    cause: str
    evidence: Sequence[str]
    runs: Sequence[str]


class LadderStory(TypedDict):
    """ladder.json."""

    config: str
    gates: str
    about: str
    rungs: Sequence[Rung]
    recommended: int | None
    message: str


class Arm(TypedDict):
    """One config of a comparison."""

    name: str
    seeds: int
    final: Estimate
    area: Estimate
    collapse_rate: float
    sick_rate: float
    worst_drawdown: float | None
    time_to_threshold: float | None
    seed_spread: float | None
    seconds: float
    taken: int
    curve: Mapping[str, Sequence[float | None]]
    runs: Sequence[str]


class Contrast(TypedDict):
    """One config against the first."""

    name: str
    reference: str
    difference: Estimate
    improvement: float
    p_value: float
    allowed: float
    clear: bool


class Comparison(TypedDict):
    """compare.json."""

    threshold: NotRequired[float | None]
    arms: Sequence[Arm]
    contrasts: Sequence[Contrast]
    message: str


class StudyStory(TypedDict):
    """study.json; kept results of older ones have no declaration."""

    study: str
    verdict: str
    because: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str]
    curves: NotRequired[Sequence[Mapping[str, Any]]]
    declared: NotRequired[Mapping[str, str]]
    seeds: int
    date: str
    machine: str
    commit: str


class Rate(TypedDict):
    """A share of so many, with its interval."""

    share: float
    low: float | None
    high: float | None
    count: int
    of: int


class FaultRow(TypedDict):
    """One fault over its severities and seeds."""

    runs: int
    effective: int
    caught: int
    top_1: int
    answers: Mapping[str, int]


class FaultBench(TypedDict):
    """faults.json."""

    benchmark: NotRequired[str]
    all: Mapping[str, Rate]
    development: NotRequired[Mapping[str, Rate]]
    test: NotRequired[Mapping[str, Rate]]
    by_fault: Mapping[str, FaultRow]
    false_alarms: NotRequired[Sequence[Mapping[str, Any]]]
    repair: NotRequired[Mapping[str, Any]]
    harm: NotRequired[Mapping[str, Any]]
    machine: NotRequired[Mapping[str, Any]]
    seeds: NotRequired[Mapping[str, Any]]


def read_result(place: Path, kind: Kind) -> Any:
    """What is kept in a folder, or in a file of any name."""
    name = next(name for name, known in FILES.items() if known == kind)
    file = place / name if place.is_dir() else place
    try:
        return read_json(file)
    except UNFIT as error:
        raise unfit(file, kind, error) from None


def unfit(file: Path, kind: Kind, error: Exception) -> StoreError:
    """A file that does not hold what it should, said in a sentence."""
    return StoreError(
        f"{file}: not what `{WRITERS[kind]}` writes ({type(error).__name__}: {error})."
    )
