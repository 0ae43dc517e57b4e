"""The policy on episodes of their own, and the end of a Step."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyrl.algorithms.common import ending
from steadyrl.algorithms.on_policy.config import OnPolicyConfig
from steadyrl.algorithms.on_policy.learner import OnPolicyLearner
from steadyrl.core.records import Step
from steadyrl.core.seeding import integer_seed
from steadyrl.core.signals import Meter
from steadyrl.environments.envs import Envs
from steadyrl.environments.evaluate import evaluate

Array = NDArray[Any]


def evaluate_policy(learner: OnPolicyLearner, config: OnPolicyConfig) -> dict[str, float]:
    """The policy on episodes of their own: its most likely actions, or drawn ones."""
    learner.evaluations += 1
    generator = np.random.default_rng(integer_seed(config.seed, "acting", learner.evaluations))
    extra = learner.actor.extra.cpu().numpy()

    def policy(observations: Array) -> Array:
        outputs = learner.act(learner.inputs(observations, config))
        if config.evaluation.most_likely:
            return learner.policy.for_environment(learner.policy.best(outputs))
        return learner.policy.for_environment(learner.policy.sample(outputs, extra, generator)[0])

    return evaluate(
        policy,
        config.environment,
        episodes=config.evaluation.episodes,
        seed=config.seed,
        index=learner.evaluations,
        gamma=config.gamma,
    ).signals()


def finish_step(
    learner: OnPolicyLearner,
    envs: Envs,
    config: OnPolicyConfig,
    meter: Meter,
    *,
    started: float,
    taken_before: int,
) -> Step:
    """An update's end: how the episodes went, and what every Step ends with."""
    meter.add(envs.episode_signals())
    return ending.finish_step(
        learner,
        envs,
        config,
        meter,
        started=started,
        taken_before=taken_before,
        evaluate=partial(evaluate_policy, learner, config),
    )
