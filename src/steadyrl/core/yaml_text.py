"""Settings as YAML text: numbers as people write them, every name once, every failure located."""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Any, cast

import yaml

from steadyrl.core.errors import ConfigError

DEEPEST = 500  # characters of a line, and brackets: a level takes one of them at least
LARGEST = 100_000  # values of a config, repetitions written out
# What constructors raise on text that looks like a date, a number or bytes and is none, and on
# nesting deeper than Python goes.
_NO_VALUE = (ValueError, TypeError, AttributeError, LookupError, RecursionError)


class _Names(yaml.constructor.SafeConstructor):
    """A key is a word, and given once."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            line = key_node.start_mark.line + 1
            if not isinstance(key, Hashable):
                raise ConfigError(
                    f"line {line}: {key!r} cannot be a name. Names are words, such as batch_size."
                )
            if key in seen:
                raise ConfigError(f"line {line}: {key!r} is given twice. Keep one of them.")
            seen.add(key)
        return super().construct_mapping(node, deep)


class _Loader(_Names, yaml.SafeLoader):
    """Reads 1e-3 as a number (YAML 1.1 would make it text)."""


class _FastLoader(_Names, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """The same by libyaml, where there is one: eight times as fast."""


def numbers_as_written(loader: Any) -> None:
    """Let a loader read 1e-3 as a number."""
    number = re.compile(r"^[-+]?(\d+(\.\d*)?|\.\d+)[eE][-+]?\d+$")
    loader.add_implicit_resolver("tag:yaml.org,2002:float", number, list("-+0123456789."))


numbers_as_written(_Loader)
numbers_as_written(_FastLoader)


def _loaded(text: str) -> Any:
    """What the text says. Of one that libyaml cannot read, Python's own reader says where and why.

    Libyaml has no bound on nesting: only text that cannot be deep is given to it.
    """
    flat = text.count("[") + text.count("{") <= DEEPEST
    if flat and max(map(len, text.split("\n"))) <= DEEPEST:
        try:
            return yaml.load(text, Loader=_FastLoader)  # as safe as _Loader
        except (yaml.YAMLError, ConfigError, *_NO_VALUE):
            pass
    # Safe: _Loader is a SafeLoader, it builds plain containers and numbers only.
    return yaml.load(text, Loader=_Loader)


def read_yaml(text: str, *, source: str) -> dict[str, Any]:
    """A mapping from YAML text; every failure is a ConfigError that names the place."""
    try:
        values = _loaded(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}" if mark else "somewhere"
        raise ConfigError(f"{source}: not readable as YAML at {where}: {error.problem}.") from None
    except (yaml.YAMLError, ConfigError) as error:
        raise ConfigError(f"{source}: {error}") from None
    except _NO_VALUE as error:
        reason = str(error)[:200] or type(error).__name__
        raise ConfigError(f"{source}: a value cannot be read: {reason}.") from None
    if not isinstance(values, dict):
        kind = type(values).__name__
        raise ConfigError(f"{source}: expected settings as 'name: value' lines, found {kind}.")
    if written_out(values) > LARGEST:
        raise ConfigError(
            f"{source}: its repetitions (*name) amount to more than {LARGEST:,} values, or go on "
            "for ever. Write out what is meant."
        )
    return cast(dict[str, Any], values)


def written_out(value: Any, known: dict[int, int] | None = None) -> int:
    """How many values there are if every repetition is written out; capped, and so never endless.

    A value within itself is met while it is being counted, and counts as more than there may be.
    """
    known = {} if known is None else known
    if not isinstance(value, dict | list | tuple | set):
        return 1
    if id(value) not in known:
        known[id(value)] = LARGEST + 1
        parts = value.values() if isinstance(value, dict) else value
        known[id(value)] = min(LARGEST + 1, 1 + sum(written_out(part, known) for part in parts))
    return known[id(value)]


def parse_scalar(text: str) -> Any:
    """A flag's text as YAML would read it: 512, 1e-3, true, null, [64, 64] or plain text."""
    try:
        value = _loaded(text)
    except (yaml.YAMLError, ConfigError, *_NO_VALUE):
        return text
    return value if written_out(value) <= LARGEST else text
