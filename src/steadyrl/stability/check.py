"""Static rules on a config, before any step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from steadyrl.core.records import Severity
from steadyrl.stability.checks import CHECKS
from steadyrl.stability.rules import Check

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


@dataclass(frozen=True, slots=True)
class Concern:
    """Something a check objects to."""

    rule: str
    name: str
    severity: Severity
    message: str
    why: str
    remedy: str


def check_config(config: RunConfig, checks: Sequence[Check] = CHECKS) -> list[Concern]:
    """Everything the static rules object to, most severe first."""
    concerns = []
    for rule in checks:
        sighting = rule.objection(config)
        if sighting is not None:
            severity = sighting.severity or rule.severity
            concerns.append(
                Concern(rule.id, rule.name, severity, sighting.message, rule.why, rule.remedy)
            )
    order = ("severe", "warning", "note")
    return sorted(concerns, key=lambda concern: order.index(concern.severity))
