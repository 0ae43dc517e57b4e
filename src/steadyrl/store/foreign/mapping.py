"""From other programs' names to our signals. One YAML file each; a user's own file has the form.

    signals:
      policy.kl: {from: train/approx_kl, weaker: only the last epoch, trust: 0.8}
      policy.entropy: {from: train/entropy_loss, times: -1}
      rollout.return_mean: {from: charts/episodic_return, last: 100}

A signal that says less than ours is marked `weaker`; causes that rest on it lose confidence.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from steadyrl.core.catalogue import CATALOGUE
from steadyrl.core.choices import Family
from steadyrl.core.config import Settings, setting
from steadyrl.core.errors import ConfigError
from steadyrl.core.foreign_config import Doubt, Scalar
from steadyrl.core.package_files import mapping_names, mapping_text
from steadyrl.core.registry import ALGORITHMS, config_class
from steadyrl.core.run_config import RunConfig
from steadyrl.core.traits import Counted
from steadyrl.core.yaml_text import read_yaml

OTHER = "other."  # names that no table knows, kept because a NaN in a loss is worth knowing
_TELLING = ("loss", "grad")
# What a column counts, by a part of its name; the first that fits.
_COUNTED: Mapping[str, Counted] = {
    "env": "env steps",
    "timestep": "env steps",
    "frame": "env steps",
    "episode": "episodes",
    "epoch": "epochs",
    "iteration": "updates",
    "update": "updates",
}
CONFIG = "config/"  # under which RLlib repeats its settings in every result


def _as_tuple(value: object) -> object:
    return (
        (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list) else value
    )


Names = Annotated[tuple[str, ...], BeforeValidator(_as_tuple)]


class Source(Settings):
    """Where one of our signals comes from."""

    names: Names = Field(alias="from", description="its names there, best first")
    times: float = setting(1.0, "factor that leads to our unit and sign")
    last: int = setting(0, "mean of so many newest values, for values recorded episode by episode")
    span: int = setting(0, "of how many newest episodes it is the mean, where `counted_by` counts")
    counted_by: str = setting("", "the name that counts all episodes so far")
    weaker: str = setting("", "in what it says less than our signal")
    trust: float = setting(1.0, "how far it can be trusted", low=0.0, high=1.0)
    nan: Literal["broken", "absent"] = setting(
        "broken", "what a NaN says: that it broke, or that it could not be measured"
    )
    only_with: Names = setting((), "names that must be there too, for names of several meanings")
    only_without: Names = setting((), "names that must not be there")
    over_first: bool = setting(False, "as a share of its own first value")
    unless: dict[str, float] = setting({}, "not measured where another name has this value")


class NameTable(Settings):
    """How one program names what it records."""

    name: str = setting("", "what the program is called")
    tested_with: str = setting("", "versions of it")
    recognise: Names = setting((), "names of which one is enough to know the program by")
    fallback: bool = setting(
        False, "for loops that no other table knows; names count without case, blanks and signs"
    )
    families: dict[Family, Names] = setting({}, "algorithms by names that only they record")
    prefixes: Names = setting((), "what may stand before every name, e.g. in TensorBoard's tags")
    steps: Names = setting((), "columns that count environment steps, best first")
    counts: Counted = setting("env steps", "what its steps are, unless a column's name says so")
    seconds: Names = setting((), "columns of seconds since the start")
    signals: dict[str, Source] = setting({}, "our signals by what they are made of")
    stillest: dict[str, str] = setting(
        {}, "our signals that are one of several of a form (rewards/*/std): that which stays lowest"
    )
    loss_parts: dict[str, str] = setting(
        {}, "names of a whole loss and of its policy, entropy and value parts, where all are logged"
    )
    settings: dict[str, str] = setting({}, "our settings' names there")
    advice: dict[str, str] = setting({}, "how to record what is missing, by signal; 'default'")

    def sources_of(self, present: Iterable[str]) -> dict[str, tuple[str, Source]]:
        """For each signal that can be had from these names: the name, and how."""
        names = self._as_compared(present)
        found = {}
        for signal, source in self.signals.items():
            called = [prefix + name for name in source.names for prefix in ("", *self.prefixes)]
            name = next((names[name] for name in called if name in names), None)
            fits = names.keys() >= set(source.only_with)
            fits = fits and names.keys().isdisjoint(source.only_without)
            if name is not None and fits:
                found[signal] = name, source
        return found

    def alike(self, present: Iterable[str]) -> dict[str, list[str]]:
        """For each signal that is one of several of a form: their names, if there are several."""
        found: dict[str, list[str]] = {signal: [] for signal in self.stillest}
        for name in present:
            for signal, form in self.stillest.items():
                if any(fnmatchcase(name, prefix + form) for prefix in ("", *self.prefixes)):
                    found[signal].append(name)
        return {signal: several for signal, several in found.items() if len(several) > 1}

    def _as_compared(self, present: Iterable[str]) -> dict[str, str]:
        """Names there, by what they are compared as."""
        return {normal(name) if self.fallback else name: name for name in present}

    def steps_among(self, present: Iterable[str]) -> tuple[str, ...]:
        """The columns that count environment steps, as they are written there, best first."""
        names = self._as_compared(present)
        return tuple(names[name] for name in self.steps if name in names)

    def counted_by(self, columns: Sequence[str]) -> Counted:
        """What the steps are that a table counts in these columns."""
        if not columns:
            return "rows" if self.steps else self.counts
        words = normal(columns[0])
        return next((counted for part, counted in _COUNTED.items() if part in words), self.counts)

    def seconds_among(self, present: Iterable[str]) -> tuple[str, ...]:
        """The columns of seconds, as they are written there."""
        names = self._as_compared(present)
        return tuple(names[name] for name in self.seconds if name in names)

    def family_of(self, present: Iterable[str]) -> Family:
        """The algorithm that records such names."""
        names = set(present)
        for prefix in ("", *self.prefixes):
            for family, wanted in self.families.items():
                if all(_any_of(name, prefix, names) for name in wanted):
                    return family
        return "unknown"

    def translate(
        self, values: Mapping[str, float], past: dict[str, list[float]] | None = None
    ) -> dict[str, float]:
        """One moment's values as our signals; what has no name here is kept if it is telling.

        Running means and shares of the first value need a `past`, kept by the caller.
        """
        sources = self.sources_of(values)
        signals = {}
        for signal, (name, source) in sources.items():
            value = _in_its_past(signal, values[name] * source.times, source, past)
            if value is None:
                continue
            if math.isnan(value) and source.nan == "absent":
                continue
            if any(values.get(other) == excluded for other, excluded in source.unless.items()):
                continue
            signals[signal] = value
        used = {name for name, _ in sources.values()}
        signals |= {name: v for name, v in values.items() if name in CATALOGUE}
        kept = {name: v for name, v in values.items() if name not in used and telling(name)}
        return signals | {OTHER + name: v for name, v in kept.items() if name not in CATALOGUE}

    def known(self, settings: Mapping[str, Any]) -> dict[str, Scalar]:
        """Settings by our names, whichever of the two they were given under."""
        plain = {name: found for name, v in settings.items() if (found := _plain(v)) is not None}
        ours = {name: value for name, value in plain.items() if name in our_settings()}
        theirs = {ours: plain[name] for ours, name in self.settings.items() if name in plain}
        return {**ours, **theirs}

    def weaker(self, signals: Iterable[str]) -> dict[str, Doubt]:
        """Which of these signals say less than ours."""
        found = {name: self.signals[name] for name in signals if name in self.signals}
        return {
            name: Doubt(because=source.weaker, trust=source.trust)
            for name, source in found.items()
            if source.weaker
        }


@cache
def our_settings() -> frozenset[str]:
    """Settings that rules may ask for. No other is kept: a settings file may hold secrets."""
    kinds = map(config_class, ALGORITHMS)
    return frozenset(name for kind in kinds for name in kind.model_fields) - {"algorithm"}


def _plain(value: Any) -> bool | int | float | None:
    """A number or a truth; rl-zoo's "lin_0.001" is the value that a schedule begins with."""
    if isinstance(value, str) and value.startswith("lin_"):
        try:
            value = float(value[4:])
        except ValueError:
            return None
    return value if isinstance(value, bool | int | float) and math.isfinite(value) else None


