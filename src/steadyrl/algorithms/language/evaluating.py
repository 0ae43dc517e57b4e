"""Held-out problems: before any reward, and while training."""

from __future__ import annotations

import math

from steadyrl.algorithms.language.config import LanguageConfig
from steadyrl.algorithms.language.learner import LanguageLearner
from steadyrl.environments.language.accuracy import held_out_accuracy


def begin(learner: LanguageLearner, config: LanguageConfig) -> dict[str, float]:
    """How many held-out answers are right before any reward, and after a warm start if any."""
    warmed = learner.warm_up(config)
    if not config.evaluation.episodes:
        return warmed
    return warmed or {"language.accuracy_untrained": evaluate(learner, config)["language.accuracy"]}


def evaluate(learner: LanguageLearner, config: LanguageConfig) -> dict[str, float]:
    """Held-out problems: greedy, and sampled as in training. A right answer returns 1."""
    learner.evaluations += 1
    found = held_out_accuracy(
        learner.policy,
        learner.tokenizer,
        learner.task,
        count=config.evaluation.episodes,
        max_new_tokens=config.problems.max_new_tokens,
        ends=learner.ends,
        seed=config.seed,
        temperature=config.temperature,
        top_p=config.top_p,
        rows=config.sample_at_once,
        processes=learner.processes,
    )
    share = found.greedy.share
    return {
        "eval.return_mean": found.greedy_score,
        "eval.return_std": math.sqrt(share * (1.0 - share) / found.greedy.total),
        "language.accuracy": share,
        "language.accuracy_sampled": found.sampled.share,
        "language.evaluated": float(found.greedy.total),
    }
