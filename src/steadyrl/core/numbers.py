"""Numbers as people write them, for sentences and tables."""

from __future__ import annotations

import math

LARGE, SMALL = 1e9, 1e-4  # beyond these a power of ten is easier to read than zeros


def counted(count: int, what: str) -> str:
    """`1 rule`, `12 rules`."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def amount(value: float, digits: int = 4) -> str:
    """So many significant digits, thousands apart: -36,410 rather than -3.641e+04."""
    size = abs(value)
    if not math.isfinite(value) or size >= LARGE or 0 < size < SMALL:
        return f"{value:.{digits}g}"
    rounded = float(f"{value:.{digits}g}")
    if abs(rounded) >= 10 ** (digits - 1):
        return f"{rounded:,.0f}"
    return f"{rounded:,.{digits}g}"
