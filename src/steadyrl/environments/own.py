"""What people bring along: things of their own modules, as `module:name`.

A module is looked for in the folder that the config names (or that it lies in), in the current
folder, and among the installed packages; an error says so.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from steadyrl.core.errors import ConfigError
from steadyrl.core.presets import has_module


def imported(place: str, folder: str | None, *, setting: str) -> Any:
    """The thing that `module:name` stands for."""
    module_name, _, name = place.partition(":")
    module = own_module(module_name, folder, setting=f"{setting} = '{place}'")
    if not name:
        raise ConfigError(
            f"{setting} = '{place}' names a module: say what in it, as '{place}:name'. "
            f"{_kept(_brought(module))}"
        )
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            public = _brought(module)
            close = difflib.get_close_matches(name, public, n=1)
            hint = f"Did you mean '{module_name}:{close[0]}'?" if close else f"{_kept(public)}"
            raise ConfigError(f"{setting} = '{place}': {_where(module)} has no '{name}'. {hint}")
        found = getattr(found, part)
    return found


def own_module(name: str, folder: str | None, *, setting: str) -> ModuleType:
    """A module by its name; `setting` says in errors who asked for it."""
    places = [str(Path(place).resolve()) for place in (folder, Path.cwd()) if place is not None]
    for place in reversed(places):
        if has_module(Path(place), name.partition(".")[0]) and sys.path[:1] != [place]:
            # As Python does with the folder of a script: what lies beside it comes first.
            sys.path.insert(0, place)
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise ConfigError(
                f"{setting}: {name} imports '{error.name}', which is not installed."
            ) from None
        looked = " and ".join(dict.fromkeys(places))
        raise ConfigError(
            f"{setting}: there is no module '{error.name}'. Looked in {looked} and among the "
            f"installed packages. Put {error.name}.py beside the config, or name its folder with "
            "environment.folder."
        ) from None
    except Exception as error:
        raise ConfigError(f"{setting}: {told_fault(error, f'importing {name}')}") from error
    _refuse_namesake(module, name, places, setting)
    return module


def told_fault(error: BaseException, doing: str) -> str:
    """What went wrong in somebody else's code, and in which line, as one sentence."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}, line {error.lineno}: {error.msg}."
    frames = traceback.extract_tb(error.__traceback__)
    last = frames[-1] if frames else None
    where = f" ({last.filename}, line {last.lineno})" if last else ""
    text = " ".join(str(error).split()) or "no message"
    return f"{doing} failed with {type(error).__name__}: {text.rstrip('.')}{where}."


def _refuse_namesake(module: ModuleType, name: str, places: list[str], setting: str) -> None:
    """A module of the same name that was imported before would silently take its place."""
    file = getattr(module, "__file__", None)
    for place in places:
        if has_module(Path(place), name.partition(".")[0]):
            if file is not None and not Path(file).resolve().is_relative_to(place):
                raise ConfigError(
                    f"{setting}: '{name}' in {place} is hidden by {file}, which was imported "
                    "before. Give one of them another name."
                )
            return


def _where(module: ModuleType) -> str:
    return getattr(module, "__file__", None) or module.__name__


def _brought(module: ModuleType) -> list[str]:
    """What it makes itself; what it imports only if there is nothing else."""
    public = {name: thing for name, thing in vars(module).items() if not name.startswith("_")}
    own = [n for n, thing in public.items() if getattr(thing, "__module__", "") == module.__name__]
    return own or list(public)


def _kept(names: list[str]) -> str:
    return f"It has {', '.join(names[:8])}." if names else "It is empty."
