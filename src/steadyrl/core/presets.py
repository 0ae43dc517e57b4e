"""How a preset name or a file becomes a config."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from steadyrl.core.config import flatten, with_overrides
from steadyrl.core.errors import ConfigError
from steadyrl.core.foreign_config import ForeignConfig
from steadyrl.core.package_files import preset_names, preset_text
from steadyrl.core.registry import ALGORITHMS, config_class
from steadyrl.core.run_config import RunConfig
from steadyrl.core.yaml_text import read_yaml


def load_config(source: str | Path, overrides: Mapping[str, Any] | None = None) -> RunConfig:
    """A config from a preset name (`ddpg/stage1`) or a YAML file, with dotted overrides.

    Examples:
        >>> load_config("ppo/cartpole", {"seed": 3, "environment.count": 4}).seed
        3

    Modules of one's own are looked for beside the file, then in the current folder; where they
    were found is written into the config, so that a resume finds them from anywhere.
    """
    config = parse_config(_values_of(source), source=str(source), overrides=overrides)
    beside = Path(source).resolve().parent if Path(source).is_file() else None
    return with_own_folder(config, beside)


def with_own_folder(config: RunConfig, beside: Path | None = None) -> RunConfig:
    """The config with the folder in which its own modules lie, if it names any and none yet."""
    names = ("environment.id", "network")
    named = [
        *(config.value_of(name, "") for name in names),
        *config.value_of("environment.wrappers", ()),
    ]
    modules = {name.partition(":")[0].partition(".")[0] for name in named if ":" in name}
    if not modules or config.value_of("environment.folder") is not None:
        return config
    for folder in (beside, Path.cwd()):
        if folder is not None and any(has_module(folder, module) for module in modules):
            return config.replaced({"environment.folder": str(folder)})
    if beside is not None and not all(map(_is_installed, modules)):
        # It is nowhere; the error that will say so names this folder as well.
        return config.replaced({"environment.folder": str(beside)})
    return config


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):  # no name of a module, or one that hides its origin
        return module in sys.modules


def has_module(folder: Path, name: str) -> bool:
    """Whether a module lies in a folder."""
    return (folder / f"{name}.py").is_file() or (folder / name / "__init__.py").is_file()


def parse_config(
    values: Mapping[str, Any], *, source: str = "config", overrides: Mapping[str, Any] | None = None
) -> RunConfig:
    """A config from plain values; `algorithm` says which."""
    overrides = overrides or {}
    algorithm = overrides.get("algorithm", values.get("algorithm"))
    known = ", ".join(ALGORITHMS)
    if algorithm is None:
        raise ConfigError(f"{source}: 'algorithm' is missing. Add one of: {known}.")
    # A foreign one is recorded, not trained: no preset and no command makes one.
    foreign = algorithm == ForeignConfig.model_fields["algorithm"].default
    try:
        kind = ForeignConfig if foreign else config_class(str(algorithm))
    except ConfigError as error:
        raise ConfigError(f"{source}: {error}") from None
    return kind.parse(with_overrides(kind, values, overrides), source=source)


def refuse_blanks(config: RunConfig) -> None:
    """A value like <a folder ...> is a blank that a preset left, and says what belongs there."""
    for name, value in flatten(config.plain()):
        if isinstance(value, str) and value.startswith("<") and value.endswith(">"):
            raise ConfigError(f"{name} is yours to give: {value[1:-1]} (--{name} PATH).")


def _values_of(source: str | Path) -> dict[str, Any]:
    path = Path(source)
    if path.is_file():
        try:
            text = path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path}: cannot be read as text: {error}.") from None
        return read_yaml(text, source=str(path))
    presets = list(preset_names())
    if str(source) in presets:
        return read_yaml(preset_text(str(source)), source=str(source))
    close = difflib.get_close_matches(str(source), presets, n=1)
    hint = f"Did you mean '{close[0]}'?" if close else "'steadyrl presets' lists the presets."
    raise ConfigError(f"{source}: neither a config file nor a preset. {hint}")
