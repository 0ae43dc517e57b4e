"""Is a change better than no change? How runs are compared, and what counts as proved.

Two questions are kept apart. Single runs choose what is worth proving (`improves`); chance fools
that often. What decides is fresh seeds (`prove`): runs of both configs from scratch, every one with
the change healthy, their medians apart by more than a margin, and so far apart that permuting the
labels does it in at most 5 % of cases. benchmarks/false_proofs.py measures how often that
"proves" a change that does nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from steadyrl.core.run_config import RunConfig
from steadyrl.experiments.executor import Executor
from steadyrl.experiments.trials import Outcome, Trial, run_trials
from steadyrl.maths.statistics import ERROR_RATE, rank_p

Measure = Literal["return", "episode length", "health"]

MARGIN = 0.1  # of the control's size, by which a return must be better
LONGER = 1.5  # times the control's episodes, if the task itself was changed
FEWEST_SEEDS = 3  # per config: all three above all three is 1 in 20
USUAL_SEEDS = 4  # all four above all four: 1 in 70
FRESH_SEED = 1000  # verification seeds start this far from the config's own


@dataclass(frozen=True)
class Proof:
    """What fresh seeds say of a change."""

    measure: Measure
    before: Sequence[Outcome]  # by seed
    after: Sequence[Outcome]
    wanted: int  # seeds; fewer were run if a run with the change was not healthy
    p_value: float

    @property
    def better(self) -> int:
        """Seeds on which the change is healthy and better."""
        pairs = zip(self.after, self.before, strict=True)
        return sum(improves([after], [before], self.measure) for after, before in pairs)

    @property
    def holds(self) -> bool:
        """Whether the change is proved."""
        return (
            len(self.after) == self.wanted
            and improves(self.after, self.before, self.measure)
            and self.p_value <= ERROR_RATE
        )

    @property
    def statement(self) -> str:
        """What was seen, in words."""
        if len(self.after) < self.wanted:
            return "a fresh run with the change failed, or something severe was found in it"
        return (
            f"better, and nothing severe, on {self.better} of {self.wanted} fresh seeds, "
            f"p = {self.p_value:.2g} ({self.measure})"
        )


def prove(
    config: RunConfig,
    changes: Mapping[str, Any],
    folder: Path,
    *,
    seeds: int,
    executor: Executor,
    say: Callable[[Outcome], None] = lambda _outcome: None,
) -> Proof:
    """Run the config with and without the change on fresh seeds, from scratch."""
    measure = measure_for(config, changes)
    trials: dict[str, Trial] = {}
    numbers = range(config.seed + FRESH_SEED, config.seed + FRESH_SEED + seeds)
    for seed in numbers:
        for side, changed in (("original", {}), ("rescued", changes)):
            trials[f"{side} seed {seed}"] = Trial(
                name=f"{side} seed {seed}",
                config=config.replaced({"seed": seed, **changed}),
                directory=folder / f"verify-{side}-seed{seed}",
            )
    outcomes: dict[str, Outcome] = {}
    with closing(run_trials(list(trials.values()), executor)) as finished:
        for outcome in finished:
            outcomes[outcome.name] = outcome
            say(outcome)
            if outcome.name.startswith("rescued") and not outcome.healthy:
                break  # whatever the others do, this is no proof
    whole = [n for n in numbers if {f"original seed {n}", f"rescued seed {n}"} <= outcomes.keys()]
    before = [outcomes[f"original seed {seed}"] for seed in whole]
    after = [outcomes[f"rescued seed {seed}"] for seed in whole]
    return proof_of(after, before, measure, wanted=seeds)


def proof_of(
    after: Sequence[Outcome], before: Sequence[Outcome], measure: Measure, *, wanted: int
) -> Proof:
    """What these runs say, seed by seed."""
    p_value = 1.0
    if after:
        p_value = rank_p([score(o, measure) for o in after], [score(o, measure) for o in before])
    return Proof(measure, before, after, wanted, p_value)


def measure_for(config: RunConfig, changes: Mapping[str, Any]) -> Measure:
    """What runs are compared by: returns of different tasks cannot be, a clone is not played."""
    if config.is_a("cloning"):
        return "health"
    return "episode length" if changes_the_task(changes) else "return"


def changes_the_task(changes: Mapping[str, Any]) -> bool:
    """Whether returns before and after are not comparable."""
    return any(name.startswith("environment.settings") for name in changes)


def score(outcome: Outcome, measure: Measure) -> float:
    """One number to rank runs by; what was not measured comes last."""
    if measure == "health":
        return float(outcome.healthy)
    value = outcome.final_length if measure == "episode length" else outcome.final_return
    return value if math.isfinite(value) else -math.inf


def improves(after: Sequence[Outcome], before: Sequence[Outcome], measure: Measure) -> bool:
    """All healthy, and in the median better than before by more than a tenth of its size.

    If the task itself was changed, episodes must last half again as long and a step must not be
    worse. A clone is better if it is healthy where the others are not, and fits as well.
    """
    if not after or not before or not all(outcome.healthy for outcome in after):
        return False
    was, now = _median(before, "final_return"), _median(after, "final_return")
    sick = sum(not outcome.healthy for outcome in before) > len(before) / 2
    if measure == "health":
        return sick and (now >= was - MARGIN * abs(was) or not math.isfinite(was))
    if measure == "episode length":
        longer = _median(after, "final_length") >= LONGER * _median(before, "final_length")
        step, usual = _median(after, "reward_per_step"), _median(before, "reward_per_step")
        return longer and step >= usual - MARGIN * abs(usual)
    if not math.isfinite(now):
        return False
    return now > was + MARGIN * abs(was) if math.isfinite(was) else sick


def _median(outcomes: Sequence[Outcome], name: str) -> float:
    """The middle run's; NaN if most were not measured."""
    values = [getattr(outcome, name) for outcome in outcomes]
    known = [value for value in values if math.isfinite(value)]
    return float(np.median(known)) if 2 * len(known) > len(values) else math.nan
