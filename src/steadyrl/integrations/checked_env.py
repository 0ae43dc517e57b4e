"""Environments that check themselves while they run.

    env = CheckedEnv(gymnasium.make("MyTask-v0"))              # raises at the first fault
    env = CheckedEnv(gymnasium.make("MyTask-v0"), on_fault="warn")

Broken promises are told where they happen. After the first 2,000 steps the environment doctor's
questions are asked of what has passed by: do actions reach the world, and when, how much of the
reward is noise, does an early end pay, are there scales apart. What may be so in a sound
environment too is warned of once, whatever `on_fault` says.
"""

from __future__ import annotations

import warnings
from typing import Any, SupportsFloat

import gymnasium

from steadyrl.environments.contract_env import ContractEnv, OnFault
from steadyrl.integrations.passing import Passing
from steadyrl.stability.environment_rules import asked

LOOKED_AT = 2000  # steps that pass by before the questions are asked


class CheckedEnv(ContractEnv):
    """Checks what every step promises, and asks what the first steps say; changes nothing."""

    def __init__(self, env: gymnasium.Env[Any, Any], *, on_fault: OnFault = "raise") -> None:
        """Check an environment.

        Args:
            env: the environment.
            on_fault: raise an EnvironmentFault; warn, once per kind; or only record it in
                `faults`. What may be so in a sound environment too is at most warned of: frozen
                observations, termination at one and the same step, actions outside their space,
                and all that the doctor's questions find.
        """
        super().__init__(env, on_fault=on_fault)
        self._passing: Passing | None = Passing(env.action_space)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode."""
        observation, info = super().reset(seed=seed, options=options)
        if self._passing is not None:
            self._passing.begin(observation)
        return observation, info

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Play an action and check what comes back."""
        found = super().step(action)
        if self._passing is not None:
            observation, reward, terminated, truncated, info = found
            self._passing.add(action, reward, observation, bool(terminated), bool(truncated), info)
            if self._passing.steps >= LOOKED_AT:
                self._ask(self._passing)
                self._passing = None
        return found

    def _ask(self, passing: Passing) -> None:
        for concern in asked(passing.examined()):
            sentence = f"{concern.message} ({concern.rule} {concern.name}). {concern.remedy}"
            self.faults.setdefault(concern.name, sentence)
            if concern.severity != "note" and self._on_fault != "record":
                warnings.warn(f"{self.env}: {sentence}", stacklevel=3)
