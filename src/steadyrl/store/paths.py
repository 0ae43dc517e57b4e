"""Paths as kept results hold them: from the folder that the result lies in, so that it may move."""

from __future__ import annotations

import os
from pathlib import Path


def relative_to(folder: Path, path: Path) -> str:
    """How a result in `folder` names a path."""
    return Path(os.path.relpath(path, folder)).as_posix()


def resolve(folder: Path, text: str) -> Path:
    """The path that a result in `folder` names."""
    return folder / text
