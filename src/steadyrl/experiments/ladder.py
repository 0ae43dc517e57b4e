"""The progressive test: climb batch sizes by gates, hold, step back, or stop.

A rung is several seeds at one batch size. Every gate is answered by the median over seeds with its
interval; if a rung's answer stays open, as many fresh seeds again are run before it is held.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from steadyrl.core.errors import ConfigError
from steadyrl.core.numbers import amount
from steadyrl.core.records import without_nan
from steadyrl.core.run_config import RunConfig
from steadyrl.experiments.executor import HERE, Executor
from steadyrl.experiments.gates import (
    LOOKS,
    GateAnswer,
    GateSet,
    Measured,
    fewest_seeds,
    interval,
)
from steadyrl.experiments.rung_evidence import evidence, speed
from steadyrl.experiments.trials import Outcome, Trial, run_trials
from steadyrl.judging import judge
from steadyrl.maths.statistics import Estimate
from steadyrl.store.files import write_atomically, write_json
from steadyrl.store.reader import RunReader

Decision = Literal["climb", "hold", "step back", "stop"]
USUAL_SEEDS = 5  # the fewest that can pass a gate, or fail it, at the first look


@dataclass(frozen=True)
class GateResult:
    """A gate's measure over the seeds, and its answer."""

    measure: str
    value: float
    low: float
    high: float
    answer: GateAnswer


@dataclass(frozen=True)
class Rung:
    """One batch size: what was measured, what was decided, and why."""

    batch_size: int
    seeds: int
    decision: Decision
    gates: Sequence[GateResult]
    final_return: Estimate
    final_length: Estimate
    utilisation: float  # of the threads it may use, or of the GPU
    device: str
    env_steps_per_second: float
    samples_per_second: float
    minutes: float  # for the whole budget at this speed
    cause: str = ""
    evidence: Sequence[str] = ()
    runs: Sequence[str] = ()


@dataclass
class Ladder:
    """The whole climb, as it is written to ladder.json."""

    config: str
    gates: str
    about: str
    rungs: list[Rung] = field(default_factory=list)
    recommended: int | None = None
    message: str = ""

    def to_json(self) -> dict[str, Any]:
        """As a plain dictionary; what was not measured is null."""
        record: dict[str, Any] = without_nan(asdict(self))
        return record


def climb(
    config: RunConfig,
    batch_sizes: Sequence[int],
    gates: GateSet,
    folder: Path,
    *,
    name: str = "",
    gates_name: str = "",
    seeds: int = USUAL_SEEDS,
    every_rung: bool = False,
    executor: Executor = HERE,
    say: Callable[[str], None] = lambda _line: None,
) -> Ladder:
    """Climb as far as the gates allow. Run it again on the same folder and it goes on."""
    if 2 * seeds < fewest_seeds(look=1):
        raise ConfigError(
            f"seeds = {seeds}: so few can answer no gate, even with as many again. "
            f"Use {USUAL_SEEDS}."
        )
    if seeds < fewest_seeds(look=0):
        say(f"with {seeds} seeds no gate can be answered at once: each rung takes {2 * seeds}")
    if not config.evaluation.episodes:
        raise ConfigError("evaluation.episodes = 0: without evaluations no rung can be judged.")
    sizes = sorted(set(batch_sizes))
    for size in sizes:
        _at(config, size)  # refuse a size that cannot be before hours are spent
    folder.mkdir(parents=True, exist_ok=True)
    ladder = Ladder(name, gates_name, gates.about)
    passed: list[_Tried] = []
    for number, size in enumerate(sizes):
        say(f"batch {size:,}: {seeds} seeds x {config.unit.of(config.budget)}")
        tried = _try_rung(config, size, gates, folder, seeds, passed, executor, say)
        ladder.rungs.append(tried.rung)
        say(f"batch {size:,}: {tried.rung.decision} ({_reasons(tried.rung)})")
        write_json(folder / "ladder.json", ladder.to_json())
        if tried.rung.decision == "climb":
            passed.append(tried)
        elif not every_rung:
            break
        if number == 0 and tried.rung.decision in ("step back", "stop"):
            say("the lowest rung failed: whatever is wrong, it is not that the batch is too large")
    _recommend(ladder, config, folder)
    return ladder


@dataclass(frozen=True)
class _Tried:
    """A rung and the runs behind it, by seed."""

    rung: Rung
    measured: dict[int, Measured]


def _try_rung(
    config: RunConfig,
    size: int,
    gates: GateSet,
    folder: Path,
    seeds: int,
    passed: Sequence[_Tried],
    executor: Executor,
    say: Callable[[str], None],
) -> _Tried:
    """Seeds until the gates are answered; at most twice as many as asked for."""
    outcomes: dict[int, Outcome] = {}
    for look in range(len(LOOKS)):
        first = config.seed + look * seeds
        wanted = range(first, first + seeds)
        trials = [_trial(config, size, seed, gates, folder) for seed in wanted]
        by_name = {trial.name: trial.config.seed for trial in trials}
        with closing(run_trials(trials, executor)) as finished:
            for outcome in finished:
                outcomes[by_name[outcome.name]] = outcome
                say(f"  {outcome.name}: return {amount(outcome.final_return)}, {outcome.status}")
                if outcome.not_finite:
                    break  # at once: nothing that the other seeds do can save this rung
        tried = _judge_rung(config, size, gates, outcomes, passed, look)
        if tried.rung.decision != "hold":
            break
        if look == 0:
            say(f"  still open ({_reasons(tried.rung)}): as many seeds again")
    return tried


