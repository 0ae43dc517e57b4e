"""What lies beside a log: settings, environment, algorithm and budget, in others' own files.

Nothing here is executed or unpickled. Python's tags in YAML are understood for ordered mappings
and tuples; what any other tag would build is left out. Of all that is read only plain values are
kept, and of those only what a name table knows: such files may hold secrets.
"""

from __future__ import annotations

import json
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from steadyrl.core.choices import Family
from steadyrl.core.ordinary import unpacked
from steadyrl.core.yaml_text import (
    LARGEST,
    numbers_as_written,
    parse_scalar,
    written_out,
)
from steadyrl.store.foreign.event_folder import event_files

_LARGEST = 4 << 20  # bytes of a settings file
_BEGINNING = 1 << 18  # bytes of an event file in which hyperparameters are looked for
_TABLE = b"|param|value|"
_ALGORITHMS: Mapping[str, Family] = {
    "ppo": "ppo", "ppo2": "ppo", "ppolstm": "ppo", "recurrentppo": "ppo", "maskableppo": "ppo",
    "appo": "ppo", "poca": "ppo",
    "trpo": "trpo", "a2c": "a2c", "a3c": "a2c", "impala": "a2c", "acktr": "a2c", "vpg": "a2c",
    "ddpg": "ddpg", "td3": "td3", "sac": "sac", "tqc": "sac", "crossq": "sac", "redq": "sac",
    "dqn": "dqn", "qrdqn": "dqn", "c51": "dqn", "rainbow": "dqn", "apex": "dqn", "r2d2": "dqn",
    "simpleq": "dqn", "apexdqn": "dqn", "iqn": "dqn",
    "ars": "search", "es": "search", "cem": "search",
    "grpo": "grpo", "rloo": "grpo",
}  # fmt: skip
_BUDGETS = (
    "n_timesteps", "total_timesteps", "total_env_steps", "total_steps", "num_env_steps",
    "timesteps_total", "max_env_steps",
)  # fmt: skip
_ENVIRONMENTS = ("env_id", "env", "env_name", "environment", "gym_id", "task", "env_config/id")
_NAMES = ("algo", "algorithm", "model_class", "agent", "algo_name", "exp_name", "trainer")


@dataclass
class Beside:
    """What is known of a run without its log."""

    settings: dict[str, Any] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)  # that it was read from

    def first(self, *names: str) -> Any:
        """The first of these settings that is given."""
        return next((self.settings[n] for n in names if self.settings.get(n) is not None), None)

    @property
    def family(self) -> Family | None:
        """Which algorithm it is, if a file says so."""
        for name in ("model_class", *_NAMES):  # HER says there what it is built upon
            found = family_named(str(self.settings.get(name) or ""))
            if found:
                return found
        return None

    @property
    def environment(self) -> str:
        """The environment's id, or nothing."""
        found = self.first(*_ENVIRONMENTS)
        return found if isinstance(found, str) and len(found) < 200 else ""

    @property
    def budget(self) -> int:
        """Environment steps planned; 0 if no file says so."""
        found = [self.settings.get(name) for name in _BUDGETS]
        numbers = [int(n) for n in found if isinstance(n, int | float) and 0 < n < 2**62]
        return numbers[0] if numbers else 0


def family_named(text: str) -> Family | None:
    """The family of an algorithm by the name that people give it: PPO, qr-dqn, ppo_continuous."""
    plain = re.sub(r"[^a-z0-9]", "", text.lower().rsplit(".", 1)[-1])
    if plain in _ALGORITHMS:
        return _ALGORITHMS[plain]
    words = re.split(r"[^a-z0-9]+", text.lower())
    return next((_ALGORITHMS[word] for word in words if word in _ALGORITHMS), None)


