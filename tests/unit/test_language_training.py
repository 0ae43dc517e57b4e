from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from steadyrl.core.errors import ConfigError
from steadyrl.environments.language.accuracy import Accuracy, held_out_accuracy, scored
from steadyrl.environments.language.generation import end_tokens
from steadyrl.environments.language.models import tiny_model, trained_state
from steadyrl.environments.language.policy import LanguagePolicy
from steadyrl.environments.language.scorers import exact
from steadyrl.environments.language.tasks import Problem, ProblemSet, alphabet
from steadyrl.environments.language.tokenizer import character_tokenizer
from steadyrl.environments.language.warm_start import WarmStartSettings, solved, warm_start


def _copying(count: int = 60) -> ProblemSet:
    """Say the digit again: learnt in a few steps."""
    problems = [
        Problem(f"{n % 10}=", str(n % 10), str(n), level=1 + n % 10 // 5) for n in range(count)
    ]
    return ProblemSet("copying", problems, problems, exact)


def _started(task: ProblemSet, seed: int = 0) -> tuple[LanguagePolicy, Any]:
    tokenizer = character_tokenizer(alphabet(task))
    return LanguagePolicy(tiny_model(tokenizer, layers=1, width=32, heads=2, seed=seed)), tokenizer


def test_intervals_are_exact() -> None:
    assert Accuracy(5, 10).share == 0.5
    assert Accuracy(5, 10).interval == pytest.approx((0.1871, 0.8129), abs=1e-4)
    low, high = Accuracy(0, 20).interval
    assert low == 0.0
    assert high == pytest.approx(1 - 0.025 ** (1 / 20))
    assert Accuracy(0, 0).interval == (0.0, 1.0)
    assert str(Accuracy(5, 10)) == "50.0% [18.7%, 81.3%] of 10"


def test_each_sample_is_scored_by_the_answer_of_its_problem() -> None:
    task = _copying()
    assert scored(task, task.train[1:3], ["1", "2", "1", "2"]) == [1.0, 0.0, 0.0, 1.0]


def test_a_model_that_always_says_the_same_is_right_where_that_is_the_answer() -> None:
    task = _copying()
    policy, tokenizer = _started(task)

    class Parrot(LanguagePolicy):
        def logits(self, hidden: torch.Tensor) -> torch.Tensor:
            seven = tokenizer("7", add_special_tokens=False)["input_ids"][0]
            found = torch.full((len(hidden), len(tokenizer)), -50.0)
            found[:, seven] = 0.0
            return found

    found = held_out_accuracy(
        Parrot(policy.language_model),
        tokenizer,
        task,
        count=50,
        max_new_tokens=1,
        ends=end_tokens(tokenizer),
    )
    assert found.greedy == found.sampled == Accuracy(5, 50)
    assert found.greedy_score == pytest.approx(0.1)
    assert found.cut_off == 1.0


def test_solved_problems_train_the_answer_and_its_end_alone() -> None:
    task = _copying()
    _, tokenizer = _started(task)
    problems = [Problem("12=", "3", "a"), Problem("4=", "567", "b")]
    tokens, attention, mask = solved(tokenizer, problems)
    assert mask.tolist() == [[True, True, False, False], [True] * 4]
    asked = tokens[:, -4:][mask].tolist()
    end = tokenizer.eos_token_id
    digits = tokenizer("3567", add_special_tokens=False)["input_ids"]
    assert asked == [digits[0], end, *digits[1:], end]
    texts = tokenizer.batch_decode([row[kept] for row, kept in zip(tokens, attention, strict=True)])
    assert texts == ["<bos>12=3<eos>", "<bos>4=567<eos>"]


SETTINGS = WarmStartSettings(
    low=0.3,
    high=0.8,
    learning_rate=3e-3,
    batch_size=32,
    look_every=40,
    held_out=60,
    max_new_tokens=2,
)


def test_a_warm_start_ends_in_the_range_and_a_seed_fixes_it() -> None:
    task = _copying()
    ended = []
    for _ in range(2):
        policy, tokenizer = _started(task)
        looks: list[Any] = []
        found = warm_start(
            policy,
            tokenizer,
            task,
            SETTINGS,
            seed=5,
            progress=lambda *look, looks=looks: looks.append(look),
        )
        assert found.reached
        assert 0.3 <= found.after.sampled.share <= 0.8
        assert found.before.sampled.share < 0.3
        assert found.steps == looks[-1][0]
        ended.append((found, trained_state(policy)))
    assert ended[0][0] == ended[1][0]
    for name, weight in ended[0][1].items():
        assert torch.equal(weight, ended[1][1][name])


def test_a_look_above_the_range_leads_back_to_the_look_before() -> None:
    task = _copying()
    policy, tokenizer = _started(task)
    coarse = replace(SETTINGS, learning_rate=1e-2, look_every=120)
    looks: list[tuple[int, float]] = []
    found = warm_start(
        policy,
        tokenizer,
        task,
        coarse,
        seed=5,
        progress=lambda step, _, accuracy: looks.append((step, accuracy.share)),
    )
    assert looks[0][0] == 120
    assert looks[0][1] > 0.8
    assert looks[1][0] == 60
    assert found.reached


def test_a_range_that_is_not_reached_is_told() -> None:
    task = _copying()
    policy, tokenizer = _started(task)
    short = WarmStartSettings(look_every=1, max_steps=1, held_out=10, max_new_tokens=2)
    found = warm_start(policy, tokenizer, task, short, seed=5)
    assert found.steps == 1
    assert not found.reached


def test_a_level_that_no_problem_has_is_refused() -> None:
    task = _copying()
    policy, tokenizer = _started(task)
    with pytest.raises(ConfigError, match="no problem has a level up to 0"):
        warm_start(policy, tokenizer, task, WarmStartSettings(max_level=0), seed=5)
