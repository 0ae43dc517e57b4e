"""Experience replay for PPO, seen through training: environments and language models alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from steadyrl.algorithms.common.training import Training, prepare
from steadyrl.algorithms.language.learner import LanguageLearner
from steadyrl.algorithms.on_policy.config import PPOConfig
from steadyrl.algorithms.on_policy.learner import OnPolicyLearner
from steadyrl.algorithms.on_policy.ppo import put_gradients
from steadyrl.algorithms.on_policy.replaying import joined
from steadyrl.core.errors import ConfigError
from steadyrl.core.presets import parse_config
from steadyrl.core.records import Step
from steadyrl.core.run_config import RunConfig
from steadyrl.experience.aged import AgedExperience, Drawn, Limits
from steadyrl.experience.rollout import Samples, Weights
from steadyrl.maths.losses import policy_weights
from tests.unit.small_language import small_config

DATA = Path(__file__).parent.parent / "data"


def control(**settings: Any) -> PPOConfig:
    """Ten updates of 64 steps: eight stretches of eight; `a__b` is the setting a.b."""
    values = {
        "algorithm": "ppo",
        "total_env_steps": 640,
        "environment": {"id": "CartPole-v1", "count": 2},
        "rollout_length": 32,
        "hidden_sizes": [8],
        "epochs": 1,
        "minibatch_size": 32,
        "learning_rate": 0.01,
        "evaluation": {"episodes": 0},
        "replay": {"segment_length": 8, "minimum": 8, "draw": 12, "capacity": 60},
    }
    dotted = {name.replace("__", "."): value for name, value in settings.items()}
    config = parse_config(values, overrides=dotted)
    assert isinstance(config, PPOConfig)
    return config


def language(**settings: Any) -> RunConfig:
    """Six updates of four prompts, with scores that differ from the first completion on."""
    values = {
        "problems__name": "jsonl",
        "problems__path": str(DATA / "digits.jsonl"),
        "problems__scorer": "tests.unit.test_ppo_replay:large_digits",
        "replay__minimum": 4,
        "replay__draw": 6,
        "replay__capacity": 20,
    }
    return small_config(**{**values, **settings})


def large_digits(completion: str, answer: str) -> float:
    """A score that any completion can earn some of."""
    return sum(int(mark) for mark in completion if mark.isdigit()) / 10.0


def steps_of(config: RunConfig) -> list[Step]:
    training = prepare(config)
    try:
        return list(training.steps)
    finally:
        training.world.close()


def learned(step: Step) -> dict[str, float]:
    """What does not depend on the clock, nor on whether there is a buffer."""
    return {
        name: value
        for name, value in step.signals.items()
        if not name.startswith(("time.", "aged."))
    }


@pytest.fixture
def draws(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, Limits, Drawn]]:
    """Every draw of a training: when, under which limits, and what came."""
    seen: list[tuple[int, Limits, Drawn]] = []
    draw = AgedExperience.draw

    def watched(self: AgedExperience, count: int, **how: Any) -> Drawn:
        drawn = draw(self, count, **how)
        seen.append((how["now"], how["limits"], drawn))
        return drawn

    monkeypatch.setattr(AgedExperience, "draw", watched)
    return seen


KINDS = [
    pytest.param(control, id="environment"),
    pytest.param(language, id="language"),
]
LIMITS = {"replay__enabled": True, "replay__staleness": 3, "replay__reuse": 2}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("priority", ["uniform", "advantage", "td_error"])
def test_no_batch_ever_holds_what_is_stale_or_worn(
    kind: Any, priority: str, draws: list[tuple[int, Limits, Drawn]]
) -> None:
    steps = steps_of(kind(**LIMITS, replay__priority=priority))
    assert len(draws) >= 4
    for _, limits, drawn in draws:
        assert limits == Limits(limits.capacity, 3, 2)
        assert (drawn.ages <= 3).all()
        assert (drawn.uses <= 2).all()
        assert len(set(drawn.slots.tolist())) == len(drawn.slots)
    assert max(step.signals.get("aged.uses_max", 0.0) for step in steps) <= 2
    assert max(step.signals.get("aged.age_max", 0.0) for step in steps) <= 3


@pytest.mark.parametrize("kind", KINDS)
def test_a_buffer_from_which_nothing_is_drawn_changes_no_bit(kind: Any) -> None:
    plain = steps_of(kind())
    waiting = steps_of(kind(replay__enabled=True, replay__minimum=20))
    drawn = [step.signals["aged.drawn"] for step in waiting]
    before = drawn.index(next(count for count in drawn if count)) if any(drawn) else len(drawn)
    assert before >= 2
    for one, other in zip(plain[:before], waiting[:before], strict=True):
        assert learned(one) == learned(other)


@pytest.mark.parametrize("kind", KINDS)
def test_a_policy_that_stands_still_finds_its_old_samples_as_probable_as_then(kind: Any) -> None:
    for step in steps_of(kind(replay__enabled=True, learning_rate=0.0)):
        if step.signals["aged.drawn"]:
            assert step.signals["aged.kl"] < 1e-9
            assert step.signals["aged.effective_share"] == pytest.approx(1.0, abs=1e-6)
            assert step.signals["aged.value_drift"] < 1e-6


def test_a_policy_that_moves_finds_old_samples_less_probable_and_fresh_ones_never() -> None:
    steps = steps_of(control(replay__enabled=True, learning_rate=0.03))
    late = [step.signals for step in steps if step.signals["aged.drawn"]][2:]
    assert all(signals["aged.kl"] > 1e-6 for signals in late)
    assert all(signals["aged.value_drift"] > 0.0 for signals in late)
    assert all(signals["policy.first_ratio_error"] < 1e-5 for signals in late)


def test_moved_normalisers_are_applied_to_what_was_kept_before_they_moved() -> None:
    """Kept as it came and normalised when drawn: else values of a still critic would drift."""
    frozen = control(
        replay__enabled=True,
        normalize_observations=True,
        learning_rate=0.0,
        replay__priority="td_error",
    )
    training = prepare(frozen)
    learner = training.learner
    assert isinstance(learner, OnPolicyLearner)
    assert learner.experience is not None
    try:
        for _ in range(4):
            next(iter(training.steps))
        held = learner.experience.state_dict()["fields"]
        values = learner.values(learner.inputs(held["observations"][:, 0], frozen))
    finally:
        training.world.close()
    # CartPole's own numbers are small; normalised ones are of size 1.
    assert np.abs(held["observations"]).std() < 1.0
    assert np.isfinite(values).all()


@pytest.mark.parametrize("kind", KINDS)
def test_sample_efficiency_counts_what_gradients_went_through(
    kind: Any, draws: list[tuple[int, Limits, Drawn]]
) -> None:
    training = prepare(kind(replay__enabled=True))
    try:
        *_, last = training.steps
    finally:
        training.world.close()
    learner = training.learner
    assert isinstance(learner, OnPolicyLearner | LanguageLearner)
    old = sum(_rows(drawn) for _, _, drawn in draws)
    epochs = training.live.now.epochs
    assert learner.generated == last.taken
    assert learner.trained == epochs * (learner.generated + old)
    assert last.signals["train.sample_efficiency"] == learner.trained / learner.generated


def _rows(drawn: Drawn) -> int:
    """Samples of what was drawn: steps of stretches, or completions of prompts."""
    mask = drawn.items["mask"]
    return int(mask.sum()) if mask.ndim == 2 else mask.shape[0] * mask.shape[1]


def test_the_share_of_old_samples_can_be_asked_for() -> None:
    steps = steps_of(
        control(replay__enabled=True, replay__share=0.5, environment__id="Pendulum-v1")
    )
    drawn = [step.signals for step in steps if step.signals["aged.drawn"]]
    assert [signals["aged.share"] for signals in drawn] == [0.5] * len(drawn)


def test_capacity_follows_its_schedule() -> None:
    steps = steps_of(
        control(replay__enabled=True, replay__capacity_first=16, replay__capacity_from=0.5)
    )
    sizes = [step.signals["aged.size"] for step in steps]
    assert max(sizes[:5]) <= 16
    assert max(sizes[5:]) > 16


def test_old_samples_that_count_fully_and_fresh_ones_pull_alike() -> None:
    """The gradient of fresh and old rows together is that of the same rows, all of them fresh."""
    config = control()
    learner = prepare(config).learner
    assert isinstance(learner, OnPolicyLearner)
    fresh, old = _samples(0), _samples(1)
    ones = torch.ones(len(old))
    weighted = Samples(**{**vars(old), "weights": Weights(~ones.bool(), ones, ones)})
    both = joined(fresh, weighted)
    found = []
    for batch in (both, Samples(**{**vars(both), "weights": None})):
        put_gradients(learner, batch, config, 0.01, 1.0)
        found.append((learner.actor.gradient.clone(), learner.critic.gradient.clone()))
    assert torch.equal(found[0][0], found[1][0])
    assert torch.equal(found[0][1], found[1][1])


def test_old_samples_that_count_nothing_leave_half_the_gradient_of_the_fresh_ones() -> None:
    config = control(value_weight=1.0)
    learner = prepare(config).learner
    assert isinstance(learner, OnPolicyLearner)
    fresh, old = _samples(0), _samples(1)
    nothing = torch.zeros(len(old))
    weighted = Samples(**{**vars(old), "weights": Weights(nothing.bool(), nothing, nothing)})
    both = joined(fresh, weighted)
    put_gradients(learner, fresh, config, 0.0, 1.0)
    alone = learner.actor.gradient.clone(), learner.critic.gradient.clone()
    put_gradients(learner, both, config, 0.0, 1.0)
    torch.testing.assert_close(learner.actor.gradient, alone[0] / 2)
    torch.testing.assert_close(learner.critic.gradient, alone[1] / 2)


def test_micro_batches_of_fresh_and_old_samples_say_what_the_whole_says() -> None:
    whole, parts = (
        steps_of(control(replay__enabled=True, micro_batch_size=size)) for size in (None, 12)
    )
    last = next(step for step in whole if step.signals["aged.drawn"]).index
    for name in ("policy.kl", "policy.clip_fraction", "policy.loss", "aged.clip_fraction"):
        one, other = whole[last - 1].signals[name], parts[last - 1].signals[name]
        assert one == pytest.approx(other, abs=1e-4)


def _samples(seed: int) -> Samples:
    generator = torch.Generator().manual_seed(seed)
    logs, values, gained, returns = (torch.randn(16, generator=generator) for _ in range(4))
    return Samples(
        torch.randn(16, 4, generator=generator),
        torch.arange(16) % 2,
        -logs.abs(),
        values,
        gained,
        returns,
    )


def test_ratios_are_bounded_above_and_nowhere_else() -> None:
    now, then = torch.tensor([0.0, -1.0, 0.0, 50.0]), torch.tensor([0.0, 0.0, -3.0, 0.0])
    expected = [1.0, np.exp(-1.0), 2.0, 2.0]
    assert policy_weights(now, then, 2.0).tolist() == pytest.approx(expected)


@pytest.mark.parametrize("kind", KINDS)
def test_training_goes_on_exactly_from_a_half_full_buffer(kind: Any) -> None:
    config = kind(**LIMITS, replay__priority="advantage")
    whole = prepare(config)
    steps = iter(whole.steps)
    for _ in range(3):
        next(steps)
    state = whole.state_dict()
    assert len(state["learner"]["parts"]["experience"]["numbers"]) > 0
    copied = _copied(state)
    rest = list(steps)
    again = prepare(config)
    again.load_state_dict(copied)
    resumed = list(again.steps)
    for training in (whole, again):
        training.world.close()
    assert len(resumed) == len(rest) >= 3
    for one, other in zip(rest, resumed, strict=True):
        assert {k: v for k, v in one.signals.items() if not k.startswith("time.")} == {
            k: v for k, v in other.signals.items() if not k.startswith("time.")
        }


def test_a_checkpoint_without_a_buffer_begins_with_an_empty_one() -> None:
    plain = prepare(control())
    next(iter(plain.steps))
    with_buffer: Training = prepare(control(replay__enabled=True))
    with_buffer.learner.load_state_dict(plain.learner.state_dict())
    learner = with_buffer.learner
    assert isinstance(learner, OnPolicyLearner)
    assert learner.experience is not None
    assert len(learner.experience) == 0
    assert learner.updates == 1


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_copied(item) for item in value]
    if isinstance(value, np.ndarray):
        return value.copy()
    return value.clone() if isinstance(value, torch.Tensor) else value


# Settings that change on the way


@pytest.mark.parametrize("kind", KINDS)
def test_draws_become_even_when_priorities_are_given_up_while_training(kind: Any) -> None:
    training = prepare(kind(replay__enabled=True, replay__priority="advantage"))
    learner = training.learner
    assert isinstance(learner, OnPolicyLearner | LanguageLearner)
    weights = []
    for step in training.steps:
        weights.append(step.signals.get("aged.weight_min"))
        if len(weights) == 3:
            training.live.change("replay.priority", "uniform", step=3, because="a remedy")
    training.world.close()
    assert weights[2] is not None
    assert weights[2] < 1.0
    assert weights[3:] == [1.0] * len(weights[3:])


def test_items_of_another_length_are_forgotten_at_a_fork_that_changes_it() -> None:
    whole = prepare(control(replay__enabled=True))
    for _ in range(3):
        next(iter(whole.steps))
    state = whole.learner.state_dict()
    other = prepare(control(replay__enabled=True, replay__segment_length=16))
    other.learner.load_state_dict(state)
    *_, last = other.steps
    for training in (whole, other):
        training.world.close()
    assert last.signals["aged.size"] > 0
    assert np.isfinite(last.signals["policy.loss"])


@pytest.mark.parametrize("change", [("problems.max_new_tokens", 6), ("samples_per_prompt", 2)])
def test_completions_of_another_kind_are_forgotten_where_that_changes(
    change: tuple[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    training = prepare(language(replay__enabled=True))
    sizes = []
    with caplog.at_level("INFO", logger="steadyrl"):
        for step in training.steps:
            sizes.append(step.signals["aged.size"])
            if len(sizes) == 3:
                training.live.change(change[0], change[1], step=3, because="a remedy")
    assert sizes[2] > 0
    assert sizes[3] == 0
    assert sizes[-1] > 0
    assert "items of another shape are forgotten" in caplog.text


def test_a_minibatch_of_one_is_not_left_over() -> None:
    """Its advantage could not be normalised: whatever a draw brings, no such minibatch is made."""
    data = _samples(0)
    ones = torch.ones(len(data))
    mixed = Samples(**{**vars(data), "weights": Weights(ones.bool(), ones, ones)})
    for size, expected in ((5, [5, 5, 6]), (15, [16]), (8, [8, 8]), (6, [6, 6, 4])):
        generator = np.random.default_rng(0)
        assert [len(part) for part in mixed.minibatches(size, generator)] == expected


# Bad input


def test_a_minimum_that_can_never_be_there_is_refused() -> None:
    with pytest.raises(ConfigError, match="minimum = 100 is more than the 50 items"):
        control(replay__minimum=100, replay__capacity=50)


def test_td_errors_need_a_value_head() -> None:
    with pytest.raises(ConfigError, match="td_error needs a value head"):
        small_config(advantage="group", replay__enabled=True, replay__priority="td_error")


def test_a_buffer_larger_than_memory_is_refused_before_it_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    little = type("Memory", (), {"available": 10_000})
    monkeypatch.setattr("steadyrl.algorithms.common.replaying.psutil.virtual_memory", little)
    with pytest.raises(ConfigError, match=r"60 items take .* MB, but only 0 MB are free"):
        steps_of(control(replay__enabled=True))