def read_beside(folder: Path, within: Path | None = None) -> Beside:
    """Everything known that lies beside a log, the nearest file last, so that it counts.

    `within`: what lies outside of this folder, or is a link that leads out of it, is not read.
    """
    found = Beside()
    for file, read in _candidates(folder, within):
        try:
            whole = file.suffix != ".zip" and "tfevents" not in file.name
            if whole and file.stat().st_size > _LARGEST:
                continue
            values = read(file)
        except (
            OSError,
            ValueError,
            yaml.YAMLError,
            zipfile.BadZipFile,
            zlib.error,
            *(RuntimeError, LookupError, AttributeError, TypeError, EOFError),
        ):
            continue
        if values:
            given = {name: value for name, value in values.items() if value not in (None, -1)}
            found.settings |= given
            found.files.append(file.name)
    return found


_ABOVE = {  # in the folder of a log, or in the one above it
    ".hydra/config.yaml": "yaml",
    "wandb/latest-run/files/config.yaml": "wandb",
    "files/config.yaml": "wandb",
    "params.json": "json",
    "hyperparams.yaml": "yaml",
    "hyperparameters.yaml": "yaml",
}
_HERE = {"args.json": "json", "config.json": "json", "config.yaml": "wandb"}
_ZOO = {"args.yml": "yaml", "config.yml": "yaml"}


def files_beside(folder: Path, within: Path | None = None) -> list[Path]:
    """Those that `read_beside` would look into."""
    return [file for file, _ in _candidates(folder, within)]


def _candidates(
    folder: Path, within: Path | None
) -> Iterator[tuple[Path, Callable[[Path], dict[str, Any]]]]:
    """Files that may hold settings, and how they are read; later ones count more."""
    home = folder if folder.is_dir() else folder.parent
    for file, read in _all_candidates(home):
        try:
            if within is None or file.resolve().is_relative_to(within.resolve()):
                yield file, read
        except (OSError, RuntimeError):  # links without end
            continue


def _all_candidates(folder: Path) -> Iterator[tuple[Path, Callable[[Path], dict[str, Any]]]]:
    inner = [p for p in sorted(folder.iterdir()) if p.is_dir()] if folder.is_dir() else []
    named = [
        p for p in inner if p.name in folder.name
    ]  # as the zoo does: CartPole-v1_1/CartPole-v1
    places = [(folder.parent, _ABOVE), (folder, {**_ABOVE, **_HERE})]
    places += [(home, _ZOO) for home in (*named, folder)]
    for home, names in places:
        for name, form in names.items():
            if (home / name).is_file():
                yield home / name, _READERS[form]
    if (folder / "trainer_state.json").is_file():
        yield folder / "trainer_state.json", _trainer_state
    for file in event_files(folder)[:1]:
        yield file, _told_in_events
    for file in sorted(file for file in folder.glob("*.zip") if file.is_file())[:1]:
        yield file, _model_zip


class _BoundedMerges(yaml.constructor.SafeConstructor):
    """`<<` copies a mapping; copies of copies would fill the memory before anybody counts them."""

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """As PyYAML does it, if what comes out is not more than settings may hold."""
        size = len(node.value)
        for key, value in node.value:
            if key.tag == "tag:yaml.org,2002:merge":
                parts = value.value if isinstance(value, yaml.SequenceNode) else [value]
                for part in parts:
                    if isinstance(part, yaml.MappingNode):
                        self.flatten_mapping(part)
                        size += len(part.value)
                    if size > LARGEST:
                        raise yaml.constructor.ConstructorError(
                            None, None, "repetitions without end", node.start_mark
                        )
        super().flatten_mapping(node)


class _Loader(_BoundedMerges, yaml.SafeLoader):
    """Plain containers, ordered mappings and tuples; whatever else a tag asks for is nothing."""


def _ordered(loader: _Loader, node: yaml.Node) -> dict[Any, Any]:
    if not isinstance(node, yaml.SequenceNode) or not node.value:
        return {}
    pairs = loader.construct_sequence(node, deep=True)[0]
    return {pair[0]: pair[1] for pair in pairs if isinstance(pair, list) and len(pair) == 2}


def _tuple(loader: _Loader, node: yaml.Node) -> tuple[Any, ...]:
    if not isinstance(node, yaml.SequenceNode):
        return ()
    return tuple(loader.construct_sequence(node, deep=True))


