"""The settings of a run: in force, at first, and in the preset that is nearest to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from steadyrl.core.config import flatten
from steadyrl.core.errors import ConfigError
from steadyrl.core.package_files import preset_names
from steadyrl.core.presets import load_config
from steadyrl.core.run_config import RunConfig
from steadyrl.store.reader import RunReader
from steadyrl.views.history import as_text

if TYPE_CHECKING:
    from steadyrl.judging import Recorded


@dataclass(frozen=True, slots=True)
class SettingShown:
    """A setting now, at first if that was something else, and in the nearest preset likewise."""

    name: str
    value: str
    at_first: str | None = None
    in_preset: str | None = None


def settings_of(store: Recorded) -> tuple[list[SettingShown], str]:
    """Every setting, and the name of the preset they are compared with."""
    first = dict(flatten(store.config.shown()))
    config = store.config_in_force() if isinstance(store, RunReader) else store.config
    name, preset = _nearest(first) if isinstance(store, RunReader) else ("", {})
    shown = []
    for setting, value in flatten(config.shown()):
        before, there = first.get(setting, value), preset.get(setting, value)
        shown.append(
            SettingShown(
                name=setting,
                value=as_text(value),
                at_first=None if before == value else as_text(before),
                in_preset=None if there == value or not preset else as_text(there),
            )
        )
    return shown, name


def _nearest(settings: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """The preset of the same algorithm and task that has the most settings in common."""
    same = {
        name: values
        for name, values in _presets(str(settings.get("algorithm"))).items()
        if values.get("environment.id") == settings.get("environment.id")
    }
    apart = {n: sum(settings.get(k) != v for k, v in values.items()) for n, values in same.items()}
    name = min(apart, key=lambda n: apart[n], default="")
    return name, same.get(name, {})


@cache
def _presets(algorithm: str) -> dict[str, dict[str, Any]]:
    found = {}
    for name in (name for name in preset_names() if name.startswith(f"{algorithm}/")):
        config = _loaded(name)
        if config is not None:
            found[name] = dict(flatten(config.shown()))
    return found


def _loaded(name: str) -> RunConfig | None:
    try:
        return load_config(name)
    except ConfigError:  # one that must be completed first
        return None
