"""What a remedy would change in this very run, in the run's own words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from steadyrl.core.catalogue import CATALOGUE
from steadyrl.core.foreign_config import as_ours
from steadyrl.core.records import Diagnosis, told_change
from steadyrl.stability.remedies import REMEDIES
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def prescriptions(
    diagnoses: Sequence[Diagnosis],
    config: RunConfig,
    window: Window,
    names: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """For each remedy that changes settings: which, from what to what.

    `names` are the settings' names in another program, or in words what does the same there where
    it has none; only what is known there is changed.
    """
    names = names or {}
    ours = as_ours(config, {n.removeprefix("setting."): window.latest(n) for n in _logged(window)})
    if ours is None:
        return {}
    found = {}
    for identity in dict.fromkeys(name for d in diagnoses for name in d.remedies):
        changes = REMEDIES[identity].proposal(ours, window) or {}
        parts = []
        for name, after in changes.items():
            if config is not ours and names and " " in names.get(name, " "):
                parts.append(_in_words(names, name, after, config.recorded_by))
                continue
            before = config.value_of(name)
            if before is None and window.has(f"setting.{name}"):
                before = window.latest(f"setting.{name}")
            if before != after and (before is not None or config is ours):
                parts.append(told_change(names.get(name, name), before, after))
        if parts:
            found[identity] = ", ".join(parts)
    return found


def _in_words(names: Mapping[str, str], name: str, after: object, program: str) -> str:
    """A setting that another program does not have: what to do instead, or that there is none."""
    if name in names:
        return f"{names[name]} (our {name} = {after})"
    return f"{name} = {after}, for which {program} has no setting"


def _logged(window: Window) -> list[str]:
    """Settings that the log itself tells."""
    return [name for name in CATALOGUE if name.startswith("setting.") and window.has(name)]
