"""Every reader of files from outside, with whole files for it, and the dashboard with requests."""

from __future__ import annotations

import io
import json
import random
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from werkzeug.test import EnvironBuilder, TestResponse, run_wsgi_app
from werkzeug.wrappers import Request

from steadyrl.core.package_files import preset_names, preset_text
from steadyrl.core.presets import load_config
from steadyrl.dashboard.access import access_of
from steadyrl.dashboard.fleet import Fleet
from steadyrl.dashboard.folder import Folder
from steadyrl.dashboard.server import Dashboard
from steadyrl.experience.demonstration_files import read_demonstrations
from steadyrl.judging import judge
from steadyrl.store.checkpoints import Checkpoints
from tests.fuzz.changes import damaged
from tests.fuzz.runs import Case, Read, own_run, results, settings, text_cases
from tests.fuzz.sealed import sealed_checkpoint, sealed_events, sealed_zip
from tests.rules.test_rules import config_of
from tests.unit.fuzz_pickles import corpus, mutated
from tests.unit.test_event_files import EVENTS, file_of, frame, scalar
from tests.unit.test_foreign_runs import SB3


@dataclass(frozen=True)
class Reader:
    """How cases are made, and what reads them; `prepare` gets a folder of its own."""

    prepare: Callable[[Path], tuple[Case, Read]]


def _in_file(file: Path, read: Callable[[Path], object]) -> Read:
    def reading(content: bytes) -> object:
        file.write_bytes(content)
        return read(file)

    return reading


def _configs(folder: Path) -> tuple[Case, Read]:
    seeds = [preset_text(name).encode() for name in preset_names()]
    return text_cases(seeds), _in_file(folder / "my.yaml", load_config)


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
    seeds, parts = [], {}
    for save in (np.savez, np.savez_compressed):
        held = io.BytesIO()
        save(held, **_ARRAYS)
        seeds.append(held.getvalue())
    with zipfile.ZipFile(io.BytesIO(seeds[0])) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}

    def case(chance: random.Random) -> bytes:
        if chance.random() < 0.5:
            return sealed_zip(parts, chance)
        return damaged(seeds, chance, text=False)

    return case, _in_file(folder / "demos.npz", read_demonstrations)


def _hdf5(folder: Path) -> tuple[Case, Read]:
    file = folder / "whole.hdf5"
    with h5py.File(file, "w") as opened:
        for name, array in _ARRAYS.items():
            opened[name] = array
    seeds = [file.read_bytes()]

    def case(chance: random.Random) -> bytes:
        return damaged(seeds, chance, text=False)

    return case, _in_file(folder / "demos.hdf5", read_demonstrations)


def _event_files(folder: Path) -> tuple[Case, Read]:
    """Short ones most of the time: they are read fast, and are damaged in as many ways."""
    tags = ("rollout/ep_rew_mean", "train/approx_kl", "train/loss")
    logged = [scalar(tag, 100 * i, 0.5 * i) for i in range(40) for tag in tags]
    events = {"short": logged[:9], "odd": EVENTS, "long": logged}
    records = {name: [one.SerializeToString() for one in some] for name, some in events.items()}
    frames = {name: [frame(one) for one in some] for name, some in records.items()}
    begin = file_of([])
    names = ["short"] * 12 + ["odd"] * 3 + ["long"]

    def case(chance: random.Random) -> bytes:
        name = chance.choice(names)
        if chance.random() < 0.5:
            return begin + sealed_events(records[name], frames[name], chance)
        return damaged([begin + b"".join(frames[name])], chance, text=False)

    file = folder / "events.out.tfevents.1.host.1.0"
    return case, _in_file(file, lambda _: judge(folder))


