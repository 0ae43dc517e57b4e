"""Preflight: a few hundred real steps, or updates, that test laws before the budget is spent."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import closing
from typing import Any

import numpy as np

from steadyrl.algorithms.common.training import Training, prepare
from steadyrl.core.errors import SteadyError
from steadyrl.core.numbers import amount
from steadyrl.core.run_config import EnvironmentConfig, RunConfig
from steadyrl.core.traits import Trait
from steadyrl.environments.contract import ContractWarning
from steadyrl.environments.envs import Envs
from steadyrl.experiments.environment_check import contract_concerns
from steadyrl.experiments.language_preflight import ROWS, language_concerns
from steadyrl.maths.horizon import horizon
from steadyrl.stability.check import Concern
from steadyrl.stability.detectors import DEFAULT
from steadyrl.stability.monitor import Monitor

UPDATES = 300  # environment steps after learning has begun
INVARIANTS = ("D001", "D002", "D012", "D017", "D018", "D019", "D020")
RANDOM_STEPS = 2000

# What must hold before the first step, by the trait that makes it a law.
LAWS: dict[Trait, Callable[[Training], list[Concern]]] = {"language": language_concerns}


def preflight(config: RunConfig) -> list[Concern]:
    """What the environment and a short training give away."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ContractWarning)  # told once, with what to do
            return [*_environment_concerns(config), *_training_concerns(config)]
    except SteadyError as error:
        return [
            _concern("P001", "does-not-run", "severe", str(error), "It fails within seconds.", "")
        ]


def _training_concerns(config: RunConfig) -> list[Concern]:
    length = config.value_of("learning_starts", 0) + UPDATES
    changes = {config.unit.setting: length, "evaluation.episodes": 0}
    if config.has("log_every"):
        changes["log_every"] = max(20, config.value_of("environment.count", 1))
    if config.has("prompts_per_update"):
        changes |= _few_completions(config)
    short = config.replaced(changes)
    rules = [rule for rule in DEFAULT if rule.id in INVARIANTS]
    monitor = Monitor(short, detectors=rules)
    training = prepare(short)
    concerns = []
    with closing(training.world):
        for trait, laws in LAWS.items():
            if trait in (short.traits or ()):
                concerns += laws(training)
        for step in training.steps:
            monitor.observe(step)
    texts = {rule.id: rule for rule in rules}
    return concerns + [
        _concern(f.rule, f.name, f.severity, f.message, texts[f.rule].why, "Fix the code.")
        for f in monitor.findings
    ]


def _few_completions(config: RunConfig) -> dict[str, Any]:
    """Three updates of few completions, which fit into memory at once if those of a run do."""
    together = config.value_of("samples_per_prompt", 1)
    rows = min(ROWS, config.value_of("micro_batch_size") or ROWS)
    prompts = max(rows // together, 2)
    return {
        "prompts_per_update": prompts,
        "minibatch_size": None,
        "micro_batch_size": None,
        config.unit.setting: 3 * prompts * together,
    }


def _environment_concerns(config: RunConfig) -> list[Concern]:
    environment: EnvironmentConfig | None = config.value_of("environment")
    if environment is None or not environment.exists:
        return []
    broken = contract_concerns(environment, config.seed)
    if any(concern.severity == "severe" for concern in broken):
        return broken
    return broken + _played_concerns(environment, config)


def _played_concerns(environment: EnvironmentConfig, config: RunConfig) -> list[Concern]:
    with (
        closing(Envs(environment, seed=config.seed)) as first,
        closing(Envs(environment, seed=config.seed)) as second,
    ):
        return _played(first, second, config)


def _played(first: Envs, second: Envs, config: RunConfig) -> list[Concern]:
    """Random play, side by side: whether equal seeds give equal lives, and what they teach."""
    generator = np.random.default_rng(config.seed)
    first.action_space.seed(int(generator.integers(1 << 31)))
    concerns = []
    rewards = []
    same = bool(np.array_equal(first.observations, second.observations))
    for _ in range(RANDOM_STEPS // first.count):
        actions = np.stack([first.action_space.sample() for _ in range(first.count)])
        ours, theirs = first.step(actions), second.step(actions)
        same = same and bool(np.array_equal(ours.next_observations, theirs.next_observations))
        rewards.append(ours.rewards)
    if not same:
        concerns.append(
            _concern(
                "P002",
                "not-reproducible",
                "warning",
                "the same seed and actions gave other observations",
                "Runs cannot be resumed or forked exactly, so fixes cannot be proved.",
                "Draw all randomness from self.np_random, seeded in reset(seed=...).",
            )
        )
    return concerns + _termination_incentive(first, np.concatenate(rewards), config)


def _termination_incentive(envs: Envs, rewards: np.ndarray, config: RunConfig) -> list[Concern]:
    """Random play: if every step costs and failing is free, failing is the best policy."""
    episodes = envs.finished
    failed = [episode for episode in episodes if episode.terminated]
    if not failed or len(failed) < 0.9 * len(episodes) or rewards.max() >= 0:
        return []
    step_cost, worst = -float(np.median(rewards)), -float(rewards.min())
    gamma = config.value_of("gamma", 0.99)
    if worst >= 0.5 * step_cost * horizon(gamma):
        return []  # something, probably the end itself, costs as much as living on
    penalty = "Give failure a penalty near a step's cost / (1 - gamma)"
    if gamma >= 1.0:
        penalty = "Use a gamma below 1 and a penalty near a step's cost / (1 - gamma)"
    return [
        _concern(
            "P003",
            "early-end-may-pay",
            "warning",
            f"all rewards of random play are negative (median {amount(-step_cost)}), all "
            f"{len(failed)} episodes terminated, and no end cost more than {amount(worst)}",
            "If ending an episode is failure, failing at once is the best policy here.",
            f"{penalty}, or reward survival.",
        )
    ]


def _concern(rule: str, name: str, severity: str, message: str, why: str, remedy: str) -> Concern:
    return Concern(rule, name, severity, message, why, remedy)  # type: ignore[arg-type]
