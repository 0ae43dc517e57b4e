"""What is said of a run: how it stands, why, and how it ended."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from steadyrl.core.records import Diagnosis, Finding, Intervention
from steadyrl.core.traits import ENV_STEPS, Unit
from steadyrl.stability.standing import OF_THE_RETURN, Standing

Headline = Literal[
    "healthy", "recovered", "healed", "suspicious", "sick", "failed", "broken off", "cannot tell"
]
WELL: tuple[Headline, ...] = ("healthy", "recovered", "healed")
UNDISTURBED = ("finished", "recorded", "going")  # statuses that say nothing against a run


@dataclass(frozen=True)
class Verdict:
    """What became of a run, and why. What is wrong with the machine is said apart."""

    run: str
    steps: int
    findings: Sequence[Finding]  # of the training, as it went on after the guard last acted
    diagnoses: Sequence[Diagnosis]
    undecided: Sequence[str]
    unmeasured: Mapping[str, list[str]]
    status: str  # as in its summary; else "recorded" (by others), "going" or "broken off"
    message: str = ""  # why it ended so
    doubts: Sequence[str] = ()  # why silence of the rules would not mean health
    interventions: Sequence[Intervention] = ()
    settings_changed: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)  # since the start
    machine: Sequence[Finding] = ()
    machine_diagnoses: Sequence[Diagnosis] = ()
    source: str = ""  # which program recorded it, if another
    problems: Sequence[str] = ()  # what was not intact in its files
    advice: Mapping[str, str] = field(default_factory=dict)  # how to record a missing signal
    changes: Mapping[str, str] = field(default_factory=dict)  # by remedy: settings, before -> after
    unit: Unit = ENV_STEPS  # that findings count in
    learner: str = ""  # the algorithm of ours that trained it; "foreign": another program did
    block: int = 1  # Steps that detectors saw as one: of a long run more than one
    standing: Standing = field(
        default_factory=Standing
    )  # how the score went, and whether that is learning
    passed: Collection[str] = ()  # rules whose findings were left behind
    looked: tuple[int, int] = (0, 0)  # rules about training that could look, and of how many
    about: str = ""  # of another program's run: what was read of it
    unfinished: str = ""  # where its record ends, if that is before what its files plan
    reference: str = ""  # how far it came, by what others reached in its environment

    @property
    def headline(self) -> Headline:
        """One word for tables: how the run stands at the end of its record.

        Healthy is said only if there was enough to see it.
        """
        severities = {finding.severity for finding in self.present}
        if "severe" in severities:
            return "sick"
        if self.status in ("failed", "diverged"):
            return "failed"
        if self.status not in UNDISTURBED:
            return "broken off"
        if "warning" in severities:
            return "suspicious"
        if self.doubts:
            return "broken off" if self.unfinished else "cannot tell"
        if self.interventions:
            return "healed"
        return "recovered" if self.history or self.standing.dips else "healthy"

    @property
    def ours(self) -> bool:
        """Whether we trained it, and so could train it again."""
        return self.learner not in ("", "foreign")

    @property
    def score_told(self) -> str:
        """How its score went; what a sick run learned is not what was wanted."""
        said = self.standing.sentence
        return said.removesuffix(": it learned") if self.headline == "sick" else said

    @property
    def present(self) -> list[Finding]:
        """Findings that stand at the end of the record."""
        return [finding for finding in self.findings if finding.rule not in self.passed]

    @property
    def history(self) -> list[Finding]:
        """Findings that were left behind; of the return itself the dips tell."""
        gone = set(self.passed) - OF_THE_RETURN
        return [f for f in self.findings if f.rule in gone and f.severity != "note"]

    @property
    def sentence(self) -> str:
        """The headline and what belongs to it: the first line wherever a run is told of."""
        headline, message = self.headline, self.message
        said = f"{headline} so far" if self.status == "going" else headline
        actions = "; ".join(action.told for action in self.interventions)
        if headline == "healed":
            return f"{said} by the guard: {actions}"
        reason = message if headline in ("failed", "broken off") else ""
        if headline == "broken off" and self.unfinished:
            reason = self.unfinished
        if headline == "recovered":
            reason = "; ".join(self._left_behind())
        if headline == "cannot tell":
            reason = "; ".join(self.doubts)
        parts = [f"{said}: {reason}" if reason else said]
        if headline == "sick" and self.status not in UNDISTURBED:
            parts.append(f"{self.status}: {message}" if message else self.status)
        if actions:
            parts.append(f"the guard changed {actions}")
        return "; ".join(parts)

    def _left_behind(self) -> list[str]:
        """What a recovered run recovered from, shortly."""
        dips = self.standing.dips
        told = [f"{self.unit.one} {dip.begun:,} to {dip.over:,}" for dip in dips[:1]]
        lost = [f"it lost most of its gain at {told[0]} and came back"] if told else []
        return [*lost, *(f"{f.rule} {f.name} at {f.taken:,} has passed" for f in self.history[:1])]

    def to_json(self) -> dict[str, Any]:
        """As a plain dictionary."""
        return {
            "run": self.run,
            "verdict": self.headline,
            "sentence": self.sentence,
            "status": self.status,
            "message": self.message,
            "steps": self.steps,
            "findings": [finding.to_json() for finding in self.findings],
            "diagnoses": [diagnosis.to_json() for diagnosis in self.diagnoses],
            "undecided": list(self.undecided),
            "unmeasured": dict(self.unmeasured),
            "doubts": list(self.doubts),
            "interventions": [action.to_json() for action in self.interventions],
            "settings_changed": {n: list(pair) for n, pair in self.settings_changed.items()},
            "machine": [finding.to_json() for finding in self.machine],
            "machine_diagnoses": [diagnosis.to_json() for diagnosis in self.machine_diagnoses],
            "source": self.source,
            "problems": list(self.problems),
            "advice": dict(self.advice),
            "changes": dict(self.changes),
            "unit": self.unit.many,
            "block": self.block,
            "standing": self.standing.to_json(),
            "passed": sorted(self.passed),
            "rules_that_looked": list(self.looked),
            "about": self.about,
            "reference": self.reference,
            "unfinished": self.unfinished,
        }
