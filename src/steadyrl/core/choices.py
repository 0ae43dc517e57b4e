"""Choices by name, as arguments of functions: spelt rightly, or refused with what there is."""

from __future__ import annotations

from typing import Any, Literal, get_args

from steadyrl.core.errors import ConfigError

RULE_KINDS = ("check", "detector", "cause", "remedy", "probe", "question")
# Which algorithm another program's run trains.
Family = Literal["ppo", "trpo", "a2c", "ddpg", "td3", "sac", "dqn", "grpo", "search", "unknown"]
# What findings are held against: the run's own past, or also the documents' numbers.
Limits = Literal["relative", "document"]


def one_of(name: str, value: Any, allowed: Any) -> Any:
    """A choice that was spelt rightly; `allowed` is a Literal, or names."""
    choices = get_args(allowed) or tuple(allowed)
    if value not in choices:
        raise ConfigError(f"{name} = {value!r} is not one of: {', '.join(map(str, choices))}.")
    return value
