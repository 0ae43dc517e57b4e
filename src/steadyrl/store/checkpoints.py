"""Checkpoints: arrays in safetensors, all else in JSON, checksummed, visible only when complete.

    checkpoints/step-00000412/arrays.safetensors    (several files if they are large)
    checkpoints/step-00000412/state.json            structure, plain values, checksums

No pickle anywhere: a checkpoint from a stranger can be wrong, but it cannot run code.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from steadyrl.core.arrays import RawArray, SpreadArray, Storable
from steadyrl.core.errors import CheckpointError
from steadyrl.core.ordinary import read_ordinary
from steadyrl.core.traits import RETURN, Score
from steadyrl.store.arrays import read_arrays, write_arrays
from steadyrl.store.files import disk_errors, sync_folder, write_and_sync

FORMAT = 2
_ARRAY = "__array__"
_REPLACED, _DROPPED, _PARTIAL = ".replaced-", ".dropped-", ".partial-"
_COMPLETE = re.compile(rf"(?:{re.escape(_REPLACED)})?step-(\d{{8,}})")


class Checkpoints:
    """The checkpoints of one run, oldest first. `scores` is what the best is chosen by."""

    def __init__(
        self,
        folder: Path,
        *,
        keep: int,
        keep_best: bool = True,
        scores: Sequence[Score] = (RETURN,),
    ) -> None:
        self.folder, self.keep = folder, keep
        self._keep_best, self._scores = keep_best, scores
        self._held: set[int] = set()

    def hold(self, step: int) -> None:
        """Never let go of a Step's checkpoint, if there is one, while this object saves others."""
        self._held.add(step)

    def steps(self) -> list[int]:
        """The Steps at which there is a complete checkpoint."""
        names = [path.name for path in self.folder.glob("*step-*") if path.is_dir()]
        found = (_COMPLETE.fullmatch(name) for name in names)
        return sorted({int(match[1]) for match in found if match})

    def path(self, step: int) -> Path:
        """Where the checkpoint of a Step lies."""
        final = self._final(step)
        waiting = self._replaced(final)
        # A kill between the renames of `save` leaves the one that was to be replaced.
        return waiting if waiting.exists() and not final.exists() else final

    def save(
        self,
        state: Mapping[str, Any],
        *,
        step: int,
        good: bool,
        measured: Mapping[str, float] | None = None,
    ) -> Path:
        """Write a checkpoint; then let go of old ones, but not of the last good one nor the best.

        `measured` are the signals of its Step, of which the scores stay with it.
        """
        wanted = [score.signal for score in self._scores]
        scores = {name: value for name, value in (measured or {}).items() if name in wanted}
        final, scratch = self._final(step), self.folder / f"{_PARTIAL}step-{step:08d}"
        with disk_errors(final):
            self.folder.mkdir(exist_ok=True)  # not the run's own: if that is gone, it is told
            self._recover()
            try:
                scratch.mkdir()
                _write(scratch, state, {"step": step, "good": good, "scores": _finite(scores)})
                if final.exists():
                    final.rename(self._replaced(final))
                os.replace(scratch, final)  # noqa: PTH105 - the moment it becomes visible
                shutil.rmtree(self._replaced(final), ignore_errors=True)
            finally:
                shutil.rmtree(scratch, ignore_errors=True)
            sync_folder(self.folder)
            self._let_go()
        return final

    def load(self, step: int) -> dict[str, Any]:
        """Read a checkpoint back; damage of any kind is a CheckpointError."""
        return load_checkpoint(self.path(step))

    def load_latest(self) -> tuple[int, dict[str, Any], list[str]]:
        """The newest intact checkpoint, and what was wrong with newer ones."""
        problems: list[str] = []
        for step in reversed(self.steps()):
            try:
                return step, self.load(step), problems
            except CheckpointError as error:
                problems.append(str(error))
        if problems:
            raise CheckpointError(f"{problems[0]} There is no intact checkpoint to resume from.")
        raise CheckpointError(
            f"{self.folder}: no checkpoint yet, so there is nothing to resume. Start it again."
        )

    def last_good(self) -> int | None:
        """The newest Step whose checkpoint was marked good."""
        return next((step for step in reversed(self.steps()) if self.is_good(step)), None)

    def is_good(self, step: int) -> bool:
        """Whether a Step's checkpoint is there and was marked good."""
        try:
            return bool(_header(self.path(step))["good"])
        except CheckpointError:
            return False

    def best(self) -> tuple[int, float] | None:
        """The kept Step of the best score, and that score; the newest one of equals."""
        known = {step: self._scores_of(step) for step in self.steps()}
        for score in self._scores:
            found = [(step, v[score.signal]) for step, v in known.items() if score.signal in v]
            if found:
                return max(found, key=lambda pair: (score.rank(pair[1]), pair[0]))
        return None

    def would_be_best(self, measured: Mapping[str, float]) -> bool:
        """Whether a Step with these signals was evaluated, and better than every kept one."""
        score = self._scores[0]
        value = measured.get(score.signal, math.nan)
        if not self._keep_best or not math.isfinite(value):
            return False
        known = (self._scores_of(step).get(score.signal) for step in self.steps())
        return all(score.rank(value) > score.rank(other) for other in known if other is not None)

    def _scores_of(self, step: int) -> dict[str, float]:
        try:
            # Checkpoints of older versions have none.
            scores = _header(self.path(step)).get("scores")
        except CheckpointError:
            return {}
        known = scores.items() if isinstance(scores, dict) else ()
        return {name: value for name, value in known if isinstance(value, int | float)}

    def drop_after(self, step: int) -> None:
        """Forget checkpoints newer than a Step (the run continues from there), newest first."""
        if not self.folder.exists():
            return
        with disk_errors(self.folder):
            self._recover()
            for later in reversed(self.steps()):
                if later > step:
                    self._drop(later)
            sync_folder(self.folder)

    def _final(self, step: int) -> Path:
        return self.folder / f"step-{step:08d}"

    def _replaced(self, path: Path) -> Path:
        """Where a checkpoint waits while its successor takes its place."""
        return path.with_name(f"{_REPLACED}{path.name}")

    def _drop(self, step: int) -> None:
        """Gone at once: a checkpoint that is half deleted would look like a damaged one."""
        dropped = self.folder / f"{_DROPPED}step-{step:08d}"
        self._final(step).rename(dropped)
        shutil.rmtree(dropped, ignore_errors=True)

    def _recover(self) -> None:
        """Put right what a kill left behind. For the writer alone: a reader would disturb it."""
        for waiting in self.folder.glob(f"{_REPLACED}step-*"):
            final = self.folder / waiting.name.removeprefix(_REPLACED)
            if final.exists():
                shutil.rmtree(waiting, ignore_errors=True)
            else:
                waiting.rename(final)
        for useless in (*self.folder.glob(f"{_DROPPED}*"), *self.folder.glob(f"{_PARTIAL}*")):
            shutil.rmtree(useless, ignore_errors=True)

    def _let_go(self) -> None:
        steps = self.steps()
        best = self.best() if self._keep_best else None
        kept = {*steps[-self.keep :], self.last_good(), best and best[0], *self._held}
        for step in steps:
            if step not in kept:
                self._drop(step)


