"""Paths as kept results hold them: from the folder that the result lies in, so that it may move."""

from __future__ import annotations

import os
from pathlib import Path

from steadyrl.core.errors import StoreError

_OF_A_RUN = ("config.yaml", "steps.jsonl", "events.jsonl", "summary.json")


def relative_to(folder: Path, path: Path) -> str:
    """How a result in `folder` names a path."""
    return Path(os.path.relpath(path, folder)).as_posix()


def resolve(folder: Path, text: str) -> Path:
    """The path that a result in `folder` names, which neither it nor a link may lead out of it."""
    path = folder / text
    try:
        home = folder.resolve()
        places = [place.resolve() for place in (path, *(path / name for name in _OF_A_RUN))]
        outside = not all(place.is_relative_to(home) for place in places)
    except (OSError, ValueError, RuntimeError):  # no name of a file, or a link to itself
        outside = True
    if outside:
        raise StoreError(f"{folder}: its result names '{text}', which lies outside of it.")
    return path
