"""One measured quantity, and the short way to declare it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Reduction = Literal["mean", "max", "min", "last", "sum"]


@dataclass(frozen=True, kw_only=True)
class Signal:
    """One measured quantity."""

    name: str
    meaning: str
    unit: str
    reduce: Reduction
    tag: str
    deterministic: bool = True  # false: depends on the clock, so exact resume does not cover it
    nan_when: str = ""  # what a NaN of this signal says; else NaN means that something broke


def signal(
    name: str,
    meaning: str,
    unit: str,
    tag: str,
    reduce: Reduction = "mean",
    deterministic: bool = True,
    nan_when: str = "",
) -> Signal:
    """A signal, declared in one breath."""
    return Signal(
        name=name,
        meaning=meaning,
        unit=unit,
        reduce=reduce,
        tag=tag,
        deterministic=deterministic,
        nan_when=nan_when,
    )
