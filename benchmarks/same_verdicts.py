"""Does a change of the code leave every verdict as it was? Word for word, number for number.

    python benchmarks/same_verdicts.py record before.json [FOLDER ...]      on the commit before
    python benchmarks/same_verdicts.py compare before.json [FOLDER ...]     on the commit after

Judged are the traces on which every rule must speak or be quiet, once as they are and once so long
that they are looked at in blocks; runs of random courses with gaps, damage, NaN and recorded events
(`--random N`); and every run in the folders, ours or another program's.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # for tests.rules

from steadyrl.core.catalogue import CATALOGUE  # noqa: E402
from steadyrl.core.errors import SteadyError  # noqa: E402
from steadyrl.core.records import Finding, Step, number_to_json  # noqa: E402
from steadyrl.core.run_config import RunConfig  # noqa: E402
from steadyrl.judging import judge  # noqa: E402
from steadyrl.store.foreign.finding import find_runs  # noqa: E402
from tests.rules.test_rules import DETECTORS, algorithm_with, config_of  # noqa: E402
from tests.rules.traces import TRACES  # noqa: E402

FAMILIES = ("ddpg", "ppo", "trpo", "bc", "language", "grpo", "unknown")
STRETCH = 13  # a trace of a hundred Steps is then looked at in blocks of two


def main() -> None:
    """Record, or compare with what was recorded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["record", "compare"])
    parser.add_argument("file", type=Path)
    parser.add_argument("folders", type=Path, nargs="*")
    parser.add_argument("--random", type=int, default=150)
    arguments = parser.parse_intermixed_args()
    found = dict(_all(arguments.folders, arguments.random))
    failed = [f"{name}: {v['failed']}\n" for name, v in found.items() if "failed" in v]
    sys.stdout.writelines(failed)
    said = sum(len(verdict.get("findings", ())) for verdict in found.values())
    if arguments.what == "record":
        arguments.file.write_text(json.dumps(found), encoding="utf-8")
        sys.stdout.write(f"{len(found)} verdicts with {said:,} findings recorded\n")
        return
    before = json.loads(arguments.file.read_text("utf-8"))
    differing = [name for name in found if found[name] != before.get(name)]
    for name in differing:
        old = before.get(name, {})
        parts = [key for key in found[name] if found[name][key] != old.get(key)]
        sys.stdout.write(f"{name}: {', '.join(parts)}\n")
    told = f"{len(found)} verdicts with {said:,} findings, {len(differing)} differ"
    sys.stdout.write(f"{told}; {len(set(before) - set(found))} are missing\n")
    sys.exit(bool(differing or set(before) - set(found)))


def _all(folders: Sequence[Path], count: int) -> Iterator[tuple[str, dict[str, Any]]]:
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        for rule in DETECTORS:
            config = config_of(algorithm_with(rule.traits))
            for kind, steps in zip(("fires", "quiet"), TRACES[rule.id], strict=True):
                for times in (1, STRETCH):
                    name = f"{rule.id} {kind} x{times}"
                    yield name, _verdict(_written(place / name, config, _stretched(steps, times)))
        for seed in range(count):
            chance = random.Random(seed)
            name = f"random {seed}"
            config = config_of(chance.choice(FAMILIES))
            run = _written(place / name, config, _random_steps(chance, config))
            _happened(run, chance)
            _damaged(run / "steps.jsonl", chance)
            yield name, _verdict(run)
    for folder in folders:
        for run in find_runs(folder):
            yield str(run), _verdict(run)


def _verdict(run: Path) -> dict[str, Any]:
    try:
        record = judge(run).to_json()
    except SteadyError as error:
        return {"refused": str(error)}
    except Exception as error:
        return {"failed": repr(error)}
    # As text: nan is not equal to nan.
    found: dict[str, Any] = json.loads(json.dumps(record | {"run": run.name}), parse_constant=str)
    return found


def _written(run: Path, config: RunConfig, steps: Sequence[Step]) -> Path:
    run.mkdir()
    (run / "config.yaml").write_text(config.to_yaml(), encoding="utf-8")
    lines = [json.dumps(step.to_json()) + "\n" for step in steps]
    (run / "steps.jsonl").write_text("".join(lines), encoding="utf-8")
    summary = json.dumps({"status": "finished", "steps": steps[-1].index if steps else 0})
    (run / "summary.json").write_text(summary, encoding="utf-8")
    return run


