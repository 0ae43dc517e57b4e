"""Environments that break their contract, told in one sentence while training and beforehand."""

from __future__ import annotations

import re
import warnings
from typing import Any, SupportsFloat

import gymnasium

from steadyrl.core.errors import EnvironmentFault, SteadyError
from steadyrl.environments.contract_env import ContractEnv
from steadyrl.environments.own import told_fault

EPISODES, STEPS = 3, 2000  # of the first copy, looked at closely; whichever ends first

# What training can live with; the rest ends it. Numbers that are none are told by who trains.
LIVABLE = (
    "observation-dtype",
    "observation-range",
    "observation-frozen",
    "time-limit-as-termination",
    "flags",
)
LEFT_TO_OTHERS = ("action", "observation-not-finite", "reward-not-finite", "step-after-end")

_FIVE = re.compile(r"values to unpack \(expected 5(?:, got (\d+))?\)")
_KEYWORD = re.compile(r"unexpected keyword argument '(seed|options)'")


class ContractWarning(UserWarning):
    """An environment does what training can live with, but nobody should rely on."""


class FirstEpisodes(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Looks closely at the first episodes, then only passes on. It changes nothing."""

    def __init__(self, env: gymnasium.Env[Any, Any], id_: str) -> None:
        self._checked = ContractEnv(env, on_fault="record")
        super().__init__(self._checked)
        self._id, self._episodes, self._steps = id_, 0, 0
        self._told: set[str] = set()

    @property
    def over(self) -> bool:
        """Whether it has seen enough."""
        return self._episodes > EPISODES or self._steps > STEPS

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode."""
        found = self._checked.reset(seed=seed, options=options)
        self._episodes += 1
        self._tell()
        return found

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Play an action and look at what comes back."""
        found = self._checked.step(action)
        self._steps += 1
        self._tell()
        return found

    def _tell(self) -> None:
        for kind, sentence in self._checked.faults.items():
            if kind in self._told or kind in LEFT_TO_OTHERS:
                continue
            self._told.add(kind)
            said = f"environment '{self._id}': {sentence}"
            if kind not in LIVABLE:
                raise EnvironmentFault(said)
            warnings.warn(said, ContractWarning, stacklevel=3)


def explained(id_: str, error: Exception, doing: str) -> SteadyError:
    """An exception out of an environment, as one sentence about it."""
    if isinstance(error, SteadyError):
        text = str(error)
        return error if f"'{id_}'" in text else EnvironmentFault(f"environment '{id_}': {text}")
    return EnvironmentFault(f"environment '{id_}': {_broken(error) or told_fault(error, doing)}")


def _broken(error: Exception) -> str | None:
    """What the exceptions of Gymnasium's own wrappers mean."""
    text = str(error)
    if found := _KEYWORD.search(text):
        return (
            f"reset() does not take '{found[1]}'. Write def reset(self, *, seed=None, "
            "options=None) and begin it with super().reset(seed=seed): without a seed no episode "
            "can be repeated."
        )
    if found := _FIVE.search(text):
        count = found[1] or "more values"
        old = " The form with one 'done' is older than Gymnasium." if count == "4" else ""
        return (
            f"step() returned a tuple of {count}, not (observation, reward, terminated, truncated, "
            f"info).{old}"
        )
    if "cannot unpack non-iterable NoneType" in text:
        return "step() returned None, not (observation, reward, terminated, truncated, info)."
    return None