def _tables(folder: Path) -> tuple[Case, Read]:
    """Three kinds of table; a first byte says which of them it is."""
    rows = [f"{100 * i},{i},{i % 7},0.01,-0.6,0.1,0.0003,0.5" for i in range(20)]
    record = {"timesteps_total": 10, "episode_reward_mean": 1.5, "info": {"learner": {"kl": 0.1}}}
    lines = [json.dumps(record | {"timesteps_total": 10 * i}) for i in range(5)]
    monitor = ['#{"t_start": 0, "env_id": "X-v0"}', "r,l,t", *(f"{i},50,{i}.5" for i in range(5))]
    texts = {"progress.csv": [[SB3, *rows], *[[SB3, *rows[:4]]] * 7]}
    texts |= {"result.json": [lines], "monitor.csv": [monitor]}
    names = list(texts)
    seeds = {
        name: ["\n".join(one).encode() + b"\n" for one in all_] for name, all_ in texts.items()
    }

    def case(chance: random.Random) -> bytes:
        number = chance.choice([0, 0, 1, 2])
        return bytes([number]) + text_cases(seeds[names[number]])(chance)

    def read(content: bytes) -> object:
        for name in names:
            (folder / name).unlink(missing_ok=True)
        name = names[(content[0] if content else 0) % len(names)]
        (folder / name).write_bytes(content[1:])
        return judge(folder)

    return case, read


def _trainer_states(folder: Path) -> tuple[Case, Read]:
    log = [{"step": i, "loss": 0.1, "reward": 0.5, "kl": 0.01, "epoch": 0.1 * i} for i in range(12)]
    seeds = [json.dumps({"log_history": log, "max_steps": 100}).encode()]
    file = folder / "trainer_state.json"
    return text_cases(seeds), _in_file(file, lambda _: judge(folder))


def _checkpoints(folder: Path) -> tuple[Case, Read]:
    """The two files of a checkpoint in one case, which begins with the length of the first."""
    store = Checkpoints(folder / "checkpoints", keep=2)
    state = {"weights": np.ones((3, 2), np.float32), "count": 3, "nested": [{"x": np.arange(4)}]}
    store.save(state, step=3, good=True, measured={"eval.return_mean": 1.5})
    path, whole = store.path(3), folder / "whole"
    shutil.copytree(path, whole)
    names = ("arrays.safetensors", "state.json")

    def case(chance: random.Random) -> bytes:
        files = {name: (whole / name).read_bytes() for name in names}
        if chance.random() < 0.25:
            struck = chance.choice(names)
            files[struck] = damaged(list(files.values()), chance, text=False)
        else:
            files = sealed_checkpoint(whole, chance)
        first, second = (files[name] for name in names)
        return len(first).to_bytes(4, "little") + first + second

    def read(content: bytes) -> object:
        length = 4 + int.from_bytes(content[:4], "little")
        (path / names[0]).write_bytes(content[4:length])
        (path / names[1]).write_bytes(content[length:])
        return store.steps(), store.best(), store.last_good(), store.load(3)

    return case, read


def _urls(folder: Path) -> tuple[Case, Read]:
    run = folder / "run"
    run.mkdir()
    (run / "config.yaml").write_text(config_of("ddpg").to_yaml(), encoding="utf-8")
    (run / "steps.jsonl").write_text("", encoding="utf-8")
    fleet = Fleet(Folder(folder))
    fleet.renew()
    page = Dashboard(fleet, access_of("127.0.0.1", 8700))
    identity = next(iter(fleet.folder.look()))
    paths = ["/", f"/run/{identity}", "/api/fleet?visible=a,b", f"/api/runs?ids={identity}"]
    paths += ["/api/rule/D001", f"/api/result/{identity}", "/compare?ids=a,b", "/viewer.js"]
    cases = text_cases([path.encode() for path in paths])

    def read(content: bytes) -> object:
        url = "/" + content.decode("utf-8", errors="replace").lstrip("/")
        if url.startswith("/events/"):
            return None  # a stream that goes on for ever, rightly
        try:
            request = EnvironBuilder(url, headers=[("Host", "127.0.0.1:8700")]).get_environ()
        except ValueError:
            return None  # the client cannot send it; a test sends such a one over a socket
        answer = TestResponse(*run_wsgi_app(page, request), Request(request))
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
    "steps": Reader(lambda folder: own_run(folder, "steps.jsonl")),
    "events": Reader(lambda folder: own_run(folder, "events.jsonl")),
    "summaries": Reader(lambda folder: own_run(folder, "summary.json")),
    "results": Reader(results),
    "settings": Reader(settings),
    "checkpoints": Reader(_checkpoints),
    "urls": Reader(_urls),
}