def _stretched(steps: Sequence[Step], times: int) -> list[Step]:
    """Every Step so many times, as if the run had been as much longer."""
    return [
        Step(times * step.index - times + 1 + k, step.taken, step.seconds, step.signals)
        for step in steps
        for k in range(times)
    ]


def _random_steps(chance: random.Random, config: RunConfig) -> list[Step]:
    """Courses that drift, jump, stay or break, of signals that such runs have and of others."""
    names = [name for name in CATALOGUE if chance.random() < 0.5]
    names += ["other.loss"] * (chance.random() < 0.3)
    length = chance.choice([0, 3, 8, 40, 300, 1000, 1001, 2500, 5000])
    every = {name: chance.choice([1, 1, 1, 5, 37]) for name in names}
    level = {name: chance.choice([0.0, 1e-6, 0.01, 0.5, 1.0, 30.0, -200.0, 1e5]) for name in names}
    drift = {name: chance.choice([0.0, 0.0, 0.01, -0.02]) for name in names}
    noise = {name: chance.choice([0.0, 0.01, 0.3]) for name in names}
    broken = chance.choice([*names, None, None, None, None]) if names else None
    steps, budget = [], config.budget or 10_000
    for index in range(1, length + 1):
        signals = {}
        for name in names:
            if index % every[name]:
                continue
            level[name] *= 1 + drift[name] * chance.random() * 20 / length
            if chance.random() < 1 / length:
                level[name] *= chance.choice([-1, 0.1, 10, 1000])
            signals[name] = level[name] * (1 + noise[name] * chance.gauss(0, 1))
        if broken in signals and index > 0.8 * length:
            signals[broken] = chance.choice([float("nan"), float("inf"), signals[broken]])
        steps.append(Step(index, budget * index // length, index * 0.1, signals))
    return steps


def _happened(run: Path, chance: random.Random) -> None:
    """What training itself recorded: a finding, a probe's answer, what the guard did."""
    rule = chance.choice(DETECTORS)
    said = {"severity": chance.choice(["warning", "severe"]), "step": 3, "taken": 30}
    finding = Finding(rule=rule.id, name=rule.name, message="seen live", evidence={}, **said)
    probe = {"event": "probe", "step": 3, "probe": "P1", "statement": "asked", "value": 0.5}
    action = {
        "event": "action",
        "found": rule.id,
        "found_at": 30,
        "step": 2,
        "taken": 20,
        "remedy": "R301",
        "changes": {"learning_rate": [0.1, 0.05]},
        "because": "so",
    }
    events = [{"event": "finding", **finding.to_json()}, probe, action]
    kept = [event for event in events if chance.random() < 0.3]
    (run / "events.jsonl").write_text("".join(json.dumps(e) + "\n" for e in kept), "utf-8")


def _damaged(file: Path, chance: random.Random) -> None:
    """Every third record: lines that are torn, lost, doubled, or hold what is no Step."""
    if chance.random() < 0.66:
        return
    lines = file.read_text("utf-8").splitlines(keepends=True)
    other = {"index": 7, "taken": 7, "seconds": 0.1, "signals": {"critic.loss": None}}
    found = []
    for line in lines:
        kind = chance.random() * max(40, len(lines) / 5)
        if kind < 1:
            continue
        found.append(line[: chance.randrange(len(line))] + "\n" if kind < 2 else line)
        if kind > 3 and kind < 4:
            found.append(line)
        if kind > 5 and kind < 6:
            signals = chance.choice([{"critic.loss": None}, {"td.x": "many"}, {"q.mean": "nan"}])
            found.append(json.dumps(other | {"signals": signals}) + "\n")
        if kind > 6 and kind < 7:
            whole = {"critic.loss": True, "q.mean": 3, "td.target_std": number_to_json(1e308)}
            found.append(json.dumps(other | {"signals": whole}) + "\n")
    if found and chance.random() < 0.5:
        found[-1] = found[-1][: chance.randrange(len(found[-1]))]
    file.write_text("".join(found), encoding="utf-8")


if __name__ == "__main__":
    main()
