"""What a loop hands over, as signals: numbers under names that rules know."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from steadyrl.core.catalogue import CATALOGUE
from steadyrl.store.foreign.mapping import OWN, NameTable, telling


class Intake:
    """Translates names; what is no number or no signal is left out, and said once."""

    def __init__(self, names: NameTable, say: Callable[[str], None]) -> None:
        self.names, self._say = names, say
        self._told: set[str] = set()
        self._past: dict[str, list[float]] = {}

    def signals(self, values: Mapping[str, Any]) -> dict[str, float]:
        """What was measured, under our names."""
        numbers = {name: v for name, value in values.items() if (v := self._number(name, value))}
        given = {name: found[0] for name, found in numbers.items()}
        found = self.names.translate(given, self._past)
        signals = {name: v for name, v in found.items() if name in CATALOGUE or telling(name)}
        self._advise(numbers, signals)
        return signals

    def _number(self, name: str, value: Any) -> tuple[float] | None:
        detach = getattr(value, "detach", None)  # a loss as torch made it: a number, with a graph
        try:
            return (float(value if detach is None else detach()),)
        except (TypeError, ValueError, RuntimeError, OverflowError):
            self._once(name, f"'{name}' is left out: {type(value).__name__} is no number.")
            return None

    def _advise(self, given: Iterable[str], used: Mapping[str, float]) -> None:
        """Say once which names are not understood."""
        if self.names is not OWN:  # another program logs much that no rule asks for
            return
        for name in given:
            if name not in used:
                near = difflib.get_close_matches(name, CATALOGUE, n=1)
                hint = f" Did you mean '{near[0]}'?" if near else ""
                self._once(name, f"'{name}' is no signal and is left out.{hint}")

    def _once(self, key: str, line: str) -> None:
        if key not in self._told:
            self._told.add(key)
            self._say(line)
