"""Every training episode, and every evaluation: Monitor files and evaluations.npz, read fast."""

from __future__ import annotations

import io
import struct
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from steadyrl.core.ordinary import read_ordinary, unpacked
from steadyrl.store.foreign.series import Series, running_mean
from steadyrl.store.foreign.tables import read_monitor

Floats = NDArray[np.float64]
EPISODES = 100  # whose mean is the return of training episodes
# What zip archives and arrays raise when they are damaged, encrypted or of an unknown kind.
_UNREADABLE = (
    *(OSError, KeyError, ValueError, EOFError, RuntimeError, MemoryError),
    *(zipfile.BadZipFile, zlib.error, struct.error, tokenize.TokenError, SyntaxError),
)
_LARGEST = 1 << 28  # bytes of an evaluations.npz that are unpacked


def read_monitors(files: Sequence[Path], problems: list[str]) -> dict[str, Series]:
    """Returns and lengths of training episodes from Monitor files, one per environment."""
    parts = []
    for file in files:
        episodes = _quickly(file)
        if episodes is None:
            table = read_monitor(file)
            problems += table.problems
            rows = [[row["r"], row["l"], row["t"]] for row in table.rows]
            episodes = np.array(rows, dtype=np.float64).reshape(-1, 3)
        if len(episodes):
            steps = np.cumsum(np.minimum(episodes[:, 1], 2.0**40)) * len(files)
            parts.append(np.column_stack([episodes, steps]))
    if not parts:
        return {}
    found = np.concatenate(parts)
    found = found[np.argsort(found[:, 3], kind="stable")]
    steps = np.minimum(found[:, 3], 2.0**62).astype(np.int64)
    order = np.arange(len(found), dtype=np.float64)
    returns = Series(steps, found[:, 2], found[:, 0], order)
    lengths = returns.with_values(found[:, 1])
    return {
        "rollout.return_mean": running_mean(returns, EPISODES),
        "rollout.episode_return": returns,
        "rollout.length_mean": running_mean(lengths, EPISODES),
    }


def _quickly(file: Path) -> Floats | None:
    """Return, length and time of each episode, if the file is nothing but numbers."""
    try:
        text = read_ordinary(file).decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    lines = text.split("\n", 2)
    if len(lines) < 3 or not lines[0].startswith("#") or not text.endswith("\n"):
        return None
    names = lines[1].strip().split(",")
    if not {"r", "l", "t"} <= set(names):
        return None
    cells = lines[2].strip().replace("\r", "").replace("\n", ",")
    if not cells:
        return np.empty((0, 3))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # what is no number is only warned of
            numbers = np.fromstring(cells, dtype=np.float64, sep=",")
    except (DeprecationWarning, ValueError):
        return None
    if len(numbers) != (cells.count(",") + 1) or len(numbers) % len(names):
        return None
    found = numbers.reshape(-1, len(names))[:, [names.index(name) for name in ("r", "l", "t")]]
    return found if bool(np.all(found[:, 1] >= 0)) else None


def read_evaluations(file: Path, problems: list[str]) -> dict[str, Series]:
    """Mean and spread of the episodes of each evaluation, as an EvalCallback keeps them."""
    arrays = {name: _array(file, name) for name in ("timesteps", "results", "ep_lengths")}
    steps, results, lengths = arrays["timesteps"], arrays["results"], arrays["ep_lengths"]
    if steps is None or results is None or results.ndim != 2 or len(steps) != len(results):
        problems.append(f"{file.name}: holds no evaluations that can be read.")
        return {}
    order = np.arange(len(steps), dtype=np.float64)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mean, spread = results.mean(axis=1), results.std(axis=1)
    series = Series(steps.astype(np.int64), order, mean, order)
    found = {"eval.return_mean": series, "eval.return_std": series.with_values(spread)}
    if lengths is not None and lengths.shape == results.shape:
        found["eval.length_mean"] = series.with_values(lengths.mean(axis=1))
    return found


def _array(file: Path, name: str) -> Floats | None:
    """One array of an .npz file; pickled objects are not read."""
    try:
        with zipfile.ZipFile(file) as archive:
            content = unpacked(archive, f"{name}.npy", _LARGEST)
        loaded = np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
    except _UNREADABLE:  # whatever is wrong with it, the caller says that nothing could be read
        return None
    return loaded.astype(np.float64) if loaded.dtype.kind in "fiu" else None
