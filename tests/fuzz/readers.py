"""Every reader of files from outside, with whole files for it, and the dashboard with requests."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from werkzeug.test import Client

from steadyrl.core.package_files import preset_names, preset_text
from steadyrl.core.presets import load_config
from steadyrl.dashboard.access import access_of
from steadyrl.dashboard.fleet import Fleet
from steadyrl.dashboard.folder import Folder
from steadyrl.dashboard.server import Dashboard
from steadyrl.experience.demonstration_files import read_demonstrations
from steadyrl.judging import judge
from steadyrl.store.checkpoints import Checkpoints
from steadyrl.store.reader import RunReader
from tests.fuzz.changes import damaged, swapped_values
from tests.rules.test_rules import config_of
from tests.rules.traces import CUT_SHORT, trace_of
from tests.unit.fuzz_pickles import corpus, mutated
from tests.unit.test_event_files import EVENTS, file_of, scalar
from tests.unit.test_foreign_runs import SB3

Case = Callable[[random.Random], bytes]
Read = Callable[[bytes], object]


@dataclass(frozen=True)
class Reader:
    """How cases are made, and what reads them; `prepare` gets a folder of its own."""

    prepare: Callable[[Path], tuple[Case, Read]]


def _cases(seeds: list[bytes], *, text: bool) -> Case:
    def case(chance: random.Random) -> bytes:
        if text and chance.random() < 0.5:
            return swapped_values(chance.choice(seeds), chance)
        return damaged(seeds, chance, text=text)

    return case


def _in_file(file: Path, read: Callable[[Path], object]) -> Read:
    def reading(content: bytes) -> object:
        file.write_bytes(content)
        return read(file)

    return reading


def _configs(folder: Path) -> tuple[Case, Read]:
    seeds = [preset_text(name).encode() for name in preset_names()]
    return _cases(seeds, text=True), _in_file(folder / "my.yaml", load_config)


def _pickles(folder: Path) -> tuple[Case, Read]:
    files = corpus()
    return (
        lambda chance: mutated(files, chance),
        _in_file(folder / "demos.pkl", read_demonstrations),
    )


_ARRAYS: dict[str, Any] = {
    "observations": np.arange(24, dtype=np.float32).reshape(8, 3),
    "actions": np.zeros((8, 2)),
    "dones": np.array([0, 0, 0, 1] * 2, dtype=bool),
}


def _npz(folder: Path) -> tuple[Case, Read]:
    seeds = []
    for save in (np.savez, np.savez_compressed):
        held = io.BytesIO()
        save(held, **_ARRAYS)
        seeds.append(held.getvalue())
    return _cases(seeds, text=False), _in_file(folder / "demos.npz", read_demonstrations)


def _hdf5(folder: Path) -> tuple[Case, Read]:
    file = folder / "whole.hdf5"
    with h5py.File(file, "w") as opened:
        for name, array in _ARRAYS.items():
            opened[name] = array
    seeds = [file.read_bytes()]
    return _cases(seeds, text=False), _in_file(folder / "demos.hdf5", read_demonstrations)


def _event_files(folder: Path) -> tuple[Case, Read]:
    tags = ("rollout/ep_rew_mean", "train/approx_kl", "train/loss")
    logged = [scalar(tag, 100 * i, 0.5 * i) for i in range(40) for tag in tags]
    seeds = [file_of(EVENTS), file_of(logged)]
    file = folder / "events.out.tfevents.1.host.1.0"
    return _cases(seeds, text=False), _in_file(file, lambda _: judge(folder))


def _tables(folder: Path) -> tuple[Case, Read]:
    rows = [f"{100 * i},{i},{i % 7},0.01,-0.6,0.1,0.0003,0.5" for i in range(20)]
    seeds = ["\n".join([SB3, *rows]).encode()]
    return _cases(seeds, text=True), _in_file(folder / "progress.csv", lambda _: judge(folder))


def _trainer_states(folder: Path) -> tuple[Case, Read]:
    log = [{"step": i, "loss": 0.1, "reward": 0.5, "kl": 0.01, "epoch": 0.1 * i} for i in range(12)]
    seeds = [json.dumps({"log_history": log, "max_steps": 100}).encode()]
    file = folder / "trainer_state.json"
    return _cases(seeds, text=True), _in_file(file, lambda _: judge(folder))


def _run(folder: Path, damaged_file: str) -> tuple[Case, Read]:
    """A run of ours of which one file is damaged."""
    run = folder / "run"
    run.mkdir()
    (run / "config.yaml").write_text(config_of("ddpg").to_yaml(), encoding="utf-8")
    files = {
        "steps.jsonl": [step.to_json() for step in trace_of(CUT_SHORT)[:30]],
        "events.jsonl": list(_events()),
        "summary.json": [{"status": "finished", "steps": 30}],
    }
    texts = {name: "".join(f"{json.dumps(r)}\n" for r in all_) for name, all_ in files.items()}
    for name, text in texts.items():
        (run / name).write_text(text, encoding="utf-8")
    seeds = [texts[damaged_file].encode()]
    return _cases(seeds, text=True), _in_file(run / damaged_file, lambda _: _read_run(run))


def _read_run(run: Path) -> object:
    store = RunReader.open(run)
    return judge(store), store.problems, store.changes()


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


def _checkpoints(folder: Path) -> tuple[Case, Read]:
    """The two files of a checkpoint, one after the other in a case, behind a byte that says so."""
    store = Checkpoints(folder / "checkpoints", keep=2)
    state = {"weights": np.ones((3, 2), np.float32), "count": 3, "nested": [{"x": np.arange(4)}]}
    store.save(state, step=3, good=True)
    path = store.path(3)
    files = sorted(file for file in path.iterdir() if file.is_file())
    whole = {file: file.read_bytes() for file in files}
    cases = _cases(list(whole.values()), text=False)

    def case(chance: random.Random) -> bytes:
        return bytes([chance.randrange(len(files))]) + cases(chance)

    def read(content: bytes) -> object:
        for file, held in whole.items():
            file.write_bytes(held)
        if content:
            files[content[0] % len(files)].write_bytes(content[1:])
        return store.steps(), store.best(), store.load(3)

    return case, read


def _urls(folder: Path) -> tuple[Case, Read]:
    run = folder / "run"
    run.mkdir()
    (run / "config.yaml").write_text(config_of("ddpg").to_yaml(), encoding="utf-8")
    (run / "steps.jsonl").write_text("", encoding="utf-8")
    fleet = Fleet(Folder(folder))
    fleet.renew()
    client = Client(Dashboard(fleet, access_of("127.0.0.1", 8700)))
    identity = next(iter(fleet.folder.look()))
    paths = ["/", f"/run/{identity}", "/api/fleet?visible=a,b", f"/api/runs?ids={identity}"]
    paths += ["/api/rule/D001", f"/api/result/{identity}", "/compare?ids=a,b", "/viewer.js"]
    cases = _cases([path.encode() for path in paths], text=True)

    def read(content: bytes) -> object:
        url = "/" + content.decode("utf-8", errors="replace").lstrip("/")
        if url.startswith("/events/"):
            return None  # a stream that goes on for ever, rightly
        answer = client.get(url, headers={"Host": "127.0.0.1:8700"})
        assert answer.status_code < 500, answer.status
        assert "Content-Security-Policy" in answer.headers
        return answer.get_data()

    return cases, read


READERS: dict[str, Reader] = {
    "configs": Reader(_configs),
    "pickles": Reader(_pickles),
    "npz": Reader(_npz),
    "hdf5": Reader(_hdf5),
    "event-files": Reader(_event_files),
    "tables": Reader(_tables),
    "trainer-states": Reader(_trainer_states),
    "steps": Reader(lambda folder: _run(folder, "steps.jsonl")),
    "events": Reader(lambda folder: _run(folder, "events.jsonl")),
    "summaries": Reader(lambda folder: _run(folder, "summary.json")),
    "checkpoints": Reader(_checkpoints),
    "urls": Reader(_urls),
}
