"""Typed, frozen, strict configs: one declaration gives validation, help, flags, schema and docs.

A config is complete: every setting has its value in the YAML a run writes, nothing is inherited
from another file. `LiveConfig` is the only door through which a setting changes while training.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Generic, Literal, Self, TypeVar, cast, get_args

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from steadyrl.core.config_errors import explain
from steadyrl.core.errors import ConfigError
from steadyrl.core.records import Change

Changes = Literal["live", "fork", "start"]


def setting(
    default: Any,
    meaning: str,
    *,
    low: float | None = None,
    above: float | None = None,
    high: float | None = None,
    below: float | None = None,
    changes: Changes = "live",
) -> Any:
    """One setting: its default, what it means, and its bounds (`above`/`below` exclude the end).

    A default of `...` says that there is none: the setting must be given. `changes` says when it
    may become another: between two updates, where a run forks from a checkpoint, or never, because
    networks or data of another shape would be needed.
    """
    extra: dict[str, Any] = {} if changes == "live" else {"changes": changes}
    return Field(
        default,
        description=meaning,
        ge=low,
        gt=above,
        le=high,
        lt=below,
        json_schema_extra=extra or None,
    )


class Settings(BaseModel):
    """A frozen group of settings; unknown names and wrong types are errors."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, validate_default=True
    )

    @model_validator(mode="before")
    @classmethod
    def _whole_numbers(cls, values: Any) -> Any:
        """1e6 is how people write a million; strictly it is no whole number."""
        if not isinstance(values, Mapping):
            return values
        return {
            name: int(value) if _is_whole(value) and _counts(cls, name) else value
            for name, value in values.items()
        }

    @classmethod
    def parse(cls, values: Mapping[str, Any], *, source: str = "config") -> Self:
        """Validate plain values; the error tells of everything that is wrong."""
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise ConfigError(explain(list(leaves(cls)), error, source)) from None

    def plain(self) -> dict[str, Any]:
        """As nested dictionaries of plain values."""
        return self.model_dump(mode="json")

    def to_yaml(self) -> str:
        """Complete and resolved, in declaration order."""
        return yaml.safe_dump(self.plain(), sort_keys=False, allow_unicode=True)

    def differences(self, other: Settings) -> dict[str, tuple[Any, Any]]:
        """Dotted names whose value differs, with (ours, theirs)."""
        ours, theirs = dict(flatten(self.plain())), dict(flatten(other.plain()))
        return {
            name: (ours.get(name), theirs.get(name))
            for name in [*ours, *(name for name in theirs if name not in ours)]
            if ours.get(name) != theirs.get(name)
        }

    def replaced(self, changes: Mapping[str, Any]) -> Self:
        """A copy with the dotted names set to new values, validated as a whole."""
        return type(self).parse(with_overrides(type(self), self.plain(), changes))

    @classmethod
    def changes_when(cls, name: str) -> Changes:
        """When the setting of this dotted name may become another; free names by their mapping."""
        head, _, rest = name.partition(".")
        field = cls.model_fields.get(head)
        if field is None:
            return "live"
        group = group_of(cls, head)
        if rest and group is not None:
            return group.changes_when(rest)
        extra = field.json_schema_extra
        when: Any = extra.get("changes", "live") if isinstance(extra, dict) else "live"
        return cast(Changes, when)


C = TypeVar("C", bound=Settings)


