"""Figures of kept results, as text."""

from __future__ import annotations

from typing import Any

from steadyrl.core.numbers import amount


def figure(value: Any, digits: int = 4) -> str:
    """A figure from a kept result in so many significant digits; null: not measured."""
    if isinstance(value, int | float):
        return amount(value, digits)
    return "-" if value is None else str(value)


def number(value: Any, spec: str) -> str:
    """A figure from a kept result, where null means that it was not measured."""
    if value is None:
        return "-"
    return format(value, spec) if isinstance(value, int | float) else str(value)
