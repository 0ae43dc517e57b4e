"""PPO and GRPO for language models: laws of the update, exact resume, what is refused."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest
import torch

from steadyrl.algorithms.common.training import prepare
from steadyrl.algorithms.language.batch import Batch
from steadyrl.algorithms.language.config import LanguageConfig
from steadyrl.algorithms.language.learner import LanguageLearner
from steadyrl.algorithms.language.measures import centred, mask_error, standard_error
from steadyrl.algorithms.language.ppo import descend, estimate, find_gradient, losses_of, sample
from steadyrl.core.errors import ConfigError
from steadyrl.core.records import Step
from steadyrl.environments.language.completions import Completions
from steadyrl.experiments.verify_resume import compare_runs
from steadyrl.judging import judge
from steadyrl.run import Observers, resume, train
from steadyrl.stability.monitor import Monitor
from steadyrl.store.reader import RunReader
from steadyrl.views.answers import answers
from tests.unit.small_language import small_config


def _batch(config: LanguageConfig) -> tuple[LanguageLearner, Batch]:
    training = prepare(config)
    learner = training.learner
    assert isinstance(learner, LanguageLearner)
    completions, _ = sample(learner, config)
    scores = torch.arange(len(completions), dtype=torch.float32) % 3  # so that there is a signal
    return learner, estimate(learner, completions, scores, config)[0]


def _gradient(learner: LanguageLearner, batch: Batch, config: LanguageConfig, size: int) -> Any:
    learner.optimizer.zero()
    total = float(batch.completions.mask.sum())
    for start in range(0, len(batch), size):
        losses_of(learner, batch, slice(start, min(start + size, len(batch))), config, total)[
            0
        ].backward()  # type: ignore[no-untyped-call]
    return torch.cat([w.grad.flatten() for w in learner.policy.parameters() if w.grad is not None])


@pytest.mark.parametrize("settings", [{}, {"advantage": "group"}, {"kl": "loss"}], ids=str)
def test_the_gradient_does_not_depend_on_the_split_into_micro_batches(
    settings: dict[str, Any],
) -> None:
    config = small_config(entropy_weight=0.01, **settings)
    learner, batch = _batch(config)
    whole = _gradient(learner, batch, config, len(batch))
    for size in (8, 4, 3, 1):
        parts = _gradient(learner, batch, config, size)
        assert float((parts - whole).norm() / whole.norm()) < 1e-5


def test_prompts_that_teach_nothing_are_left_out_of_the_pass_and_the_gradient_is_the_same() -> None:
    config = small_config(advantage="group")
    training = prepare(config)
    learner = training.learner
    assert isinstance(learner, LanguageLearner)
    completions, _ = sample(learner, config)
    scores = torch.tensor([0.0, 1.0, 0.0, 0.0] + [1.0] * 4 + [0.0] * 4 + [1.0, 0.0, 1.0, 1.0])
    batch = estimate(learner, completions, scores, config)[0]
    expected = _gradient(learner, batch, config, len(batch))
    passed: list[int] = []
    forward = learner.policy.forward

    def counted(tokens: torch.Tensor, *rest: Any, **how: Any) -> Any:
        passed.append(len(tokens))
        return forward(tokens, *rest, **how)

    learner.policy.forward = counted  # type: ignore[method-assign]
    signals = find_gradient(learner, batch, slice(0, len(batch)), config)
    found = torch.cat([w.grad.flatten() for w in learner.policy.parameters() if w.grad is not None])
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-7)
    assert passed == [8]
    assert signals["kl"] == pytest.approx(0.0, abs=1e-6)


def test_a_batch_that_teaches_nothing_has_a_gradient_of_zero() -> None:
    config = small_config(advantage="group")
    learner = prepare(config).learner
    assert isinstance(learner, LanguageLearner)
    completions, _ = sample(learner, config)
    batch = estimate(learner, completions, torch.ones(len(completions)), config)[0]
    find_gradient(learner, batch, slice(0, len(batch)), config)
    assert learner.weights.clip_gradient(None) == 0.0


def test_before_the_first_step_every_ratio_is_one_and_the_sampler_is_the_policy() -> None:
    config = small_config(kl="reward")
    steps = list(prepare(config).steps)
    for step in steps:
        assert step.signals["policy.first_ratio_error"] < 1e-4
        assert step.signals["language.sampler_gap"] < 1e-4
    assert steps[0].signals["language.reference_kl"] == pytest.approx(0.0, abs=1e-6)


def test_another_temperature_shows_as_nothing_in_the_gap_but_ratios_stay_one() -> None:
    # The policy's own probabilities are trained, whatever it was sampled with.
    (step, *_) = prepare(small_config(temperature=0.5)).steps
    assert step.signals["policy.first_ratio_error"] < 1e-4


def test_a_gradient_that_is_no_number_is_skipped_and_counted() -> None:
    config = small_config()
    learner, batch = _batch(config)
    before = learner.weights.snapshot()
    batch.advantages[0, 0] = float("nan")
    descend(learner, batch, slice(0, len(batch)), config, 0.1)
    assert learner.skipped == 1
    assert learner.weights.moved_since(before) == 0.0


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"advantage": "group", "minibatch_size": 8},
        {"kl": "reward", "micro_batch_size": 4},
        {"advantage": "group", "model.lora_rank": 2, "kl": "loss"},
        {"model.recompute": True, "critic_warm_up": 2},
    ],
    ids=str,
)
def test_a_run_goes_on_exactly_where_it_stopped(settings: dict[str, Any], tmp_path: Path) -> None:
    config = small_config(**settings)
    train(config, tmp_path / "unbroken")

    def stop(step: Step) -> None:
        if step.index == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(config, tmp_path / "broken", observers=Observers(step=stop))
    resume(tmp_path / "broken")
    assert compare_runs(tmp_path / "unbroken", tmp_path / "broken").differences == []


def test_it_counts_samples_and_is_judged(tmp_path: Path) -> None:
    summary, path = train(small_config(), tmp_path / "run")
    assert (summary.steps, summary.taken) == (6, 96)
    verdict = judge(path)
    assert verdict.to_json()["unit"] == "samples"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"advantage": "group", "samples_per_prompt": 1}, "at least 2"),
        ({"micro_batch_size": 17}, "more than the 16 completions"),
        ({"minibatch_size": 5}, "does not divide the 16"),
        ({"problems.name": "jsonl"}, r"needs problems\.path"),
        ({"advantage": "group", "critic_warm_up": 2}, "needs a value head"),
        ({"kl_target": 0.1}, "needs a reference"),
        ({"model.precision": "bf16"}, r"compute\.precision = bf16"),
    ],
)
def test_what_does_not_fit_together_is_one_sentence(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        small_config(**settings)


def test_a_model_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no language model in it"):
        prepare(small_config(model__path=str(tmp_path)))


def _drawn(config: LanguageConfig) -> tuple[LanguageLearner, Completions]:
    learner = prepare(config).learner
    assert isinstance(learner, LanguageLearner)
    return learner, sample(learner, config)[0]


def test_the_mask_covers_completions_to_their_end_and_a_shifted_one_shows() -> None:
    learner, drawn = _drawn(small_config())
    assert mask_error(drawn, learner.ends) == 0.0
    without_ends = drawn.mask.clone()
    rows = torch.arange(len(drawn))
    without_ends[rows, drawn.lengths - 1] = False
    for mask in (without_ends, drawn.mask.roll(1, dims=1), torch.ones_like(drawn.mask)):
        assert mask_error(dataclasses.replace(drawn, mask=mask), learner.ends) > 0.05


def test_prompt_tokens_among_the_completions_show_in_the_mask() -> None:
    learner, drawn = _drawn(small_config())
    prompt = drawn.tokens.shape[1] - drawn.mask.shape[1]
    longer = torch.cat([drawn.attention[:, prompt - 1 : prompt], drawn.mask], dim=1)
    assert mask_error(dataclasses.replace(drawn, mask=longer), learner.ends) > 0.05


def test_sampling_colder_than_training_shows_as_a_gap() -> None:
    (step, *_) = prepare(small_config()).steps
    assert step.signals["language.sampling_gap"] < 1e-4
    (step, *_) = prepare(small_config(temperature=0.5)).steps
    assert step.signals["language.sampling_gap"] > 0.01
    assert step.signals["language.sampler_gap"] < 1e-4


def test_samples_of_one_prompt_count_once_in_the_error_of_a_mean() -> None:
    values = torch.tensor([0.0, 2.0, 4.0, 6.0])
    assert standard_error(values, 1) == pytest.approx(2.581989 / 2)
    assert standard_error(values, 2) == pytest.approx(2.828427 / 2**0.5)
    assert standard_error(values, 4) == 0.0
    assert centred(values, 2).tolist() == [-1.0, 1.0, -1.0, 1.0]
    assert centred(values, 1).tolist() == [-3.0, -1.0, 1.0, 3.0]


def test_an_update_makes_better_completions_more_probable_and_a_flipped_sign_less() -> None:
    config = small_config(learning_rate=1e-3)
    for sign in (1.0, -1.0):
        learner, batch = _batch(config)
        batch.advantages.mul_(sign)
        for _ in range(3):
            found = descend(learner, batch, slice(0, len(batch)), config, 1e-3)
        assert found["policy.improvement"] * sign > 0.0


@pytest.mark.parametrize("epochs", [1, 2])
def test_what_an_update_gained_is_asked_of_samples_it_was_made_from(epochs: int) -> None:
    for step in prepare(small_config(epochs=epochs)).steps:
        assert ("policy.improvement" in step.signals) == (epochs > 1)


def test_a_warm_start_tells_how_far_it_came_and_its_first_step_holds_both_accuracies(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = small_config(
        warm_start={"enabled": True, "low": 0.9, "high": 1.0, "max_steps": 100}, total_samples=32
    )
    with caplog.at_level("INFO", logger="steadyrl"):
        first, second = prepare(config).steps
    assert [record.getMessage()[:22] for record in caplog.records] == [
        "warm start: 50 steps, ",
        "warm start: 100 steps,",
    ]
    assert first.signals["language.accuracy_untrained"] < 0.5
    assert 0.0 <= first.signals["language.accuracy_warm"] <= 1.0
    assert "language.accuracy_warm" not in second.signals


def test_while_the_critic_warms_up_the_model_does_not_move() -> None:
    config = small_config(critic_warm_up=1)
    learner, batch = _batch(config)
    head, model = learner.policy.value_head, learner.policy.language_model
    assert head is not None
    before = [weight.detach().clone() for weight in model.parameters()]

    def unmoved() -> bool:
        pairs = zip(model.parameters(), before, strict=True)
        return all(torch.equal(now, then) for now, then in pairs)

    descend(learner, batch, slice(0, len(batch)), config, 0.01)
    assert unmoved()
    assert float(head.weight.detach().abs().sum()) > 0
    learner.updates = 1
    descend(learner, batch, slice(0, len(batch)), config, 0.01)
    assert not unmoved()


def test_without_a_kl_term_there_is_no_second_model_and_a_fork_takes_its_start_for_one(
    tmp_path: Path,
) -> None:
    training = prepare(small_config())
    list(training.steps)
    state = training.state_dict()
    assert "reference" not in state["learner"]["parts"]
    forked = prepare(small_config(kl="loss", total_samples=112))
    forked.load_state_dict({**state, "config": forked.live.state_dict()})
    (step,) = forked.steps
    assert step.signals["language.reference_kl"] == pytest.approx(0.0, abs=1e-6)
    assert "reference" in forked.state_dict()["learner"]["parts"]


def test_answers_before_and_after_are_told_with_exact_intervals(tmp_path: Path) -> None:
    _, path = train(small_config(), tmp_path / "run")
    told = dict(answers(list(RunReader.open(path).steps())))
    assert told.keys() == {"before", "at the end", "at the end, sampled"}
    assert all(re.fullmatch(r".*% \[.*%, .*%\] of \d", said) for said in told.values())
    step = Step(1, 1, 0.0, {"language.evaluated": 200.0, "language.accuracy": 0.5})
    assert answers([step]) == [("at the end", "50.0% [42.9%, 57.1%] of 200")]
    assert answers([Step(1, 1, 0.0, {})]) == []


def test_a_batch_size_is_that_of_all_completions_of_an_update() -> None:
    config = small_config(prompts_per_update=8, minibatch_size=16, micro_batch_size=8)
    larger = config.replaced(config.batch_of(128))
    assert (larger.samples_per_update, larger.minibatch_size, larger.micro_batch_size) == (
        128,
        64,
        8,
    )
    smaller = config.replaced(config.batch_of(8))
    assert (smaller.samples_per_update, smaller.minibatch_size, smaller.micro_batch_size) == (
        8,
        4,
        4,
    )
    assert small_config().batch_of(64)["minibatch_size"] is None
    with pytest.raises(ConfigError, match="no multiple of samples_per_prompt = 4"):
        config.batch_of(66)
    with pytest.raises(ConfigError, match="2 equal minibatches"):
        config.replaced({"samples_per_prompt": 1, "prompts_per_update": 32}).batch_of(7)


@pytest.mark.parametrize(("spread", "accused"), [(0.0, False), (0.1, True)])
def test_equal_rewards_are_not_taken_for_a_detached_optimiser(spread: float, accused: bool) -> None:
    monitor = Monitor(small_config())
    still = {"policy.update_ratio": 0.0, "policy.gradient_norm": 0.0, "language.reward_std": spread}
    found = set()
    for index in range(1, 41):
        step = Step(index, 16 * index, 0.0, {**still, "train.updates": float(index)})
        found |= {finding.rule for finding in monitor.observe(step)}
    assert ("D002" in found) == accused
    assert "D150" in found


def test_a_run_without_evaluation_trains() -> None:
    (step,) = prepare(small_config(evaluation__episodes=0, total_samples=16)).steps
    assert not [name for name in step.signals if "accuracy" in name]
