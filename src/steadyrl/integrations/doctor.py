"""The environment doctor: what an environment shows to random actions, before any training.

Where an environment can be seeded, questions are asked by intervention: the same seed and actions
once more, and once more with a single action changed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import gymnasium
import numpy as np

from steadyrl.core.run_config import EnvironmentConfig
from steadyrl.environments.contract_env import ContractEnv
from steadyrl.environments.make import make_one
from steadyrl.environments.witness import ENOUGH
from steadyrl.integrations.passing import Passing, copied
from steadyrl.stability.environment_answers import Examined

Make = Callable[[], gymnasium.Env[Any, Any]]

EPISODES = 20
MOST_EPISODES = 100
LONGEST = 1000  # steps of an episode that are looked at
TWINS = 8  # episodes played again, and once more with one action changed
CHANGED_AT = 3  # the action that is changed
AHEAD = 20  # steps after it that are compared


@dataclass
class _Episode:
    """What was lived under one seed."""

    observations: list[Any] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    actions: list[Any] = field(default_factory=list)


def make(name: str) -> Make:
    """How to make an environment by its id, or by the import path of a class or function."""
    return partial(make_one, EnvironmentConfig(id=name))


def examine(make_env: Make, *, episodes: int = EPISODES) -> Examined:
    """Play random episodes, play some again, and change one action of those."""
    env = ContractEnv(make_env(), on_fault="record")
    env.action_space.seed(0)
    passing = Passing(env.action_space)
    played = [_play(env, seed, passing=passing) for seed in range(episodes)]
    twins = played[: min(TWINS, episodes)]
    again = [_play(env, seed, actions=one.actions) for seed, one in enumerate(twins)]
    lags = [_first_difference(env, seed, one) for seed, one in enumerate(twins)]
    pairs = list(zip(twins, again, strict=True))
    gaps = [a - b for one, two in pairs for a, b in zip(one.rewards, two.rewards, strict=False)]
    apart = [_apart(a, b) for one, two in pairs for a, b in _together(one, two)]
    for seed in range(episodes, MOST_EPISODES):  # short ones: what depends on what needs many steps
        if passing.steps >= ENOUGH:
            break
        _play(env, seed, passing=passing)
    env.close()
    return passing.examined(
        faults=dict(env.faults),
        repeats=len(again),
        observation_gap=max(apart, default=0.0),
        reward_gap=np.array(gaps),
        lags=np.array([lag for lag in lags if lag is not None]),
    )


def _play(
    env: ContractEnv, seed: int, actions: list[Any] | None = None, passing: Passing | None = None
) -> _Episode:
    """One episode with random actions, or with those of another one."""
    one = _Episode()
    observation, _ = env.reset(seed=seed)
    if passing is not None:
        passing.begin(observation)
    one.observations.append(copied(observation))
    for number in range(LONGEST if actions is None else len(actions)):
        action = env.action_space.sample() if actions is None else actions[number]
        observation, reward, terminated, truncated, info = env.step(action)
        if passing is not None:
            passing.add(action, reward, observation, bool(terminated), bool(truncated), info)
        one.actions.append(action)
        one.observations.append(copied(observation))
        one.rewards.append(float(reward))
        if terminated or truncated:
            break
    return one


def _first_difference(env: ContractEnv, seed: int, one: _Episode) -> float | None:
    """Steps from a changed action to the first thing that differs; infinite if nothing does."""
    if len(one.actions) <= CHANGED_AT:
        return None
    actions = list(one.actions[: CHANGED_AT + AHEAD])
    other = _another(env.action_space, actions[CHANGED_AT])
    if other is None:
        return None
    actions[CHANGED_AT] = other
    two = _play(env, seed, actions=actions)
    for lag in range(min(len(one.rewards), len(two.rewards)) - CHANGED_AT):
        at = CHANGED_AT + lag
        before, now = one.observations[at + 1], two.observations[at + 1]
        if _apart(before, now) > 0 or one.rewards[at] != two.rewards[at]:
            return float(lag)
    # One of them ended and the other did not: that is a difference too.
    cut = min(len(one.rewards), len(actions))
    return math.inf if cut == len(two.rewards) else float(len(two.rewards) - CHANGED_AT)


def _another(space: gymnasium.Space[Any], action: Any) -> Any:
    """An action that differs from this one as much as chance offers."""
    samples = [space.sample() for _ in range(16)]
    best = max(samples, key=lambda sample: _apart(sample, action))
    return best if _apart(best, action) > 0 else None


def _together(one: _Episode, two: _Episode) -> list[tuple[Any, Any]]:
    return list(zip(one.observations, two.observations, strict=False))


def _apart(one: Any, other: Any) -> float:
    """The largest difference between two observations or actions of any structure."""
    if isinstance(one, dict):
        return max((_apart(one[key], other[key]) for key in one), default=0.0)
    if isinstance(one, tuple | list):
        return max((_apart(a, b) for a, b in zip(one, other, strict=False)), default=0.0)
    if isinstance(one, str):
        return float(one != other)
    first, second = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
    if first.shape != second.shape:
        return math.inf
    return float(np.max(np.abs(first - second))) if first.size else 0.0
