"""State out and in, for every learner: parts that have a state of their own, and plain counters."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar


class Stateful(ABC):
    """A learner is its parts and its counters; what else it holds it adds by itself."""

    counters: ClassVar[tuple[str, ...]]  # attributes that are plain numbers
    optional: ClassVar[tuple[str, ...]] = ()  # parts that begin empty where a state has none

    @abstractmethod
    def stateful_parts(self) -> dict[str, Any]:
        """What has a `state_dict` of its own, by name."""

    def state_dict(self) -> dict[str, Any]:
        """Everything the next update depends on, as arrays and plain values."""
        return {
            "parts": {name: part.state_dict() for name, part in self.stateful_parts().items()},
            "counters": {name: getattr(self, name) for name in self.counters},
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Back to a recorded state."""
        for name, part in self.stateful_parts().items():
            if name in state["parts"] or name not in self.optional:
                part.load_state_dict(state["parts"][name])
        for name, value in state["counters"].items():
            setattr(self, name, value)
