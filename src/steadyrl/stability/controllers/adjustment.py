"""What a controller proposes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Adjustment:
    """Settings to change now, and why."""

    changes: Mapping[str, Any]
    because: str
