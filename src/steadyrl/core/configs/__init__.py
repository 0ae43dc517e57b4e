"""The configs of all algorithms, and how a preset name or a file becomes one."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from steadyrl.core.config import read_yaml, with_overrides
from steadyrl.core.configs.bc import BCConfig
from steadyrl.core.configs.ddpg import DDPGConfig
from steadyrl.core.configs.foreign import ForeignConfig
from steadyrl.core.configs.ppo import PPOConfig
from steadyrl.core.configs.run import RunConfig
from steadyrl.core.configs.trpo import TRPOConfig
from steadyrl.core.errors import ConfigError

ALGORITHMS: Mapping[str, type[RunConfig]] = {
    "ddpg": DDPGConfig,
    "ppo": PPOConfig,
    "trpo": TRPOConfig,
    "bc": BCConfig,
}


def preset_names() -> Iterator[str]:
    """All presets, as `algorithm/name`."""
    for folder in sorted(resources.files("steadyrl").joinpath("presets").iterdir(), key=str):
        for file in sorted(folder.iterdir(), key=str) if folder.is_dir() else ():
            if file.name.endswith(".yaml"):
                yield f"{folder.name}/{file.name.removesuffix('.yaml')}"


def preset_text(name: str) -> str:
    """A preset's YAML with its header."""
    return resources.files("steadyrl").joinpath("presets", f"{name}.yaml").read_text("utf-8")


def load_config(source: str | Path, overrides: Mapping[str, Any] | None = None) -> RunConfig:
    """A config from a preset name (`ddpg/stage1`) or a YAML file, with dotted overrides."""
    return parse_config(_values_of(source), source=str(source), overrides=overrides)


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
    kind = ForeignConfig if algorithm == "foreign" else ALGORITHMS.get(str(algorithm))
    if kind is None:
        raise ConfigError(f"{source}: algorithm = {algorithm!r} is not one of: {known}.")
    return kind.parse(with_overrides(kind, values, overrides), source=source)


def as_ours(config: RunConfig, logged: Mapping[str, Any]) -> RunConfig | None:
    """Another program's run as a config of our trainer of that kind, as far as it is known.

    `logged` are settings that stand in its log; those given with the run come before them.
    """
    if not isinstance(config, ForeignConfig):
        return config
    kind = ALGORITHMS.get(config.judged_as)
    if kind is None:
        return None
    ours = kind.parse({"environment": config.environment})
    for name, value in {**logged, **config.known}.items():
        if name not in kind.model_fields:
            continue
        if isinstance(value, int) and isinstance(getattr(ours, name), float):
            value = float(value)  # others write 1 where a number with a point is meant
        try:
            ours = ours.replaced({name: value})
        except ConfigError:  # a value that our trainer would refuse: leave the default
            continue
    return ours


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
