"""What a rescue tries, and how it chooses among what helped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steadyrl.core.run_config import RunConfig
from steadyrl.core.seeding import derived_seed
from steadyrl.experiments.proof import changes_the_task, improves, measure_for
from steadyrl.experiments.trials import Outcome
from steadyrl.judging import Judged
from steadyrl.stability.remedies import REMEDIES
from steadyrl.stability.window import Window

PLACEBO = "placebo (same config, other randomness)"
PLACEBO_SEED = 900  # how far its randomness is from the config's own


@dataclass(frozen=True)
class Candidate:
    """A set of changed settings to be tried, and where the idea came from."""

    name: str
    origin: str  # a cause, "random fix", "placebo", or "asked for"
    changes: Mapping[str, Any]
    restart: bool

    @property
    def diagnosed(self) -> bool:
        """Whether a cause proposed it."""
        return self.origin not in ("random fix", "placebo", "asked for")


def candidates_for(judged: Judged) -> list[Candidate]:
    """What the diagnoses of a run propose, a random fix, and a placebo."""
    config, window = judged.config, judged.window
    found: list[Candidate] = []
    for diagnosis in judged.verdict.diagnoses:
        for identity in diagnosis.remedies:
            _add(found, identity, f"{diagnosis.cause} {diagnosis.name}", config, window)
    found = found[: config.remedies_tried]
    # From where the others begin, if other randomness can begin there.
    fixed = config.changes_when("seed") == "start"
    restart = fixed or all(candidate.restart for candidate in found)
    generator = np.random.default_rng(derived_seed(config.seed, "random fix"))
    for identity in generator.permutation(sorted(REMEDIES)):
        if not _changes_learning(identity, config, window):
            continue
        if _add(found, str(identity), "random fix", config, window):
            break
    found.append(Candidate(PLACEBO, "placebo", {"seed": config.seed + PLACEBO_SEED}, restart))
    return found


def _changes_learning(identity: str, config: RunConfig, window: Window) -> bool:
    """Whether more than memory, time and what is saved depends on it: else it is a placebo."""
    changes = REMEDIES[identity].proposal(config, window) or {}
    return not set(changes) <= {*config.resumable, "compute.threads"}


def asked_for(changes: Mapping[str, Any]) -> Candidate:
    """A change of the user's own."""
    name = ", ".join(f"{key}={value}" for key, value in changes.items())
    return Candidate(name, "asked for", dict(changes), restart=True)


def _add(
    found: list[Candidate], identity: str, origin: str, config: RunConfig, window: Window
) -> bool:
    """Add a remedy's proposal, unless it has none or its changes are among them already."""
    remedy = REMEDIES[identity]
    changes = remedy.proposal(config, window)
    if not changes or any(candidate.changes == changes for candidate in found):
        return False
    name = f"{identity} {remedy.name}"
    found.append(Candidate(name, origin, dict(changes), remedy.restarts(config, changes)))
    return True


def helps(
    candidate: Candidate, config: RunConfig, outcomes: Mapping[str, Outcome], control: Outcome
) -> bool:
    """Better than the control, and than what other randomness alone did to the same config."""
    measure = measure_for(config, candidate.changes)
    return all(
        improves([outcomes[candidate.name]], [other], measure)
        for other in (control, outcomes.get(PLACEBO, control))
        if other is not outcomes[candidate.name]
    )


def choose(
    candidates: Sequence[Candidate],
    config: RunConfig,
    outcomes: Mapping[str, Outcome],
    control: Outcome,
) -> Candidate | None:
    """The best that helps: diagnosed before random or asked for, the same task before another."""
    helping = [
        candidate
        for candidate in candidates
        if candidate.origin != "placebo" and helps(candidate, config, outcomes, control)
    ]
    choice = [candidate for candidate in helping if candidate.diagnosed] or helping
    same_task = [candidate for candidate in choice if not changes_the_task(candidate.changes)]
    if same_task:
        return max(same_task, key=lambda candidate: outcomes[candidate.name].final_return)
    return max(choice, key=lambda candidate: outcomes[candidate.name].final_length, default=None)