def _trial(config: RunConfig, size: int, seed: int, gates: GateSet, folder: Path) -> Trial:
    return Trial(
        name=f"batch {size} seed {seed}",
        config=_at(config, size).replaced({"seed": seed}),
        directory=folder / f"batch-{size}-seed{seed}",
        guard="stop" if gates.stop_at_severe else "watch",
    )


def _at(config: RunConfig, size: int) -> RunConfig:
    """The config at another batch size."""
    changes = config.batch_of(size)
    if changes is None:
        raise ConfigError(
            f"algorithm '{config.algorithm}' has no batch_size to climb. Compare sizes of its own "
            "instead, e.g. 'steadyrl compare CONFIG CONFIG+minibatch_size=256'."
        )
    return config.replaced(changes)


def _judge_rung(
    config: RunConfig,
    size: int,
    gates: GateSet,
    outcomes: dict[int, Outcome],
    passed: Sequence[_Tried],
    look: int,
) -> _Tried:
    stores = {seed: RunReader.open(outcome.path) for seed, outcome in outcomes.items()}
    measured = {
        seed: Measured(list(store.steps()), len(outcomes[seed].severe))
        for seed, store in stores.items()
    }
    results = []
    for gate in gates.on(first=not passed):
        if gate.measure == "return shortfall":
            value = interval(_shortfalls(measured, passed), look)
        else:
            value = interval([run.measure(gate.measure) for run in measured.values()], look)
        answer = gate.answer(value)
        results.append(GateResult(gate.measure, value.value, value.low, value.high, answer))
    answers = {result.answer for result in results if result.answer != "not measured"}
    decision: Decision = "climb"
    if any(outcome.not_finite for outcome in outcomes.values()):
        decision = "stop"
    elif "retreat" in answers:
        decision = "step back"
    elif "open" in answers:
        decision = "hold"
    cause, said = "", list[str]()
    if decision in ("step back", "stop"):
        worst = min(outcomes.values(), key=lambda outcome: outcome.final_return)
        verdict = judge(worst.path)
        if verdict.diagnoses:
            first = verdict.diagnoses[0]
            cause = f"{first.cause} {first.name} ({first.confidence:.2f})"
        said = evidence(list(RunReader.open(worst.path).steps()))
    rung = Rung(
        batch_size=size,
        seeds=len(outcomes),
        decision=decision,
        gates=results,
        final_return=interval([outcome.final_return for outcome in outcomes.values()], look),
        final_length=interval([outcome.final_length for outcome in outcomes.values()], look),
        **speed(config, size, list(measured.values())),
        cause=cause,
        evidence=said,
        runs=[outcome.path.name for outcome in outcomes.values()],  # beside ladder.json
    )
    return _Tried(rung, measured)


def _shortfalls(measured: dict[int, Measured], passed: Sequence[_Tried]) -> list[float]:
    """How far each seed's return stays behind the best lower rung, in units of what that gained."""
    signal = "eval.return_mean"
    best = max(passed, key=lambda tried: tried.rung.final_return.value, default=None)
    if best is None:
        return [0.0] * len(measured)
    gained = float(np.mean([r.final(signal) - r.start(signal) for r in best.measured.values()]))
    if not gained > 0:
        return [0.0] * len(measured)
    theirs = {seed: run.final(signal) for seed, run in best.measured.items()}
    usual = float(np.mean(list(theirs.values())))
    return [
        (theirs.get(seed, usual) - run.final(signal)) / gained for seed, run in measured.items()
    ]


def _recommend(ladder: Ladder, config: RunConfig, folder: Path) -> None:
    """Of the rungs that passed, the fastest whose return does not lag behind the best."""
    passed = [rung for rung in ladder.rungs if rung.decision == "climb"]
    if not passed:
        ladder.message = "no rung passed its gates: change the config, not the batch size"
        if any(rung.decision == "hold" for rung in ladder.rungs):
            ladder.message = "no rung passed clearly: more seeds or a longer budget would decide"
        write_json(folder / "ladder.json", ladder.to_json())
        return
    best = max(passed, key=lambda rung: rung.final_return.value)
    level = [rung for rung in passed if not rung.final_return.high < best.final_return.low]
    chosen = min(level, key=lambda rung: rung.minutes)
    ladder.recommended = chosen.batch_size
    ladder.message = (
        f"batch {chosen.batch_size:,}: passed every gate, return {chosen.final_return.told}, "
        f"{chosen.minutes:.1f} minutes for the budget"
    )
    patched = _at(config, chosen.batch_size)
    header = f"# Recommended by the ladder ({ladder.gates} gates): {ladder.message}\n"
    write_atomically(folder / "recommended.yaml", (header + patched.to_yaml()).encode())
    write_json(folder / "ladder.json", ladder.to_json())


def _reasons(rung: Rung) -> str:
    wanted = {"hold": "open", "step back": "retreat", "stop": "retreat"}.get(rung.decision)
    named = [f"{g.measure} {amount(g.value)}" for g in rung.gates if g.answer == wanted]
    if rung.decision == "stop":
        named.append("a number that is not finite")
    still = "still open: " if wanted == "open" else ""
    return still + ", ".join(named) if named else "every gate passed"
