"""Which of a run's checkpoints is meant: the best evaluated, the last, or that of a Step."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from steadyrl.core.errors import CheckpointError, ConfigError
from steadyrl.core.numbers import amount
from steadyrl.core.traits import Score
from steadyrl.store.reader import RunReader


@dataclass(frozen=True, slots=True)
class Chosen:
    """A checkpoint that is kept, and why this one."""

    step: int
    because: str
    score: float | None = None  # as evaluated at its Step


def choose_checkpoint(store: RunReader, which: str | int = "best") -> Chosen:
    """The checkpoint that `best`, `last` or the number of a Step stands for."""
    kept, wanted = store.checkpoints.steps(), str(which)
    if not kept:
        raise CheckpointError(f"{store.path}: no checkpoint yet, so there is no policy to load.")
    if wanted == "last":
        return Chosen(kept[-1], f"the last checkpoint, update {kept[-1]}")
    if wanted == "best":
        return _best(store, kept)
    if not wanted.isdecimal() or int(wanted) not in kept:
        raise ConfigError(
            f"checkpoint '{wanted}': use best, last, or one of the updates that were kept: "
            f"{', '.join(map(str, kept))}."
        )
    return Chosen(int(wanted), f"update {int(wanted)}")


def _best(store: RunReader, kept: list[int]) -> Chosen:
    """The one with the best score at its own Step; if none has any, after the best one before it.

    The second is for runs that did not keep their best checkpoint.
    """
    for score in store.config.scores:
        found = {step.index: step.signals.get(score.signal) for step in store.steps()}
        measured = {
            index: value for index, value in found.items() if value is not None and isfinite(value)
        }
        if measured:
            return _best_by(score, measured, kept)
    return Chosen(kept[-1], f"the last checkpoint, update {kept[-1]}: none was evaluated")


def _best_by(score: Score, measured: dict[int, float], kept: list[int]) -> Chosen:
    known = {step: measured[step] for step in kept if step in measured}
    if not known:
        before = {step: [index for index in measured if index <= step] for step in kept}
        known = {step: measured[max(found)] for step, found in before.items() if found}
    if not known:
        return Chosen(kept[-1], f"the last checkpoint, update {kept[-1]}: none was evaluated")
    best = max(known, key=lambda step: (score.rank(known[step]), step))
    because = (
        f"the best checkpoint that was kept, update {best}, evaluated at {amount(known[best])}"
    )
    top = max(measured, key=lambda index: score.rank(measured[index]))
    if score.rank(measured[top]) > score.rank(known[best]):
        because += f" (update {top} reached {amount(measured[top])}, but its weights were not kept)"
    return Chosen(best, because, known[best])