def _nothing(_loader: _Loader, _suffix: str, _node: yaml.Node) -> None:
    return None


numbers_as_written(_Loader)
_Loader.add_constructor("tag:yaml.org,2002:python/object/apply:collections.OrderedDict", _ordered)
_Loader.add_constructor("tag:yaml.org,2002:python/tuple", _tuple)
_Loader.add_multi_constructor("tag:yaml.org,2002:python/", _nothing)
_Loader.add_multi_constructor("!", _nothing)


def _loaded(file: Path) -> Any:
    """What a YAML file says, or nothing if its repetitions make it endless."""
    # Safe: _Loader is a SafeLoader that builds nothing but plain containers.
    found = yaml.load(file.read_text("utf-8", errors="replace"), Loader=_Loader)
    return found if written_out(found) <= LARGEST else None


def _yaml(file: Path) -> dict[str, Any]:
    return _flat(_loaded(file))


def _wandb(file: Path) -> dict[str, Any]:
    """Weights & Biases writes {name: {value: ...}}."""
    found = _loaded(file)
    if not isinstance(found, dict):
        return {}
    opened = {
        n: v["value"] if isinstance(v, dict) and "value" in v else v for n, v in found.items()
    }
    return _flat(opened)


def _json(file: Path) -> dict[str, Any]:
    return _flat(json.loads(file.read_text("utf-8", errors="replace")))


def _trainer_state(file: Path) -> dict[str, Any]:
    """How many steps a trainer of transformers was to take."""
    planned = json.loads(file.read_text("utf-8", errors="replace")).get("max_steps")
    return {"n_timesteps": planned} if isinstance(planned, int) and planned > 0 else {}


_READERS = {"yaml": _yaml, "wandb": _wandb, "json": _json}


def _model_zip(file: Path) -> dict[str, Any]:
    """The JSON in a Stable-Baselines3 model: its plain values; what is pickled stays closed."""
    with zipfile.ZipFile(file) as archive:
        found = json.loads(unpacked(archive, "data", _LARGEST))
    if not isinstance(found, dict):
        return {}
    hidden = ("_total_timesteps", "num_timesteps")
    plain = {n: v for n, v in found.items() if isinstance(v, bool | int | float | str)}
    values = {n: v for n, v in plain.items() if not n.startswith("_") and n not in hidden}
    policy = found.get("policy_class")
    module = str(policy.get("__module__", "")) if isinstance(policy, dict) else ""
    kind = next((word for word in reversed(module.split(".")) if family_named(word)), "")
    planned = found.get("_total_timesteps")
    extra = {"algo": kind or None, "n_timesteps": planned}
    return {**values, **{n: v for n, v in extra.items() if isinstance(v, str | int)}}


def _told_in_events(file: Path) -> dict[str, Any]:
    """CleanRL's table of hyperparameters, a text near the beginning of an event file."""
    with file.open("rb") as opened:
        start = opened.read(_BEGINNING)
    at = start.find(_TABLE)
    found: dict[str, Any] = {}
    row = re.compile(rb"\n\|([^|\n\x00]{1,100})\|([^|\n\x00]{0,200})\|")
    at += len(_TABLE)
    while at >= len(_TABLE) and (match := row.match(start, at)):
        name, value = (part.decode("utf-8", errors="replace") for part in match.groups())
        found[name] = parse_scalar(value)
        at = match.end()
    return _flat({name: value for name, value in found.items() if name.strip("-")})


def _flat(values: Any, prefix: str = "", depth: int = 0) -> dict[str, Any]:
    """Nested settings as a/b/c, and each under its last name too where that is free."""
    if not isinstance(values, dict) or depth > 6:
        return {}
    found: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, dict):
            inner = _flat(value, f"{prefix}{name}/", depth + 1)
            short = {n.rsplit("/", 1)[-1]: v for n, v in inner.items()}
            for known, what in (*inner.items(), *short.items()):
                found.setdefault(known, what)
        elif isinstance(value, bool | int | float | str):
            found[f"{prefix}{name}"] = value
    return found
