"""Demonstrations: observations, actions, and where each trajectory begins."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyrl.core.errors import DataError

Array = NDArray[Any]


@dataclass(frozen=True)
class Demonstrations:
    """Transitions in order; `starts` holds the first row of every trajectory."""

    observations: Array  # (rows, ...); float32, or uint8 images
    actions: NDArray[np.float32]  # (rows, components)
    starts: NDArray[np.int64]
    source: str
    kept: NDArray[np.int64]  # each row's number in the file, before filtering

    def __len__(self) -> int:
        return len(self.actions)

    @property
    def trajectories(self) -> int:
        """How many there are."""
        return len(self.starts)

    def fingerprint(self) -> str:
        """Tells these transitions from any others."""
        digest = hashlib.sha256(np.ascontiguousarray(self.observations).tobytes())
        digest.update(np.ascontiguousarray(self.actions).tobytes())
        return digest.hexdigest()

    @property
    def images(self) -> bool:
        """Whether observations are pictures."""
        return self.observations.ndim == 4

    def trajectory(self, number: int) -> Demonstrations:
        """One of them."""
        ends = [*self.starts[1:], len(self)]
        return self._rows(np.arange(self.starts[number], ends[number]))

    def first(self, count: int) -> Demonstrations:
        """The first so many trajectories."""
        if count > self.trajectories:
            raise DataError(
                f"demonstrations.trajectories = {count}: {self.source} has {self.trajectories}."
            )
        ends = [*self.starts[1:], len(self)]
        return self._rows(np.arange(ends[count - 1]))

    def without_zero_actions(self, tolerance: float = 1e-8) -> Demonstrations:
        """Only transitions in which something is done."""
        doing = np.flatnonzero(np.abs(self.actions).max(axis=1) > tolerance)
        if not len(doing):
            raise DataError(f"{self.source}: every action is zero; there is nothing to clone.")
        return self._rows(doing)

    def split(self, share: float, generator: np.random.Generator) -> tuple[Demonstrations, Array]:
        """Rows to learn from, and the rows of the trajectories kept back (none for share 0)."""
        held = round(share * self.trajectories)
        if share > 0 and not 0 < held < self.trajectories:
            raise DataError(
                f"demonstrations.validation_share = {share:g} of {self.trajectories} trajectories "
                "keeps back none or all of them: whole trajectories are split, since neighbouring "
                "transitions resemble each other. Record more, or set it to 0."
            )
        chosen = generator.permutation(self.trajectories)[:held]
        of = self.trajectory_of_rows()
        back = np.isin(of, chosen)
        return self._rows(np.flatnonzero(~back)), np.flatnonzero(back)

    def trajectory_of_rows(self) -> NDArray[np.int64]:
        """Each row's trajectory."""
        return np.searchsorted(self.starts, np.arange(len(self)), side="right") - 1

    def _rows(self, rows: Array) -> Demonstrations:
        of = self.trajectory_of_rows()[rows]
        first = np.flatnonzero(np.diff(of, prepend=-1))
        return Demonstrations(
            self.observations[rows],
            self.actions[rows],
            first.astype(np.int64),
            self.source,
            self.kept[rows],
        )


def channels_first(pictures: Array) -> Array:
    """Cameras give channels last, convolutions want them first."""
    return np.moveaxis(pictures, -1, 1) if has_channels_last(pictures.shape[1:]) else pictures


def has_channels_last(shape: tuple[int, ...]) -> bool:
    """Whether pictures of this shape end with their colours."""
    return shape[-1] in (1, 3, 4, 9, 12) and shape[0] > 12


def made(observations: Any, actions: Any, starts: Sequence[int], source: str) -> Demonstrations:
    """From arrays, once they have been looked at: numbers, as many of each, all finite."""
    seen = np.asarray(observations)
    if seen.dtype == object or seen.dtype.kind not in "fiub":
        raise DataError(f"{source}: observations have type {seen.dtype}; numbers are needed.")
    if len(seen) != len(actions):
        raise DataError(f"{source}: {len(seen)} observations for {len(actions)} actions.")
    if not len(actions):
        raise DataError(f"{source}: it holds no transition.")
    with np.errstate(over="ignore"):  # what float32 cannot hold is told below, with its place
        if not (seen.dtype == np.uint8 and seen.ndim == 4):
            seen = np.ascontiguousarray(seen.reshape(len(seen), -1), dtype=np.float32)
        else:
            seen = channels_first(seen)
        acted = np.ascontiguousarray(actions, dtype=np.float32)
    for what, array in (("observation", seen), ("action", acted)):
        if array.dtype != np.uint8 and not np.isfinite(array).all():
            row, column = (int(part) for part in np.argwhere(~np.isfinite(array))[0])
            raise DataError(
                f"{source}: {what}[{column}] of transition {row} is {array[row, column]}. Remove "
                "such transitions, or mend the recording."
            )
    return Demonstrations(
        seen, acted, np.asarray(starts, dtype=np.int64), source, np.arange(len(acted))
    )
