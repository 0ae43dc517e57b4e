"""Small runs and results of experiments, whole, of which one file is then damaged."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path

from steadyrl.judging import judge
from steadyrl.store.foreign.beside import read_beside
from steadyrl.store.reader import RunReader
from steadyrl.store.results import FILES
from steadyrl.views.results import result_page
from tests.fuzz.changes import damaged, swapped_values
from tests.rules.test_rules import config_of
from tests.rules.traces import CUT_SHORT, trace_of
from tests.unit.test_beside import ordered
from tests.unit.test_pages import _comparison, _ladder, _rescue, of_fault_bench, of_study
from tests.unit.test_pages import _run as small_run

Case = Callable[[random.Random], bytes]
Read = Callable[[bytes], object]
LONG = 30  # Steps, of which rules can say more
SHORT = 5  # enough where other files are damaged; most of the damage, for it is read fast


def text_cases(seeds: list[bytes]) -> Case:
    """Text of which values are swapped, or anything is changed."""

    def case(chance: random.Random) -> bytes:
        if chance.random() < 0.5:
            return swapped_values(chance.choice(seeds), chance)
        return damaged(seeds, chance, text=True)

    return case


def own_run(folder: Path, damaged_file: str) -> tuple[Case, Read]:
    """A run of ours of which one file is damaged."""
    run = folder / "run"
    run.mkdir()
    config = config_of("ddpg")  # read once: configs are damaged by themselves
    (run / "config.yaml").write_text(config.to_yaml(), encoding="utf-8")
    steps = [step.to_json() for step in trace_of(CUT_SHORT)[:LONG]]
    files = {
        "steps.jsonl": steps[:SHORT],
        "events.jsonl": list(_events()),
        "summary.json": [{"status": "finished", "steps": SHORT}],
    }
    texts = {name: _lines(records) for name, records in files.items()}
    for name, text in texts.items():
        (run / name).write_bytes(text)
    seeds = [texts[damaged_file]]
    if damaged_file == "steps.jsonl":
        seeds = [_lines(steps), *[_lines(steps[:SHORT])] * 9]

    def read(content: bytes) -> object:
        (run / damaged_file).write_bytes(content)
        store = RunReader(run, config)
        return judge(store), store.problems, store.changes()

    return text_cases(seeds), read


def _lines(records: list[dict[str, object]]) -> bytes:
    return "".join(f"{json.dumps(record)}\n" for record in records).encode()


def _events() -> Iterator[dict[str, object]]:
    found = {"rule": "D001", "name": "x", "severity": "severe", "taken": 30, "message": "m"}
    yield {"event": "started", "step": 0}
    yield {"event": "finding", "step": 3, **found, "evidence": {"a": 1.0}, "concerns": "training"}
    yield {"event": "probe", "step": 3, "probe": "P1", "statement": "s", "value": 0.5}
    changed = {"name": "batch_size", "before": 64, "after": 32, "because": "b"}
    yield {"event": "change", "step": 4, **changed}
    action = {"found": "D001", "found_at": 30, "taken": 20, "remedy": "R301", "because": "b"}
    yield {"event": "action", "step": 2, **action, "changes": {"batch_size": [64, 32]}}
    yield {"event": "evaluation", "step": 5, "return_mean": 1.0}


def results(folder: Path) -> tuple[Case, Read]:
    """What experiments keep, as their pages read it; a first byte says which of them it is."""
    small_run(folder / "original")
    _rescue(folder, "plain")
    _ladder(folder, "plain")
    _comparison(folder, "plain")
    of_study(folder)
    of_fault_bench(folder)
    whole = {name: (folder / name).read_bytes() for name in FILES}
    names = list(whole)

    def case(chance: random.Random) -> bytes:
        number = chance.randrange(len(names))
        return bytes([number]) + text_cases([whole[names[number]]])(chance)

    def read(content: bytes) -> object:
        name = names[(content[0] if content else 0) % len(names)]
        (folder / name).write_bytes(content[1:])
        return result_page(folder, FILES[name]).to_json()

    return case, read


def settings(folder: Path) -> tuple[Case, Read]:
    """Settings beside a log, of which damaged ones are as if they were not there."""
    yaml = ordered(algo="tqc", env="CartPole-v1", n_timesteps=1000, gamma=0.98)
    wandb = "seed: {value: 3}\nlearning_rate: {desc: null, value: 0.1}\nnested: {a: {b: 1}}\n"
    known = {"algo": "PPO", "env_id": "X-v0", "gamma": 0.9, "deep": {"er": [1, {"x": 2}]}}
    files = {"config.yml": yaml, "config.yaml": wandb, "args.json": json.dumps(known)}
    names = list(files)

    def case(chance: random.Random) -> bytes:
        number = chance.randrange(len(names))
        return bytes([number]) + text_cases([files[names[number]].encode()])(chance)

    def read(content: bytes) -> object:
        for name in names:
            (folder / name).unlink(missing_ok=True)
        name = names[(content[0] if content else 0) % len(names)]
        (folder / name).write_bytes(content[1:])
        found = read_beside(folder)
        return found.family, found.environment, found.budget

    return case, read
