"""Environments handed over from Python: an object, a class or a factory instead of an id."""

from __future__ import annotations

import copy
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium

from steadyrl.core.errors import ConfigError, EnvironmentFault

Environment = gymnasium.Env[Any, Any]
Given = Environment | type[Environment] | Callable[..., Environment]
PREFIX = "handed-over/"

_given: dict[str, Callable[..., Environment]] = {}


def hand_over(environment: Given | str) -> dict[str, Any]:
    """The settings by which a config names it.

    What can be imported is named by its import path, so that workers, resumes and forks find it by
    themselves. All else lives only in this process and must be handed over again.
    """
    if isinstance(environment, str):
        return {"environment.id": environment}
    if not callable(environment) and not isinstance(environment, gymnasium.Env):
        raise ConfigError(
            f"environment = {environment!r} is a {type(environment).__name__}: give an id, a "
            "gymnasium.Env, its class, or a function that makes one."
        )
    place = None if isinstance(environment, gymnasium.Env) else _import_path(environment)
    if place is not None:
        module, folder = place
        return {"environment.id": module, "environment.folder": folder}
    name = getattr(environment, "__name__", type(environment).__name__).strip("<>")
    id_ = f"{PREFIX}{name}"
    _given[id_] = _copies_of(environment) if isinstance(environment, gymnasium.Env) else environment
    return {"environment.id": id_}


def was_given(id_: str) -> bool:
    """Whether an id stands for something that was handed over."""
    return id_.startswith(PREFIX)


def make_given(id_: str, **settings: Any) -> Environment:
    """One more of what was handed over."""
    if id_ not in _given:
        raise EnvironmentFault(
            f"environment '{id_}' was handed over from Python and is not here any more. Hand it "
            "over again: steadyrl.resume(run, environment=...)."
        )
    return _given[id_](**settings)


def _copies_of(environment: Environment) -> Callable[..., Environment]:
    def make(**settings: Any) -> Environment:
        asked = settings.pop("render_mode", environment.render_mode)
        if settings or asked != environment.render_mode:
            raise EnvironmentFault(
                "an environment that was handed over as an object cannot be made with other "
                "settings. Hand over its class, or a function that makes it."
            )
        try:
            return copy.deepcopy(environment)
        except Exception as error:
            raise EnvironmentFault(
                f"{environment} cannot be copied ({type(error).__name__}: {error}), and training "
                "and evaluation need one each. Hand over its class, or a function that makes it."
            ) from None

    return make


def _import_path(thing: Any) -> tuple[str, str | None] | None:
    """(`module:name`, folder) of what another process can import, or None."""
    module, name = getattr(thing, "__module__", ""), getattr(thing, "__qualname__", "")
    holder = sys.modules.get(module)
    if not holder or module == "__main__" or "<" in name or inspect.ismethod(thing):
        return None
    found: Any = holder
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is not thing:
        return None
    file = getattr(sys.modules.get(module.partition(".")[0]), "__file__", None)
    if file is None or "site-packages" in file:
        return f"{module}:{name}", None
    path = Path(file).resolve()
    folder = path.parent.parent if path.name == "__init__.py" else path.parent
    return f"{module}:{name}", str(folder)