class LiveConfig(Generic[C]):
    """The config in force. Trainers read `now` once per update, so changes land between updates."""

    def __init__(self, config: C, changes: list[Change] | None = None) -> None:
        self._now = config
        self.changes: list[Change] = list(changes or [])

    @property
    def now(self) -> C:
        """The settings in force; frozen."""
        return self._now

    def change(
        self, name: str, value: Any, *, step: int, because: str, anew: bool = False
    ) -> Change:
        """Set one (dotted) setting from the next update on, and record why.

        `anew`: training stands at its very beginning, where it may be whatever a fork may change.
        """
        when = self._now.changes_when(name)
        if when == "start" or (when == "fork" and not anew):
            raise ConfigError(f"{name} cannot change while training: it may only {_WORDS[when]}.")
        before = dict(flatten(self._now.plain())).get(name)
        self._now = self._now.replaced({name: value})
        change = Change(name=name, before=before, after=value, step=step, because=because)
        self.changes.append(change)
        return change

    def state_dict(self) -> dict[str, Any]:
        """The settings in force and how they came to be."""
        return {"now": self._now.plain(), "changes": [c.to_json() for c in self.changes]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Back to a recorded state."""
        self._now = type(self._now).parse(state["now"], source="checkpoint")
        self.changes = [Change(**record) for record in state["changes"]]


# Dotted names


def flatten(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Leaves of nested dictionaries under dotted names."""
    for name, value in values.items():
        if isinstance(value, dict) and value:
            yield from flatten(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def with_overrides(
    model: type[Settings], values: Mapping[str, Any], overrides: Mapping[str, Any]
) -> dict[str, Any]:
    """The values of a `model`, nested, with the dotted names set; groups are made where needed.

    A mapping given for a group of settings changes those it names and leaves the others. For a
    setting that itself is a mapping of free names (environment.settings) it is the new value, all
    of it; to change one entry, name that one (environment.settings.g).
    """
    result = dict(values)
    for name, value in overrides.items():
        head, _, rest = str(name).partition(".")
        group, inner = group_of(model, head), result.get(head)
        inner = inner if isinstance(inner, dict) else {}
        if group is not None and (rest or isinstance(value, Mapping)):
            result[head] = with_overrides(group, inner, {rest: value} if rest else value)
        elif rest:
            result[head] = {**inner, rest: value}
        else:
            result[head] = value
    return result


def group_of(model: type[Settings], name: str) -> type[Settings] | None:
    """The group of settings that a name stands for, if it does."""
    field = model.model_fields.get(name)
    kind = field.annotation if field else None
    return kind if isinstance(kind, type) and issubclass(kind, Settings) else None


def _is_whole(value: Any) -> bool:
    return isinstance(value, float) and value.is_integer()


def _counts(model: type[Settings], name: str) -> bool:
    """Whether a setting takes whole numbers only."""
    field = model.model_fields.get(name)
    kinds = get_args(field.annotation) or (field.annotation,) if field else ()
    return int in kinds and float not in kinds


_WORDS = {"fork": "change where a run forks from a checkpoint", "start": "be set at the start"}


def refuse_at_a_fork(model: type[Settings], names: Iterable[str]) -> None:
    """What can only be set at the start is no experiment with what was learned before."""
    for name in names:
        if model.changes_when(name) == "start":
            raise ConfigError(
                f"{name} cannot change where a run forks: it may only {_WORDS['start']}. Train "
                "the changed config from its beginning."
            )


class Leaf(BaseModel):
    """A setting as the command line and the documentation see it."""

    name: str
    meaning: str
    default: Any
    needed: bool  # there is no default: it must be given
    kind: str
    allowed: str
    changes: Changes


def leaves(model: type[Settings], prefix: str = "") -> Iterator[Leaf]:
    """Every setting of a config, groups opened, in declaration order."""
    for name, field in model.model_fields.items():
        annotation, group = field.annotation, group_of(model, name)
        if group is not None:
            yield from leaves(group, f"{prefix}{name}.")
            continue
        kind = getattr(annotation, "__name__", None) or str(annotation).replace("typing.", "")
        if "[" in str(annotation):
            kind = str(annotation).replace("typing.", "")
        bounds = [
            f"{symbol} {getattr(part, key)}"
            for part in field.metadata
            for key, symbol in (("gt", ">"), ("ge", ">="), ("lt", "<"), ("le", "<="))
            if hasattr(part, key)
        ]
        needed = field.is_required()
        yield Leaf(
            name=prefix + name,
            meaning=field.description or "",
            default=None if needed else field.get_default(call_default_factory=True),
            needed=needed,
            kind=kind,
            allowed=", ".join(bounds),
            changes=model.changes_when(name),
        )
