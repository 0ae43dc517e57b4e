"""The five kinds of rule. Each rule is one file; its text is its documentation.

A detector decides that something is wrong; it never prints or acts. A cause weighs what explains
the findings. A remedy proposes changed settings. A probe asks the learner a question that costs
time, and is asked only on alarm. A check looks at a config before any step. Symptoms and causes
are many to many, hence separate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from steadyrl.core.records import Concern, Evidence, Finding, Severity, Step

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig
    from steadyrl.core.traits import Trait
    from steadyrl.stability.bands import Bands
    from steadyrl.stability.window import Window  # NumPy comes with it: no check needs it

# What only such algorithms record: of a run of which nothing else is known, it tells the kind.
SIGNS: Mapping[Trait, str] = {"language": "language.", "cloning": "bc.", "trust_region": "trpo."}


def concerned(traits: tuple[Trait, ...], config: RunConfig | None) -> bool:
    """Whether a rule for such algorithms holds for a run; all do if nothing is known of it."""
    return config is None or config.traits is None or config.traits.issuperset(traits)


def of_another_kind(
    traits: tuple[Trait, ...], config: RunConfig | None, window: Window, *, strict: bool = False
) -> bool:
    """Of a run of which nothing is known: whether it lacks what such algorithms record.

    A detector that finds its signals may look. A cause (`strict`) must hold for any learner that
    acts, unless the signals show the kind: "replayed data is old" is no answer for who has none.
    """
    if config is None or config.traits is not None:
        return False
    shown = {trait for trait, sign in SIGNS.items() if window.has_any(sign)}
    if any(trait in SIGNS and trait not in shown for trait in traits):
        return True
    return strict and not shown and not set(traits) <= {"acts"}


Safety = Literal["automatic", "on_request", "advice"]


@dataclass(frozen=True, kw_only=True)
class Detector:
    """Something that can be seen going wrong."""

    id: str
    name: str
    severity: Severity
    symptom: str
    why: str
    false_alarms: str
    reads: tuple[str, ...]
    limits: Mapping[str, float]
    calibrated_on: str
    detect: Callable[[Window, Mapping[str, float]], Sighting | None]
    concerns: Concern = "training"
    traits: tuple[Trait, ...] = ()  # of the algorithms it holds for; none: it holds for all
    references: tuple[str, ...] = ()
    any_of: tuple[str, ...] = ()  # signals that stand for one another; one of them is enough
    looks_back: bool = False  # asked once more of a finished record of another program
    # By signal, between which values it has no objection just now: what charts shade. Outside of
    # it the rule begins to count; whether it speaks depends on more.
    bands: Bands | None = None

    def lacks(self, window: Window) -> list[str]:
        """The signals without which it cannot look."""
        if self.any_of and not any(window.has(name) for name in self.any_of):
            return [*window.missing(self.reads), *self.any_of]
        return window.missing(self.reads)

    def finding(self, step: Step, sighting: Sighting) -> Finding:
        """What it says of a Step."""
        return Finding(
            rule=self.id,
            name=self.name,
            severity=sighting.severity or self.severity,
            step=step.index,
            taken=step.taken,
            message=sighting.message,
            evidence=sighting.evidence,
            concerns=self.concerns,
        )


@dataclass(frozen=True, slots=True)
class Sighting:
    """What a detector saw: a sentence and the numbers behind it."""

    message: str
    evidence: Mapping[str, float] = field(default_factory=dict)
    severity: Severity | None = None  # where it differs from the detector's own


@dataclass(frozen=True, kw_only=True)
class Case:
    """All that a cause may weigh."""

    findings: Sequence[Finding]
    window: Window
    config: RunConfig | None
    probes: Mapping[str, Evidence] = field(default_factory=dict)

    def found(self, *ids: str) -> Finding | None:
        """The earliest finding of any of these detectors."""
        return next((f for f in self.findings if f.rule in ids), None)

    def asked(self, probe: str, value: str) -> float:
        """One number of a probe's answer; NaN if the probe was not asked."""
        evidence = self.probes.get(probe)
        return evidence.values.get(value, math.nan) if evidence else math.nan

    def setting(self, name: str) -> Any:
        """A setting's value, or None if the config is not known or has none such."""
        value, logged = self.config.value_of(name) if self.config else None, f"setting.{name}"
        if value is None and self.window.has(logged):
            # A schedule of rates ends near 0, which is not what the run was trained with.
            rate = name == "learning_rate"
            return self.window.highest(logged) if rate else self.window.latest(logged)
        return value

    def descends(self) -> bool:
        """Whether rates usual for action values may be weighed: policies and tokens have others.

        Of what is known only to act, a loss tells that it descends one (A2C; random search not).
        """
        if self.config is None or self.config.is_a("off_policy"):
            return True
        if self.config.traits is None:
            return not any(map(self.window.has_any, SIGNS.values()))
        return self.config.traits == {"acts"} and self.window.has("policy.loss")


@dataclass(frozen=True, slots=True)
class Weight:
    """How much speaks for a cause (0 to 1), and what."""

    confidence: float
    evidence_for: tuple[str, ...] = ()
    evidence_against: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Cause:
    """Something that explains findings."""

    id: str
    name: str
    explanation: str
    explains: tuple[str, ...]  # detectors whose findings follow from it
    evidence_for: str
    evidence_against: str
    would_decide: str
    remedies: tuple[str, ...]
    weigh: Callable[[Case], Weight]
    concerns: Concern = "training"
    traits: tuple[Trait, ...] = ()  # of the algorithms it holds for; none: it holds for all
    references: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Remedy:
    """A change of settings, or advice where settings cannot help."""

    id: str
    name: str
    effect: str
    safety: Safety
    propose: Callable[[RunConfig, Window], Mapping[str, Any] | None]
    needs: tuple[str, ...] = ()  # settings without which there is nothing to change
    traits: tuple[Trait, ...] = ()
    restart: bool = False  # true: old experience contradicts the change, so begin anew
    side_effects: str = ""

    def proposal(self, config: RunConfig, window: Window) -> Mapping[str, Any] | None:
        """What it would change in this run; nothing where it makes no sense."""
        if config.traits is None or not concerned(self.traits, config):
            return None
        return self.propose(config, window) if config.has(*self.needs) else None

    def restarts(self, config: RunConfig, changes: Iterable[str]) -> bool:
        """Whether the changes must be tried from the beginning."""
        return self.restart or any(config.changes_when(n) == "start" for n in changes)


@dataclass(frozen=True, kw_only=True)
class Probe:
    """A question to the learner."""

    id: str
    name: str
    question: str
    cost: str
    answer: Callable[[Mapping[str, float]], Evidence | None]  # from the trainer's closer look


@dataclass(frozen=True, kw_only=True)
class Check:
    """Something a config or an environment can be told before any step."""

    id: str
    name: str
    severity: Severity
    concern: str
    why: str
    remedy: str
    check: Callable[[RunConfig], Sighting | None]
    needs: tuple[str, ...] = ()  # settings without which there is nothing to check
    traits: tuple[Trait, ...] = ()
    references: tuple[str, ...] = ()

    def objection(self, config: RunConfig) -> Sighting | None:
        """What it sees in a config that it concerns."""
        concerns = concerned(self.traits, config) and config.has(*self.needs)
        return self.check(config) if concerns else None
