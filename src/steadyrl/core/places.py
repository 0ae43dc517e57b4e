"""Where things are kept that belong to the user and to no run."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """What may be deleted at any time: XDG_CACHE_HOME or ~/.cache, and there in steadyrl."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "steadyrl"
