"""The files that come with the package, by name; what they say is read, not understood, here."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import resources
from typing import Any

_MAPPINGS = ("store", "foreign", "mappings")


def preset_names() -> Iterator[str]:
    """All presets, as `algorithm/name`."""
    for folder in sorted(resources.files("steadyrl").joinpath("presets").iterdir(), key=str):
        for file in sorted(folder.iterdir(), key=str) if folder.is_dir() else ():
            if file.name.endswith(".yaml"):
                yield f"{folder.name}/{file.name.removesuffix('.yaml')}"


def preset_text(name: str) -> str:
    """A preset's YAML with its header."""
    return resources.files("steadyrl").joinpath("presets", f"{name}.yaml").read_text("utf-8")


def mapping_names() -> list[str]:
    """The tables of other programs' names."""
    files = sorted(resources.files("steadyrl").joinpath(*_MAPPINGS).iterdir(), key=str)
    return [file.name.removesuffix(".yaml") for file in files if file.name.endswith(".yaml")]


def mapping_text(name: str) -> str:
    """Such a table's YAML."""
    folder = resources.files("steadyrl").joinpath(*_MAPPINGS)
    return folder.joinpath(f"{name}.yaml").read_text("utf-8")


def written(name: str) -> Any:
    """What `make docs` has written from our own classes, for commands that only tell it.

    Importing every rule, or building pydantic's classes, takes longer than all else they do.
    """
    folder = resources.files("steadyrl").joinpath("written")
    return json.loads(folder.joinpath(f"{name}.json").read_text("utf-8"))
