"""Watches Steps: `observe(step)` returns what is new, `diagnose()` what explains it all."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from steadyrl.core.foreign_config import ForeignConfig
from steadyrl.core.records import SEVERITIES, Diagnosis, Evidence, Finding, Step
from steadyrl.stability.diagnose import explain_findings
from steadyrl.stability.limits import detectors_of
from steadyrl.stability.rules import Case, Detector, Sighting, concerned, of_another_kind
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


class Monitor:
    """One run's findings so far. A rule speaks once, and again only if things get more severe."""

    def __init__(
        self, config: RunConfig | None = None, *, detectors: Sequence[Detector] | None = None
    ) -> None:
        self.config = config  # in force: whoever changes a setting says so here
        rules = detectors_of(config) if detectors is None else detectors
        self.detectors = [rule for rule in rules if concerned(rule.traits, config)]
        self.window = Window(config.budget or None, config.task) if config else Window()
        self.findings: list[Finding] = []
        self._spoken: dict[str, int] = {}
        self.certain: set[str] = set()  # rules whose last word was told, not seen
        self._looking: list[Detector] = []
        self._width = -1

    def observe(self, step: Step) -> list[Finding]:
        """Take a Step; return the findings that are new."""
        self.window.append(step)
        if self.window.width != self._width:  # a signal was seen for the first time
            self._width = self.window.width
            self._looking = [rule for rule in self.detectors if self._can_look(rule)]
        new = []
        for rule in self._looking:
            spoken = self._spoken.get(rule.id, -1)
            if spoken == len(SEVERITIES) - 1:
                continue
            sighting = rule.detect(self.window, rule.limits)
            if sighting is None:
                continue
            finding = rule.finding(step, sighting)
            if SEVERITIES.index(finding.severity) <= spoken:
                continue
            self._spoken[rule.id] = SEVERITIES.index(finding.severity)
            new.append(finding)
        self.findings += new
        return new

    def _can_look(self, rule: Detector) -> bool:
        """Whether the signals that a rule cannot do without have been seen, in such a run."""
        window = self.window
        if not window.has(*rule.reads[:1]):
            return False
        if rule.any_of and not any(window.has(name) for name in rule.any_of):
            return False
        return not (rule.traits and of_another_kind(rule.traits, self.config, window))

    def look_back(self) -> None:
        """The record is finished: rules about the whole of it have their last look."""
        step = self.window.step
        self.window.ended = True
        for rule in self.detectors if step is not None else ():
            if rule.looks_back and rule.id not in self._spoken and not rule.lacks(self.window):
                sighting = rule.detect(self.window, rule.limits)
                if sighting is not None and step is not None:
                    # Not noted as spoken: a run that goes on is looked back on again.
                    self.findings.append(rule.finding(step, sighting))

    def tell_at_end(self, identity: str, message: str) -> None:
        """Take what is known of a finished record by other means as a rule's last word."""
        rule = next((rule for rule in self.detectors if rule.id == identity), None)
        if rule is not None and self.window.step is not None:
            self.findings = [f for f in self.findings if f.rule != identity]  # said once, and best
            self.tell(rule, message, self.window.step)
            self.certain.add(identity)

    def tell(
        self,
        rule: Detector,
        message: str,
        step: Step,
        evidence: Mapping[str, float] | None = None,
    ) -> Finding:
        """Take what was seen otherwise than in a Step, such as an exception, as a rule's words."""
        finding = rule.finding(step, Sighting(message, evidence or {}))
        self._spoken[rule.id] = SEVERITIES.index(finding.severity)
        self.findings.append(finding)
        return finding

    def diagnose(
        self, probes: Mapping[str, Evidence] | None = None, *, without: Collection[str] = ()
    ) -> list[Diagnosis]:
        """Causes of all findings so far, most likely first; some rules' may be left out."""
        findings = [finding for finding in self.findings if finding.rule not in without]
        case = Case(findings=findings, window=self.window, config=self.config, probes=probes or {})
        return explain_findings(case)

    def able(self) -> tuple[int, int]:
        """How many rules about training could look, and how many there are for such a run."""
        rules = [r for r in self.detectors if r.concerns == "training"]
        rules = [r for r in rules if not of_another_kind(r.traits, self.config, self.window)]
        return sum(not rule.lacks(self.window) for rule in rules), len(rules)

    def unmeasured(self) -> dict[str, list[str]]:
        """For each rule that could not look: the signals it lacked."""
        unknown = self.config is not None and self.config.traits is None
        rules = [r for r in self.detectors if not (unknown and r.traits)]
        if isinstance(self.config, ForeignConfig) and not self.window.has_any("machine."):
            rules = [r for r in rules if r.concerns == "training"]  # nobody's disk is at stake
        lacking = {rule.id: rule.lacks(self.window) for rule in rules}
        return {rule: names for rule, names in lacking.items() if names}
