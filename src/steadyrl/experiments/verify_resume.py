"""Proof that resume is exact: one run unbroken, one killed with SIGKILL again and again.

Both must record the same Steps, bit for bit in every signal that does not read the clock, and end
with the same checkpoint, bit for bit in every array.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from steadyrl.core.errors import StoreError
from steadyrl.core.records import Step
from steadyrl.core.run_config import RunConfig
from steadyrl.core.signals import CATALOGUE
from steadyrl.store.checkpoints import has_checkpoint
from steadyrl.store.files import write_atomically
from steadyrl.store.run_directory import RunDirectory

POLL_SECONDS = 0.01


@dataclass
class Verdict:
    """What the comparison found."""

    steps: int
    signals: int
    arrays: int
    killed_at: list[int] = field(default_factory=list)  # Steps recorded when the kill came
    differences: list[str] = field(default_factory=list)

    @property
    def exact(self) -> bool:
        """Whether the two runs are the same."""
        return not self.differences and bool(self.killed_at)


def verify_resume(
    config: RunConfig, folder: Path, *, kills: int, say: Callable[[str], None]
) -> Verdict:
    """Run both, kill one `kills` times at random Steps, compare."""
    file = folder / "config.yaml"
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(file, config.to_yaml().encode())
    say("unbroken run ...")
    _finish(_start(["train", str(file), "--runs", str(folder), "--name", "unbroken"]))
    unbroken = folder / "unbroken"
    total = sum(1 for _ in RunDirectory.open(unbroken).steps())
    generator = np.random.default_rng(config.seed)
    moments = np.sort(generator.integers(1, max(total, 2), size=kills)).tolist()
    broken = folder / "broken"
    killed_at = []
    for number, moment in enumerate(moments, 1):
        say(f"killed run: kill {number} of {kills} at step {moment} of {total} ...")
        process = _start(_continue_or_begin(broken, file))
        recorded = _kill_at(process, broken, moment)
        if recorded is not None:
            killed_at.append(recorded)
    say("killed run: to its end ...")
    _finish(_start(_continue_or_begin(broken, file)))
    verdict = compare_runs(unbroken, broken)
    verdict.killed_at = killed_at
    return verdict


def compare_runs(first: Path, second: Path) -> Verdict:
    """Bit-for-bit comparison of two runs' Steps and last checkpoints."""
    ours, theirs = RunDirectory.open(first), RunDirectory.open(second)
    our_steps, their_steps = list(ours.steps()), list(theirs.steps())
    differences = []
    if len(our_steps) != len(their_steps):
        differences.append(f"{len(our_steps)} Steps against {len(their_steps)}")
    for mine, other in zip(our_steps, their_steps, strict=False):
        differences += _step_differences(mine, other)
    our_state = _leaves(ours.checkpoints.load(ours.checkpoints.steps()[-1]))
    their_state = _leaves(theirs.checkpoints.load(theirs.checkpoints.steps()[-1]))
    for name in our_state.keys() | their_state.keys():
        if not _same(our_state.get(name), their_state.get(name)):
            differences.append(f"last checkpoint: {name}")
    signals = len(our_steps[-1].signals) if our_steps else 0
    arrays = sum(isinstance(value, np.ndarray) for value in our_state.values())
    return Verdict(len(our_steps), signals, arrays, differences=differences)


def _step_differences(mine: Step, other: Step) -> list[str]:
    ours, theirs = _deterministic(mine), _deterministic(other)
    if mine.taken != other.taken or ours.keys() != theirs.keys():
        return [f"step {mine.index}: other environment steps or signals"]
    return [
        f"step {mine.index}: {name} {value!r} against {theirs[name]!r}"
        for name, value in ours.items()
        if not _same(value, theirs[name])
    ]


def _deterministic(step: Step) -> dict[str, float]:
    return {name: v for name, v in step.signals.items() if CATALOGUE[name].deterministic}


def _same(mine: Any, other: Any) -> bool:
    if not isinstance(mine, np.ndarray | float) or not isinstance(other, np.ndarray | float):
        return bool(mine == other)
    return bool(np.array_equal(np.asarray(mine), np.asarray(other), equal_nan=True))


def _leaves(state: Any, name: str = "") -> dict[str, Any]:
    """Every array and plain value of a checkpoint, but for the clock and the log's length."""
    if isinstance(state, dict):
        parts = [_leaves(value, f"{name}/{key}") for key, value in state.items()]
    elif isinstance(state, list):
        parts = [_leaves(value, f"{name}/{index}") for index, value in enumerate(state)]
    else:
        return {} if name in ("/learner/counters/seconds", "/events") else {name: state}
    return {key: value for part in parts for key, value in part.items()}


def _continue_or_begin(run: Path, config: Path) -> list[str]:
    """The command that brings the killed run forward, however early the kill came."""
    if has_checkpoint(run):
        return ["train", "--resume", str(run)]
    return ["train", str(config), "--runs", str(run.parent), "--name", _fresh(run)]


def _fresh(run: Path) -> str:
    """A run killed before its first checkpoint has nothing to resume: it begins again."""
    if run.exists():
        aside = 1
        while (run.parent / f"{run.name}-abandoned-{aside}").exists():
            aside += 1
        run.rename(run.parent / f"{run.name}-abandoned-{aside}")
    return run.name


def _start(arguments: list[str]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "steadyrl", *arguments, "--quiet", "--json"]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def _finish(process: subprocess.Popen[bytes]) -> None:
    _, errors = process.communicate()
    if process.returncode != 0:
        raise StoreError(f"a run of the proof failed: {errors.decode().strip()}")


def _kill_at(process: subprocess.Popen[bytes], run: Path, moment: int) -> int | None:
    """SIGKILL once `moment` Steps are recorded, some of them new; None if it was done before."""
    moment = max(moment, _recorded(run) + 1)
    while True:
        try:
            _, errors = process.communicate(timeout=POLL_SECONDS)
        except subprocess.TimeoutExpired:
            recorded = _recorded(run)
            if recorded >= moment:
                os.kill(process.pid, signal.SIGKILL)
                process.communicate()
                return recorded
            continue
        if process.returncode != 0:
            raise StoreError(f"a run of the proof failed: {errors.decode().strip()}")
        return None


def _recorded(run: Path) -> int:
    file = run / "steps.jsonl"
    return file.read_bytes().count(b"\n") if file.exists() else 0
