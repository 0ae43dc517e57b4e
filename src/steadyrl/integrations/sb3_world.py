"""The environment doctor's questions, asked by the callback of what passes by at first.

Whether actions reach the world, when, and how much of the reward is noise is measured again and
again and judged by rules of its own (D046 to D048, D016, D049); here is the rest, told once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

from steadyrl.integrations.passing import Passing
from steadyrl.stability.check import Concern
from steadyrl.stability.environment_rules import QUESTIONS, asked

LOOKED_AT = 2000  # steps of the first copy
JUDGED_ELSEWHERE = ("E002", "E003", "E004", "E005", "E007", "E010")
OURS = tuple(rule for rule in QUESTIONS if rule.id not in JUDGED_ELSEWHERE)


class World:
    """The first copy of a model's environment, until enough of it has passed by."""

    def __init__(self, model: Any) -> None:
        space = model.observation_space
        normalized = model.get_vec_normalize_env() is not None  # then they are not the world's own
        vectors = isinstance(space, spaces.Box) and len(space.shape) == 1
        self._model, self._space = model, space if vectors and not normalized else None
        self._passing: Passing | None = Passing(model.action_space, effects=False)
        self._begun = False

    def add(self, local: Mapping[str, Any]) -> Iterator[Concern]:
        """One step, as learn()'s local variables hold it; what is found, when enough was seen."""
        passing, rewards = self._passing, local.get("rewards")
        if passing is None or self._space is None or rewards is None:
            return
        if not self._begun:
            passing.begin(self._model._last_obs[0])
            self._begun = True
        self._take(passing, local, rewards)
        if passing.steps >= LOOKED_AT:
            self._passing = None
            outside = _outside(self._space, np.array(passing.observations))
            faults = {"observation-range": outside} if outside else {}
            yield from asked(passing.examined(faults=faults), OURS)

    def _take(self, passing: Passing, local: Mapping[str, Any], rewards: Any) -> None:
        info, done = local["infos"][0], bool(local["dones"][0])
        seen = local["new_obs"][0]
        last = info.get("terminal_observation", seen) if done else seen
        cut = done and bool(info.get("TimeLimit.truncated", False))
        actions = local.get("clipped_actions", local.get("actions"))
        passing.add(np.asarray(actions)[0], rewards[0], last, done and not cut, cut)
        if done:
            passing.begin(seen)


def _outside(space: spaces.Box, seen: Any) -> str:
    """The first component that was out of its space; nothing if it is no number."""
    wrong = np.argwhere((seen < space.low) | (seen > space.high))
    if not len(wrong):
        return ""
    row, at = wrong[0]
    bounds = f"[{space.low[at]:g}, {space.high[at]:g}]"
    return f"component {at} of the observation is {seen[row, at]:g}, outside {bounds}"
