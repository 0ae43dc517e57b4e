"""What the guard may do by itself: choose an automatic remedy it has not tried yet.

What the machine lacks no setting of the training can mend, so its causes are passed over. A remedy
that contradicts what was lived so far begins anew: only where the caller says that nothing is lost
by it, but then a likely cause is reason enough, nothing severe need have happened.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from steadyrl.core.records import Diagnosis
from steadyrl.stability.remedies import REMEDIES
from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig

MAX_ACTIONS = 3
LIKELY_ENOUGH = 0.75  # of a cause, to begin anew though nothing severe was found


@dataclass(frozen=True, slots=True)
class Action:
    """A remedy chosen for a cause, and the settings it changes."""

    diagnosis: Diagnosis
    remedy: str
    changes: Mapping[str, Any]
    anew: bool = False  # from the beginning of the run on

    @property
    def reason(self) -> str:
        """For the audit trail."""
        cause = f"{self.diagnosis.cause} {self.diagnosis.name}"
        return f"{self.remedy} against {cause} ({self.diagnosis.confidence:.2f})"


def choose_action(
    diagnoses: list[Diagnosis],
    config: RunConfig,
    window: Window,
    tried: set[str],
    *,
    severe: bool = True,
    anew: bool = False,
) -> Action | None:
    """The first untried automatic remedy of the most likely cause that has one.

    `severe`: something happened that training must not go on from. `anew`: it may begin again.
    """
    for diagnosis in diagnoses:
        if diagnosis.concerns == "machine":
            continue
        for identity in diagnosis.remedies:
            remedy = REMEDIES[identity]
            if remedy.safety != "automatic" or identity in tried:
                continue
            changes = remedy.proposal(config, window)
            if not changes or not _within_reach(config, changes):
                continue
            begins = _begins_anew(remedy, config, changes)
            if anew and begins and (severe or diagnosis.confidence >= LIKELY_ENOUGH):
                return Action(diagnosis, identity, changes, anew=True)
            if severe and not begins:
                return Action(diagnosis, identity, changes)
    return None


def _within_reach(config: RunConfig, names: Iterable[str]) -> bool:
    """Networks of another shape a trainer that is under way cannot be given."""
    return all(config.changes_when(name) != "start" for name in names)


def _begins_anew(remedy: Remedy, config: RunConfig, names: Iterable[str]) -> bool:
    return remedy.restart or any(config.changes_when(name) == "fork" for name in names)