OWN = NameTable(name="own names")  # signals under our own names, and nothing else


def normal(name: str) -> str:
    """A name without case, blanks and signs: Episode Reward and episode/reward are one."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)
    return re.sub(r"[^a-z0-9]+", "_", words.lower()).strip("_")


def _any_of(alternatives: str, prefix: str, names: set[str]) -> bool:
    """Names that stand for one another are written a|b."""
    return any(prefix + name in names for name in alternatives.split("|"))


def telling(name: str) -> bool:
    """Whether a number under this name should never be NaN."""
    return not name.startswith(CONFIG) and any(part in name.lower() for part in _TELLING)


def _in_its_past(
    signal: str, value: float, source: Source, past: dict[str, list[float]] | None
) -> float | None:
    """A value that is made of earlier ones too, where the table says so."""
    if not source.last and not source.over_first:
        return value
    if past is None:
        return None
    kept = past.setdefault(signal, [])
    if source.over_first:
        kept[:] = kept or [value]
        return value / kept[0] if kept[0] and math.isfinite(kept[0]) else None
    if math.isfinite(value):
        kept[:] = [*kept, value][-source.last :]
    return sum(kept) / len(kept) if kept else None


@cache
def built_in() -> Mapping[str, NameTable]:
    """The tables that come with the package."""
    texts = {name: mapping_text(name) for name in mapping_names()}
    return {name: _parse(text, source=f"{name}.yaml") for name, text in texts.items()}


def names_of_settings(config: RunConfig) -> Mapping[str, str]:
    """What the program that trained the run calls our settings."""
    source = config.recorded_by
    if not source:
        return {}
    table = next((t for t in built_in().values() if source.startswith(t.name)), None)
    return table.settings if table else {}


def load_table(source: str | Path) -> NameTable:
    """A built-in table by its name, or one of your own from a YAML file."""
    tables = built_in()
    if str(source) in tables:
        return tables[str(source)]
    path = Path(source)
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        known = ", ".join(tables)
        raise ConfigError(
            f"{source}: cannot be read as a mapping ({error}). Give a YAML file, or one of: "
            f"{known}."
        ) from None
    return _parse(text, source=str(path))


def recognised(names: Iterable[str]) -> NameTable | None:
    """The built-in table that knows most of these names, if any program is recognised."""
    present = set(names)
    candidates = [
        table
        for table in built_in().values()
        if not table.fallback
        and any(p + name in present for name in table.recognise for p in ("", *table.prefixes))
    ]
    if candidates:
        return max(candidates, key=lambda table: len(table.sources_of(present)))
    others = [table for table in built_in().values() if table.fallback]
    return next((table for table in others if table.sources_of(present)), None)


def _parse(text: str, *, source: str) -> NameTable:
    table = NameTable.parse(read_yaml(text, source=source), source=source)
    unknown = [name for name in table.signals if name not in CATALOGUE]
    if unknown:
        raise ConfigError(
            f"{source}: signals: there is no signal '{unknown[0]}'. 'steadyrl signals' lists them."
        )
    return table
