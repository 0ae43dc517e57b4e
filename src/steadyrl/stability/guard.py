"""What the guard may do by itself: choose an automatic remedy it has not tried yet.

What the machine lacks no setting of the training can mend, so its causes are passed over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from steadyrl.core.records import Diagnosis
from steadyrl.core.run_config import RunConfig
from steadyrl.stability.remedies import REMEDIES
from steadyrl.stability.window import Window

MAX_ACTIONS = 3


@dataclass(frozen=True, slots=True)
class Action:
    """A remedy chosen for a cause, and the settings it changes."""

    diagnosis: Diagnosis
    remedy: str
    changes: Mapping[str, Any]

    @property
    def reason(self) -> str:
        """For the audit trail."""
        cause = f"{self.diagnosis.cause} {self.diagnosis.name}"
        return f"{self.remedy} against {cause} ({self.diagnosis.confidence:.2f})"


def choose_action(
    diagnoses: list[Diagnosis], config: RunConfig, window: Window, tried: set[str]
) -> Action | None:
    """The first untried automatic remedy of the most likely cause that has one."""
    for diagnosis in diagnoses:
        if diagnosis.concerns == "machine":
            continue
        for identity in diagnosis.remedies:
            remedy = REMEDIES[identity]
            if remedy.safety != "automatic" or identity in tried:
                continue
            changes = remedy.proposal(config, window)
            if changes:
                return Action(diagnosis, identity, changes)
    return None
