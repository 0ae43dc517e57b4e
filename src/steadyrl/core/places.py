"""Where things are kept that belong to the user and to no run."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def cache_folder() -> Path:
    """What may be deleted at any time: XDG_CACHE_HOME or ~/.cache, and there in steadyrl."""
    base = os.environ.get("XDG_CACHE_HOME")
    if base:
        return Path(base) / "steadyrl"
    try:
        return Path.home() / ".cache" / "steadyrl"
    except RuntimeError:  # a container's user without a name and without HOME
        return Path(tempfile.gettempdir()) / f"steadyrl-{os.getuid()}"
