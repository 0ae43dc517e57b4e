"""Code faults of experience replay: functions replaced by faulty ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch

from steadyrl.algorithms.language import replaying as of_language
from steadyrl.algorithms.on_policy import replaying as of_rollouts
from steadyrl.experience.aged import AgedExperience
from steadyrl.experiments.fault_bench.replaced import replaced


@contextmanager
def _without_ratio() -> Iterator[None]:
    with ExitStack() as stack:
        for module in (of_language, of_rollouts):
            stack.enter_context(
                replaced(
                    module,
                    "policy_weights",
                    lambda _: lambda now, _then, _bound: torch.ones_like(now),
                )
            )
        yield


def without_ratio(strength: float) -> Any:
    """Old samples count as if the policy of today had made them."""
    del strength
    return _without_ratio()


def priorities_stay(strength: float) -> Any:
    """Items keep the priority that they came with."""
    del strength

    def make(original: Any) -> Any:
        def learn(self: Any, slots: Any, worths: Any) -> None:
            new = self._uses[slots] == 0
            original(self, slots[new], worths[new])

        return learn

    return replaced(AgedExperience, "learn", make)


def births_lost(strength: float) -> Any:
    """Every tenth update the buffer forgets how old its items are, as after a careless resume."""
    del strength

    def make(original: Any) -> Any:
        def retire(self: Any, now: int, limits: Any) -> None:
            if now and now % 10 == 0:
                self._births[:] = now
            original(self, now, limits)

        return retire

    return replaced(AgedExperience, "retire", make)


REPLAY_SUBSTITUTIONS: dict[str, Callable[[float], Any]] = {
    "replay-without-ratio": without_ratio,
    "replay-priorities-stay": priorities_stay,
    "replay-births-lost": births_lost,
}
