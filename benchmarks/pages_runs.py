"""Folders of runs for benchmarks/pages.py: long ones, many small ones, and one that grows."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import orjson
from numpy.typing import NDArray
from read_events import VERSION, framed, scalars, varint

from steadyrl.core.presets import load_config
from steadyrl.core.signals import CATALOGUE
from steadyrl.store.writer import RunWriter

PER_STEP = 128  # env steps
SPIKE = 987_654.0
NAMES = [
    "rollout.return_mean",
    "rollout.length_mean",
    "policy.kl",
    "policy.clip_fraction",
    "policy.entropy",
    "policy.loss",
    "value.loss",
    "value.explained_variance",
    "policy.gradient_norm",
]


def names(count: int) -> list[str]:
    """So many signals of the catalogue, the usual ones first."""
    return [*NAMES, *(name for name in CATALOGUE if name not in NAMES)][:count]


def values(count: int, signals: int, seed: int = 0) -> NDArray[np.float64]:
    """A run that learns: a row per Step."""
    generator = np.random.default_rng(seed)
    drawn = np.abs(generator.normal(0.01, 0.002, (count, signals)))
    drawn[:, :2] = 400 * np.linspace(0, 1, count)[:, None] + generator.normal(0, 10, (count, 2))
    return drawn


def make_run(path: Path, count: int, signals: int, *, odd: bool = False, seed: int = 0) -> Path:
    """A finished run; with `odd` one spike and one NaN are somewhere in its return."""
    config = load_config("ppo/cartpole").replaced({"total_env_steps": count * PER_STEP})
    RunWriter.create(path, config).close()
    table, called = values(count, signals, seed), names(signals)
    if odd:
        table[count // 3, 0], table[count // 2, 0] = SPIKE, np.nan
    with (path / "steps.jsonl").open("wb") as file:
        for index, row in enumerate(table.tolist(), 1):
            file.write(line(index, called, row))
    ended = {"status": "finished", "steps": count, "message": ""}
    (path / "summary.json").write_text(json.dumps(ended))
    return path


def line(index: int, called: list[str], row: list[float]) -> bytes:
    """A Step as our runs hold it."""
    held = {n: ("nan" if v != v else v) for n, v in zip(called, row, strict=True)}
    head = {"index": index, "taken": index * PER_STEP, "seconds": index * 0.1}
    return orjson.dumps({**head, "signals": held}) + b"\n"


def mirror(run: Path, count: int) -> None:
    """The return of such a run as TensorBoard's event file, in the same folder."""
    folder = run / "tensorboard"
    folder.mkdir()
    returns, steps = values(count, 12)[:, 0], np.arange(1, count + 1)
    returns[count // 3], returns[count // 2] = SPIKE, np.nan
    widths = np.array([len(varint(step)) for step in steps.tolist()])
    parts = [framed(np.frombuffer(VERSION, dtype=np.uint8)[None])]
    for width in np.unique(widths).tolist():
        held = widths == width
        parts.append(scalars("rollout/ep_rew_mean", steps[held], width, returns[held]))
    content = b"".join(part.tobytes() for part in parts)
    (folder / "events.out.tfevents.1.here.1.0").write_bytes(content)


def events_only(run: Path, path: Path) -> None:
    """The same event file by itself, as another program would have written it."""
    shutil.copytree(run / "tensorboard", path)


def copies(folder: Path, count: int) -> None:
    """So many small runs, each with its event file."""
    first = make_run(folder / "run-00000", 50, 12)
    mirror(first, 50)
    for number in range(1, count):
        shutil.copytree(first, folder / f"run-{number:05d}")
