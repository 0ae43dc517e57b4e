"""What a rescue tries, and how it chooses among what helped."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steadyrl.core.configs.run import RunConfig
from steadyrl.core.seeding import derived_seed
from steadyrl.experiments.trials import Outcome
from steadyrl.judging import Judged
from steadyrl.stability.remedies import REMEDIES
from steadyrl.stability.window import Window

MAX_CANDIDATES = 3
MAX_CLONES = 9  # cloning is cheap: everything that may help is tried and compared


@dataclass(frozen=True)
class Candidate:
    """A set of changed settings to be tried, and where the idea came from."""

    name: str
    origin: str  # a cause, "random fix", or "asked for"
    changes: Mapping[str, Any]
    restart: bool


def candidates_for(judged: Judged, also: Sequence[Mapping[str, Any]]) -> list[Candidate]:
    """What the diagnoses of a run propose, a random fix, and what was asked for."""
    config, window = judged.config, judged.window
    found: list[Candidate] = []
    for diagnosis in judged.verdict.diagnoses:
        for identity in diagnosis.remedies:
            _add(found, identity, f"{diagnosis.cause} {diagnosis.name}", config, window)
    found = found[: MAX_CLONES if config.algorithm == "bc" else MAX_CANDIDATES]
    generator = np.random.default_rng(derived_seed(config.seed, "random fix"))
    for identity in generator.permutation(sorted(REMEDIES)):
        if _add(found, str(identity), "random fix", config, window):
            break
    for changes in also:
        name = ", ".join(f"{key}={value}" for key, value in changes.items())
        found.append(Candidate(name, "asked for", dict(changes), restart=True))
    return found


def _add(
    found: list[Candidate], identity: str, origin: str, config: RunConfig, window: Window
) -> bool:
    """Add a remedy's proposal, unless it has none or its changes are among them already."""
    remedy = REMEDIES[identity]
    changes = remedy.propose(config, window)
    if not changes or any(candidate.changes == changes for candidate in found):
        return False
    name = f"{identity} {remedy.name}"
    found.append(Candidate(name, origin, dict(changes), remedy.restart))
    return True


def changes_the_task(changes: Mapping[str, Any]) -> bool:
    """Whether returns before and after are not comparable."""
    return any(name.startswith("environment.settings") for name in changes)


def improves(
    outcome: Outcome, control: Outcome, *, task_changed: bool, cloned: bool = False
) -> bool:
    """Healthy, and better than the control by more than a tenth of its size.

    If the task itself was changed, returns cannot be compared: then episodes must last half again
    as long and a step must not be worse. A clone is rescued if it is healthy where the control is
    not, and fits as well.
    """
    if not outcome.healthy:
        return False
    if cloned:
        fits = outcome.final_return >= control.final_return - 0.1 * abs(control.final_return)
        return not control.healthy and (fits or not math.isfinite(control.final_return))
    if task_changed:
        longer = outcome.final_length >= 1.5 * control.final_length
        step, before = outcome.reward_per_step, control.reward_per_step
        return longer and step >= before - 0.1 * abs(before)
    if not math.isfinite(outcome.final_return):
        return False
    if not math.isfinite(control.final_return):
        return not control.healthy
    return outcome.final_return > control.final_return + 0.1 * abs(control.final_return)


def choose(
    candidates: Sequence[Candidate],
    outcomes: Mapping[str, Outcome],
    control: Outcome,
    *,
    cloned: bool,
) -> Candidate | None:
    """The best that helps: diagnosed before random or asked for, the same task before another."""
    helping = [
        candidate
        for candidate in candidates
        if improves(
            outcomes[candidate.name],
            control,
            task_changed=changes_the_task(candidate.changes),
            cloned=cloned,
        )
    ]
    if not helping:
        return None
    diagnosed = [c for c in helping if c.origin not in ("random fix", "asked for")]
    choice = diagnosed or helping
    same_task = [c for c in choice if not changes_the_task(c.changes)]
    if same_task:
        return max(same_task, key=lambda c: outcomes[c.name].final_return)
    return max(choice, key=lambda c: outcomes[c.name].final_length)
