"""What a run advances in if it has no environments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Clock:
    """Counts the run's own unit where other trainers have environments."""

    def __init__(self) -> None:
        self.steps_taken = 0

    def state_dict(self) -> dict[str, Any]:
        """The count."""
        return {"steps_taken": self.steps_taken}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Back to a recorded count."""
        self.steps_taken = int(state["steps_taken"])

    def close(self) -> None:
        """Nothing is held."""
