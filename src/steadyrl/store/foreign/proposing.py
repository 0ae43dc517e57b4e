"""Names that no table knows, guessed by likeness: a mapping to look over, never assumed."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher
from functools import cache

from steadyrl.store.foreign.mapping import NameTable, built_in, normal
from steadyrl.store.foreign.names import Names

ALIKE = 0.6  # of a name's words and letters that two names share
_EMPTY_WORDS = frozenset(
    {"train", "training", "rollout", "stats", "info", "mean", "avg", "average"}
)


def proposed(names: Names, table: NameTable) -> str:
    """A mapping file: what was read, and guesses for what was not, each with its likeness."""
    lines = [
        "# Proposed by likeness of names. Look it over, delete what is wrong, then:",
        "#   steadyrl diagnose RUN --mapping THIS_FILE",
        f"name: {table.name}",
        f"steps: [{', '.join(_quoted(name) for name in table.steps)}]",
        "signals:",
    ]
    for signal, name in names.read.items():
        if name != signal:
            lines.append(f"  {signal}: {{from: {_quoted(name)}}}")
    guesses = guessed(names.ignored, set(names.read))
    for name, (signal, likeness) in guesses.items():
        lines.append(f"  {signal}: {{from: {_quoted(name)}}}  # a guess, likeness {likeness:.2f}")
    if lines[-1] == "signals:":
        lines[-1] = "signals: {}  # nothing here resembles a name that is known"
    return "\n".join(lines) + "\n"


def guessed(names: Iterable[str], taken: set[str]) -> dict[str, tuple[str, float]]:
    """For each name that resembles a known one: our signal and how alike; a signal only once."""
    scored = sorted(
        ((likeness, name, signal) for name in names for signal, likeness in _likenesses(name)),
        reverse=True,
    )
    found: dict[str, tuple[str, float]] = {}
    used = set(taken)
    for likeness, name, signal in scored:
        if likeness >= ALIKE and signal not in used and name not in found:
            found[name] = signal, likeness
            used.add(signal)
    return found


def _likenesses(name: str) -> list[tuple[str, float]]:
    best: dict[str, float] = {}
    for known, signal in _known():
        best[signal] = max(best.get(signal, 0.0), likeness(name, known))
    return list(best.items())


def likeness(one: str, other: str) -> float:
    """How alike two names are, by their letters and by their words, from 0 to 1."""
    first, second = normal(one), normal(other)
    if first == second:
        return 1.0
    words, others = _words(first), _words(second)
    shared = len(words & others) / max(len(words | others), 1)
    letters = SequenceMatcher(None, first, second).ratio()
    return 0.5 * shared + 0.5 * letters


def _words(name: str) -> set[str]:
    words = set(name.split("_"))
    return (words - _EMPTY_WORDS) or words


@cache
def _known() -> tuple[tuple[str, str], ...]:
    """Every name that some program uses, and our signal."""
    return tuple(
        (name, signal)
        for table in built_in().values()
        for signal, source in table.signals.items()
        if not signal.startswith(("time.", "setting."))
        for name in source.names
    )


def _quoted(name: str) -> str:
    plain = all(letter.isalnum() or letter in "_/." for letter in name) and not name[:1].isdigit()
    return name if plain else '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
