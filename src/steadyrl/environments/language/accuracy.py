"""Accuracy on problems that were never trained on, with exact intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from scipy import stats

from steadyrl.environments.language.generation import generate
from steadyrl.environments.language.policy import LanguagePolicy
from steadyrl.environments.language.sampling import Sampling
from steadyrl.environments.language.tasks import Problem, Task
from steadyrl.nets.processes import ALONE, Processes


@dataclass(frozen=True, slots=True)
class Accuracy:
    """How many of the answers were right, with an exact interval (Clopper and Pearson, 95 %)."""

    right: int
    total: int

    @property
    def share(self) -> float:
        """Right answers over all; NaN if there were none."""
        return self.right / self.total if self.total else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """Shares that so many right answers do not contradict."""
        if self.total == 0:
            return 0.0, 1.0
        found = stats.binomtest(self.right, self.total).proportion_ci(0.95, method="exact")
        return float(found.low), float(found.high)

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.share:.1%} [{low:.1%}, {high:.1%}] of {self.total}"


@dataclass(frozen=True, slots=True)
class HeldOut:
    """How the model answers what it was never trained on."""

    greedy: Accuracy
    sampled: Accuracy
    greedy_score: float  # mean score, the same as the accuracy where scores are 1 and 0
    cut_off: float  # share of greedy completions that did not end by themselves


def held_out_accuracy(
    policy: LanguagePolicy,
    tokenizer: Any,
    task: Task,
    *,
    count: int,
    max_new_tokens: int,
    ends: Sequence[int],
    seed: int = 0,
    temperature: float = 1.0,
    top_p: float = 1.0,
    rows: int = 256,
    processes: Processes = ALONE,
) -> HeldOut:
    """Greedy and sampled, on the first `count` held-out problems (fewer if there are fewer).

    One sample a problem: several of the same one would not be independent, and the interval
    narrower than the truth. A completion counts as right if it scores at least 1.
    """
    problems = task.held_out[:count]

    def scores(sampling: Sampling) -> tuple[list[float], float]:
        generator = torch.Generator().manual_seed(seed)
        found = generate(
            policy,
            tokenizer,
            [problem.prompt for problem in problems],
            sampling,
            generator=generator,
            ends=ends,
            stop=task.stop,
            rows=rows,
            processes=processes,
        )
        right = scored(task, problems, found.text, processes)
        return right, 1.0 - float(found.finished.float().mean())

    greedy, cut_off = scores(Sampling(max_new_tokens, greedy=True))
    sampled, _ = scores(Sampling(max_new_tokens, temperature, top_p))
    return HeldOut(_right(greedy), _right(sampled), sum(greedy) / len(greedy), cut_off)


def scored(
    task: Task,
    problems: Sequence[Problem],
    texts: Sequence[str],
    processes: Processes = ALONE,
) -> list[float]:
    """The score of each text; several samples of one problem stand together.

    Of several processes one alone scores a text: a judge that is not sure must not tell them apart.
    """
    samples = len(texts) // len(problems)
    rows = processes.share(slice(0, len(texts)))
    with processes.together():
        mine = [
            task.score(texts[index], problems[index // samples].answer)
            for index in range(rows.start, rows.stop)
        ]
    all_of_them = processes.whole(torch.tensor(mine, dtype=torch.float64), rows, len(texts))
    scores: list[float] = all_of_them.tolist()
    return scores


def _right(scores: Sequence[float]) -> Accuracy:
    return Accuracy(sum(score >= 1.0 for score in scores), len(scores))
