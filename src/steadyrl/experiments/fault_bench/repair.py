"""Does the prescribed remedy repair the run, more often than no fix or a random one?

Only faults in settings can be repaired by settings. Each effective one is run again from scratch on
a fresh seed under every arm; it counts as repaired if the fault is no longer effective. Where the
first attempt fails, prescribed and random fixes get as many more as `rescue` would try.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from steadyrl.core.run_config import RunConfig
from steadyrl.core.seeding import derived_seed
from steadyrl.experiments.executor import Executor
from steadyrl.experiments.fault_bench import environments  # noqa: F401 - registers them
from steadyrl.experiments.fault_bench.bench import Result, is_effective, share
from steadyrl.experiments.trials import Trial, is_done, read_outcome, run_trials
from steadyrl.judging import judged
from steadyrl.stability.remedies import REMEDIES

ATTEMPTS = 3  # different prescriptions that may be tried
ARMS = ("prescribed", "random", "lower learning rate", "none")
FRESH = 500  # how far the repair's seed is from the case's own


@dataclass(frozen=True)
class Repair:
    """One re-run: a case's config with an arm's changes, on a fresh seed."""

    result: Result
    arm: str
    attempt: int
    changes: Mapping[str, Any]
    directory: Path

    def config(self) -> RunConfig:
        """The case's config, changed."""
        case = self.result.case
        return case.config().replaced({**self.changes, "seed": case.seed + FRESH})


def repair_rates(
    results: Sequence[Result],
    folder: Path,
    *,
    seeds: int,
    skip: int = 0,
    executor: Executor,
    say: Callable[[str], None],
) -> dict[str, Any]:
    """Share of effective setting faults repaired by each arm: `seeds` of every fault.

    `skip` leaves out the first ones: what a remedy was improved on cannot show that it improved.
    """
    healthy = [result for result in results if result.case.fault is None]
    repairable = [r for r in results if r.case.fault is not None and r.case.fault.repairable]
    first = sorted({r.case.seed for r in repairable})[skip : skip + seeds]
    chosen = [r for r in repairable if r.case.seed in first]
    patients = [result for result in chosen if is_effective(result, healthy)]
    planned = [repair for result in patients for repair in _repairs(result, folder)]
    say(f"{len(patients)} effective setting faults")
    fixed: dict[str, set[str]] = {arm: set() for arm in ARMS}
    rates: dict[str, Any] = {}
    for attempt in range(ATTEMPTS):
        due = [
            repair
            for repair in planned
            if repair.attempt == attempt and repair.result.case.name not in fixed[repair.arm]
        ]
        say(f"attempt {attempt + 1} of {ATTEMPTS}: {len(due)} re-runs")
        _run_missing(due, executor)
        for repair in due:
            if not _still_effective(repair, healthy):
                fixed[repair.arm].add(repair.result.case.name)
        if attempt == 0:
            rates |= {arm: share(len(fixed[arm]), len(patients)) for arm in ARMS}
    for arm in ("prescribed", "random"):
        name = f"{arm}, within {ATTEMPTS} re-runs"
        rates[name] = share(len(fixed[arm]), len(patients))
    cases = {result.case.name for result in patients}
    rates["not repaired by any prescription"] = sorted(cases - fixed["prescribed"])
    return rates


def harm_rate(
    results: Sequence[Result], folder: Path, *, executor: Executor, say: Callable[[str], None]
) -> dict[str, Any]:
    """Share of healthy runs that following the advice would have spoiled.

    A healthy run without a warning is left alone, so nothing can happen to it. One that was warned
    about is run again as prescribed, and counts as harmed if it then falls short as a fault does
    though it did not before.
    """
    healthy = [result for result in results if result.case.fault is None]
    warned = [
        result
        for result in healthy
        if result.alarmed("warning") and not is_effective(result, healthy)
    ]
    repairs = [
        repair
        for result in warned
        for repair in _repairs(result, folder)
        if repair.arm == "prescribed" and repair.attempt == 0
    ]
    say(f"{len(warned)} healthy runs that did well were warned about, {len(repairs)} can be re-run")
    _run_missing(repairs, executor)
    harmed = [repair for repair in repairs if _still_effective(repair, healthy)]
    return {
        **share(len(harmed), len(healthy)),
        "re_run": len(repairs),
        "harmed": [repair.directory.name for repair in harmed],
    }


def _run_missing(repairs: Sequence[Repair], executor: Executor) -> None:
    trials = [
        Trial(name=repair.directory.name, config=repair.config(), directory=repair.directory)
        for repair in repairs
    ]
    # A remedy may have been changed since: then what is recorded is another trial, and not done.
    list(run_trials([trial for trial in trials if not is_done(trial)], executor))


def _repairs(result: Result, folder: Path) -> Iterator[Repair]:
    config = result.case.config()
    window = judged(result.outcome.path).window
    options = {
        identity: changes
        for identity, remedy in REMEDIES.items()
        if (changes := remedy.proposal(config, window))
    }
    named = [identity for diagnosis in result.diagnoses for identity in diagnosis.remedies]
    generator = np.random.default_rng(derived_seed(result.case.seed, result.case.name))
    pace = config.pace
    arms: dict[str, list[Mapping[str, Any]]] = {
        "prescribed": _distinct(named, options),
        "random": _distinct(generator.permutation(sorted(options)), options) or [{}],
        "lower learning rate": [{pace: config.value_of(pace) / 3}],
        "none": [{}],
    }
    for arm, attempts in arms.items():
        for attempt, changes in enumerate(attempts):
            slug = arm.replace(" ", "-") + (f"-{attempt + 1}" if attempt else "")
            directory = folder / f"{result.case.name}--{slug}"
            yield Repair(result, arm, attempt, changes, directory)


def _distinct(
    identities: Iterable[str], options: Mapping[str, Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """The first few different changes these remedies propose."""
    found: list[Mapping[str, Any]] = []
    for identity in identities:
        changes = options.get(str(identity))
        if changes is not None and changes not in found:
            found.append(changes)
    return found[:ATTEMPTS]


def _still_effective(repair: Repair, healthy: Sequence[Result]) -> bool:
    outcome = read_outcome(repair.arm, repair.directory)
    return is_effective(Result(repair.result.case, outcome, (), ()), healthy)
