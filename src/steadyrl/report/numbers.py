"""Figures of kept results, as text."""

from __future__ import annotations

from typing import Any


def number(value: Any, spec: str) -> str:
    """A figure from a kept result, where null means that it was not measured."""
    if value is None:
        return "-"
    return format(value, spec) if isinstance(value, int | float) else str(value)
