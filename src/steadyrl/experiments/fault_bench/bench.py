"""Runs the bench and counts: recall, false alarms, causes, time to detection, repair."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from steadyrl.core.records import SEVERITIES, Diagnosis, Finding
from steadyrl.experiments.executor import Executor
from steadyrl.experiments.fault_bench import environments  # noqa: F401 - registers them
from steadyrl.experiments.fault_bench.suite import BenchCase, Suite
from steadyrl.experiments.studies.c10_loss_jump import jumps
from steadyrl.experiments.trials import Outcome, Trial, is_done, read_outcome, run_trial
from steadyrl.judging import judge
from steadyrl.maths.statistics import wilson
from steadyrl.store.files import write_atomically

# A fault is effective if it costs this share of what healthy runs gain over their start.
EFFECTIVE_LOSS = 0.2


@dataclass(frozen=True)
class Result:
    """A case and what the system said about it."""

    case: BenchCase
    outcome: Outcome
    findings: Sequence[Finding]
    diagnoses: Sequence[Diagnosis]

    def alarmed(self, severity: str) -> bool:
        """Whether anything at least this severe was found in the training itself."""
        floor = SEVERITIES.index(severity)
        return any(SEVERITIES.index(f.severity) >= floor for f in self.findings)

    @property
    def detected_at(self) -> float:
        """Share of the budget used at the first finding of warning or worse."""
        steps = [f.taken for f in self.findings if f.severity != "note"]
        return min(steps) / self.case.config().budget if steps else math.nan


def run_bench(
    suite: Suite,
    folder: Path,
    *,
    seeds: int,
    healthy_seeds: int,
    executor: Executor,
    say: Callable[[str], None],
) -> list[Result]:
    """Run what is missing, then judge everything again from the files."""
    begins_from = None
    if suite.one_warm_start:
        # Imported here: whoever judges other suites needs no language model.
        from steadyrl.experiments.warm_model import warm_model

        say("the model that all cases begin from is made, unless it is there")
        begins_from = warm_model(next(iter(suite.patients.values())), folder / "base-model")
    cases = [*suite.healthy_cases(healthy_seeds), *suite.faulty_cases(seeds)]
    trials = [case_trial(case, folder, begins_from) for case in cases]
    waiting = [trial for trial in trials if not is_done(trial)]
    say(f"{len(cases)} runs, {len(waiting)} of them still to be made")
    with closing(executor.each(run_case, waiting)) as finished:
        for number, _ in enumerate(finished, 1):
            if number % 20 == 0:
                say(f"  {number} of {len(waiting)}")
    return [judge_case(case, folder) for case in cases]


@dataclass(frozen=True, kw_only=True)
class CaseTrial(Trial):
    """A case as a trial; its fault is in force while it runs."""

    case: BenchCase
    begins_from: Path | None = None  # a language model that has had its warm start


def case_trial(case: BenchCase, folder: Path, begins_from: Path | None = None) -> CaseTrial:
    """Where and how a case is run."""
    return CaseTrial(
        name=case.name,
        config=case.config(),
        directory=folder / case.name,
        case=case,
        begins_from=begins_from,
    )


def run_case(trial: CaseTrial) -> None:
    """One run with its fault in force."""
    # Imported here: the substitutions import the trainer, which only this process needs.
    from steadyrl.experiments.fault_bench.substitutions import SUBSTITUTIONS

    fault = trial.case.fault
    with ExitStack() as in_force:
        if trial.begins_from is not None:
            from steadyrl.experiments.warm_model import warm_from

            in_force.enter_context(warm_from(trial.begins_from))
        if fault is not None and fault.substitution is not None:
            faulty = SUBSTITUTIONS[fault.substitution](fault.strengths[trial.case.severity])
            in_force.enter_context(faulty)
        run_trial(trial)


def judge_case(case: BenchCase, folder: Path) -> Result:
    """What the rules say of a recorded case, as they are now."""
    verdict = judge(folder / case.name)
    outcome = read_outcome(case.name, folder / case.name)
    return Result(case, outcome, verdict.findings, verdict.diagnoses)


def summarise(results: Sequence[Result]) -> dict[str, Any]:
    """All figures, for development and test cases apart and together."""
    healthy = [r for r in results if r.case.fault is None]
    faulty = [r for r in results if r.case.fault is not None]
    effective = [r for r in faulty if is_effective(r, healthy)]
    parts: dict[str, Any] = {}
    for name, sides in (("development", (True,)), ("test", (False,)), ("all", (True, False))):
        chosen = [r for r in results if r.case.development in sides]
        parts[name] = _figures(
            [r for r in chosen if r.case.fault is None],
            [r for r in chosen if r in effective],
            [r for r in chosen if r.case.fault is not None and r not in effective],
        )
    parts["by_fault"] = _by_fault(faulty, effective)
    parts["false_alarms"] = [
        {"run": r.case.name, "rule": f.rule, "severity": f.severity, "message": f.message}
        for r in healthy
        for f in r.findings
        if f.severity != "note"
    ]
    return parts


def is_effective(result: Result, healthy: Sequence[Result]) -> bool:
    """Whether the fault really hurt, against the plain healthy runs of the same patient."""
    fault, patient = result.case.fault, result.case.patient
    peers = [r for r in healthy if r.case.patient == patient and r.case.variant == "plain"]
    if result.outcome.status != "finished":
        return True
    if fault is not None and fault.by_jumps:
        return jumps(result.outcome.path)["jumps"] >= 1
    if fault is not None and fault.by_length:
        return result.outcome.final_length < 0.5 * _mean(r.outcome.final_length for r in peers)
    good = _mean(r.outcome.final_return for r in peers)
    spread = float(np.std([r.outcome.final_return for r in peers]))
    gained = good - _mean(_start(r) for r in peers)
    return bool(result.outcome.final_return < good - max(EFFECTIVE_LOSS * gained, 2 * spread))


def _start(result: Result) -> float:
    """The first evaluation's return, or a clone's first fit: an almost untrained policy."""
    signal = result.outcome.score.signal
    from steadyrl.store.reader import RunReader

    steps = RunReader.open(result.outcome.path).steps()
    sign = 1.0 if result.outcome.score.higher_is_better else -1.0
    return sign * next(s.signals[signal] for s in steps if signal in s.signals)


def _figures(
    healthy: Sequence[Result], effective: Sequence[Result], latent: Sequence[Result]
) -> dict[str, Any]:
    caught = [r for r in effective if r.alarmed("warning")]
    first = [r for r in effective if _named(r, 1)]
    three = [r for r in effective if _named(r, 3)]
    severe = [r for r in healthy if r.alarmed("severe")]
    warned = [r for r in healthy if r.alarmed("warning")]
    times = [r.detected_at for r in caught]
    return {
        "healthy_runs": len(healthy),
        "effective_faults": len(effective),
        "latent_faults": len(latent),
        "recall": share(len(caught), len(effective)),
        "top_1_cause": share(len(first), len(effective)),
        "top_3_cause": share(len(three), len(effective)),
        "severe_false_alarms": share(len(severe), len(healthy)),
        "warned_healthy_runs": share(len(warned), len(healthy)),
        "median_time_to_detection": float(np.median(times)) if times else None,
        "latent_named": share(sum(_named(r, 1) for r in latent), len(latent)),
    }


def _named(result: Result, count: int) -> bool:
    assert result.case.fault is not None
    return any(d.cause in result.case.fault.causes for d in result.diagnoses[:count])


def _by_fault(faulty: Sequence[Result], effective: Sequence[Result]) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for result in faulty:
        assert result.case.fault is not None
        row = table.setdefault(
            result.case.fault.name,
            {"runs": 0, "effective": 0, "caught": 0, "top_1": 0, "answers": Counter()},
        )
        row["runs"] += 1
        if result in effective:
            row["effective"] += 1
            row["caught"] += result.alarmed("warning")
            row["top_1"] += _named(result, 1)
            answer = result.diagnoses[0].cause if result.diagnoses else "unknown"
            row["answers"][answer] += 1
    return {name: {**row, "answers": dict(row["answers"])} for name, row in table.items()}


def _mean(values: Any) -> float:
    return float(np.mean(list(values)))


def share(count: int, total: int) -> dict[str, Any]:
    """A proportion with its Wilson interval (95 %), as it is kept."""
    if total == 0:
        return {"count": 0, "of": 0, "share": None}
    found = wilson(count, total)
    return {
        "count": count,
        "of": total,
        "share": round(found.value, 3),
        "low": round(found.low, 3),
        "high": round(found.high, 3),
    }


def write_results(results: dict[str, Any], path: Path) -> None:
    """Keep the figures."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, (json.dumps(results, indent=2) + "\n").encode())