def has_checkpoint(run: Path) -> bool:
    """Whether a run has come so far that it can be resumed."""
    return bool(Checkpoints(run / "checkpoints", keep=1).steps())


def load_checkpoint(path: Path) -> dict[str, Any]:
    """The state saved at a path, verified against its checksums."""
    header = _header(path)
    arrays = read_arrays(path, header["arrays"])
    try:
        state: dict[str, Any] = _join(header["state"], arrays)
    except KeyError as error:
        raise CheckpointError(f"{path}: the array {error} is missing.") from None
    except (TypeError, RecursionError) as error:
        raise CheckpointError(f"{path}: state.json holds no state ({error}).") from None
    return state


def _finite(values: Mapping[str, float]) -> dict[str, float]:
    return {name: value for name, value in values.items() if math.isfinite(value)}


def _write(folder: Path, state: Mapping[str, Any], about: Mapping[str, Any]) -> None:
    arrays: dict[str, Storable] = {}
    tree = _split(state, "", arrays)
    body = {
        "format": FORMAT,
        **about,
        "arrays": write_arrays(folder, arrays),
        "state": tree,
    }
    text = json.dumps(body)
    digest = hashlib.sha256(text.encode()).hexdigest()
    write_and_sync(folder / "state.json", f"{digest}\n{text}\n".encode())


def _header(path: Path) -> dict[str, Any]:
    digest, _, text = _read(path / "state.json").decode("utf-8", "replace").partition("\n")
    text = text.removesuffix("\n")
    if hashlib.sha256(text.encode()).hexdigest() != digest:
        raise CheckpointError(f"{path}: state.json is damaged (its checksum differs).")
    try:
        body = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path}: state.json is no JSON ({error}).") from None
    if not isinstance(body, dict) or body.get("format") != FORMAT:
        found = body.get("format") if isinstance(body, dict) else None
        raise CheckpointError(f"{path}: format {found} is not {FORMAT}, which we read.")
    # A checksum says that a file is as it was written, not that we wrote it.
    wanted = {"state": dict, "arrays": dict, "good": bool}
    lacking = [name for name, kind in wanted.items() if not isinstance(body.get(name), kind)]
    if lacking:
        raise CheckpointError(f"{path}: state.json has no '{lacking[0]}' that can be used.")
    return body


def _read(path: Path) -> bytes:
    try:
        return read_ordinary(path)
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read ({error.strerror}).") from None


def _split(value: Any, name: str, arrays: dict[str, Storable]) -> Any:
    """Plain values in place, arrays moved out under their path."""
    if isinstance(value, np.ndarray | RawArray | SpreadArray):
        arrays[name] = value
        return {_ARRAY: name}
    if isinstance(value, Mapping):
        return {key: _split(item, f"{name}/{key}", arrays) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_split(item, f"{name}/{index}", arrays) for index, item in enumerate(value)]
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"state {name!r} is a {type(value).__name__}; use arrays and plain values")


def _join(value: Any, arrays: Mapping[str, Any]) -> Any:
    if isinstance(value, dict):
        if _ARRAY in value:
            return arrays[value[_ARRAY]]
        return {key: _join(item, arrays) for key, item in value.items()}
    if isinstance(value, list):
        return [_join(item, arrays) for item in value]
    return value
