"""The noise scale against problems whose answer is known."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable
from pathlib import Path

import gymnasium
import numpy as np
import pytest
import torch

from steadyrl.algorithms.common.training import prepare
from steadyrl.algorithms.ddpg.config import DDPGConfig
from steadyrl.algorithms.on_policy.config import PPOConfig
from steadyrl.algorithms.on_policy.learner import OnPolicyLearner
from steadyrl.algorithms.on_policy.ppo import descend, put_gradients
from steadyrl.cli.main import main
from steadyrl.core.presets import parse_config
from steadyrl.experience.rollout import Samples
from steadyrl.maths.noise_scale import (
    NoiseMeter,
    NoiseScale,
    advise,
    moments,
    noise_scale,
    student_975,
    variance_ratio,
)
from steadyrl.run import train
from tests.conftest import Countdown

Make = Callable[..., DDPGConfig]
Floats = np.ndarray


def _drawn(
    generator: np.random.Generator, count: int, size: int, true: Floats, spread: Floats
) -> list[Floats]:
    noise = generator.normal(size=(count, len(true))) * spread / np.sqrt(size)
    return list(true + noise)


def _contents(folder: Path) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_by_hand_on_two_numbers_repeated() -> None:
    # Gradients alternate 1 and 3: mean 2, so L = 4 and S = 5; n = 8.
    found = noise_scale(moments([np.array([1.0]), np.array([3.0])] * 4, size=10))
    assert found.signal == pytest.approx((8 * 4 - 5) / 7)
    assert found.noise == pytest.approx(10 * 8 / 7 * (5 - 4))
    assert found.scale == pytest.approx(found.noise / found.signal)


def test_estimates_are_unbiased_and_intervals_cover_the_truth() -> None:
    generator = np.random.default_rng(0)
    true, spread = np.zeros(200), np.linspace(0.2, 1.8, 200)
    true[0] = 1.0
    variance = float((spread**2).sum())
    found = [noise_scale(moments(_drawn(generator, 50, 16, true, spread), 16)) for _ in range(300)]
    assert np.mean([f.signal for f in found]) == pytest.approx(1.0, rel=0.05)
    assert np.mean([f.noise for f in found]) == pytest.approx(variance, rel=0.01)
    assert np.mean([f.signal_low <= 1.0 <= f.signal_high for f in found]) >= 0.93
    assert np.mean([f.noise_low <= variance <= f.noise_high for f in found]) >= 0.9
    measurable = [f for f in found if f.measurable]
    assert len(measurable) > 250
    covered = [f.scale_low <= variance <= f.scale_high for f in measurable]
    assert np.mean(covered) >= 0.93


def test_pure_noise_is_no_measurable_signal() -> None:
    generator = np.random.default_rng(1)
    claims = 0
    for _ in range(200):
        found = noise_scale(moments(_drawn(generator, 30, 8, np.zeros(50), np.ones(50)), 8))
        claims += found.measurable
        assert found.measurable or np.isnan(found.scale)
    assert claims <= 10  # one side of a 95 % interval


def test_variance_falls_as_one_over_the_batch() -> None:
    generator = np.random.default_rng(2)
    true, spread = np.ones(100), np.ones(100)
    covered = 0
    for _ in range(100):
        small = noise_scale(moments(_drawn(generator, 60, 64, true, spread), 64))
        large = noise_scale(moments(_drawn(generator, 60, 512, true, spread), 512))
        _, low, high = variance_ratio(small, large)
        covered += 8 * low <= 8 <= 8 * high
    assert covered >= 90


def _constant(value: float) -> NoiseScale:
    return noise_scale(moments([np.full(3, value)] * 10, 16))


def test_gradients_that_are_all_zero_have_no_ratio_and_no_traceback() -> None:
    noisy = noise_scale(moments(_drawn(np.random.default_rng(0), 20, 8, np.ones(9), np.ones(9)), 8))
    assert all(np.isnan(figure) for figure in variance_ratio(noisy, _constant(0.0)))
    assert variance_ratio(_constant(0.0), noisy) == (0.0, 0.0, 0.0)


def test_a_ratio_to_noise_that_may_be_none_has_no_upper_end() -> None:
    noisy = noise_scale(moments(_drawn(np.random.default_rng(0), 20, 8, np.ones(9), np.ones(9)), 8))
    doubtful = dataclasses.replace(noisy, noise_low=0.0, noise_high=3 * noisy.noise)
    assert variance_ratio(noisy, doubtful) == (1.0, 0.0, math.inf)


def test_gradients_without_noise_need_no_batch() -> None:
    found = _constant(2.0)
    assert (found.measurable, found.scale) == (True, 0.0)
    advice = advise(64, found.scale)
    assert (advice.verdict, advice.data_cost, advice.step_cost) == ("large", math.inf, 1.0)
    assert "Near 1 " in advice.sentence


def test_students_t_is_right_where_it_is_used() -> None:
    tables = {7: 2.3646, 10: 2.2281, 19: 2.0930, 49: 2.0096, 199: 1.9720}
    for freedom, value in tables.items():
        assert student_975(freedom) == pytest.approx(value, rel=3e-3)


def test_the_online_meter_averages_before_it_divides() -> None:
    generator = np.random.default_rng(3)
    meter, true, spread = NoiseMeter(decay=0.99), np.zeros(100), np.ones(100)
    true[0] = 1.0
    for _ in range(800):
        micro = np.stack(_drawn(generator, 4, 8, true, spread))
        mean = micro.mean(axis=0)
        meter.add((micro**2).sum(axis=1).tolist(), float(mean @ mean), size=8, total=32)
    assert meter.scale == pytest.approx(100, rel=0.3)
    again = NoiseMeter(decay=0.99)
    again.load_state_dict(meter.state_dict())
    assert again.scale == meter.scale


@pytest.mark.parametrize("size", [8, 16, 24, 40, 60])
def test_the_online_meter_is_right_where_the_parts_do_not_fill_the_batch(size: int) -> None:
    generator = np.random.default_rng(4)
    meter, true, total = NoiseMeter(decay=0.9995), np.full(50, 0.2), 64  # |G|^2 = 2, tr(V) = 50
    lengths = np.diff([*range(0, total, size), total])
    for noise in generator.normal(size=(8000, len(lengths), 50)):
        parts = true + noise / np.sqrt(lengths)[:, None]
        squares = (parts[lengths == size] ** 2).sum(axis=1).tolist()
        whole = lengths @ parts / total
        meter.add(squares, float(whole @ whole), size=size, total=total)
    assert meter.scale == pytest.approx(25.0, rel=0.05)


def test_ppo_measures_parts_that_do_not_fill_its_minibatch() -> None:
    values = {
        "algorithm": "ppo",
        "environment": {"id": "CartPole-v1"},
        "rollout_length": 64,
        "micro_batch_size": 24,
        "gradient_clip": None,
        "epochs": 1,
        "hidden_sizes": [8],
        "total_env_steps": 64,
    }
    config = parse_config(values)
    assert isinstance(config, PPOConfig)
    learner = prepare(config).learner
    assert isinstance(learner, OnPolicyLearner)
    generator = torch.Generator().manual_seed(0)
    drawn = [torch.randn(64, generator=generator) for _ in range(4)]
    observations = torch.randn(64, 4, generator=generator)
    logs, held, gained, returns = drawn
    batch = Samples(observations, torch.arange(64) % 2, logs, held, gained, returns)
    squares = []
    for rows in (slice(0, 24), slice(24, 48), slice(0, 64)):
        put_gradients(learner, batch.rows(torch.arange(64)[rows]), config, 0.0, 1.0)
        squares.append(float((learner.actor.gradient.double() ** 2).sum()))
    descend(learner, batch, config, 0.0, 0.0)
    small, large = (squares[0] + squares[1]) / 2, squares[2]
    signal, noise = (64 * large - 24 * small) / 40, (small - large) / (1 / 24 - 1 / 64)
    assert learner.noise.state_dict() == pytest.approx(
        {"signal": 0.05 * signal, "noise": 0.05 * noise}, rel=1e-4
    )


@pytest.mark.parametrize(("batch", "verdict"), [(16, "small"), (400, "fine"), (50_000, "large")])
def test_advice_follows_the_ratio(batch: int, verdict: str) -> None:
    advice = advise(batch, 400.0)
    assert advice.verdict == verdict
    assert advice.data_cost == pytest.approx(1 + batch / 400)
    assert advice.step_cost == pytest.approx(1 + 400 / batch)


def test_a_run_is_measured_without_touching_it(
    small_config: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train(small_config(), tmp_path / "run")
    before = _contents(tmp_path / "run")
    asked = ["noise", str(tmp_path / "run"), "--batch-sizes", "16,128", "--json"]
    assert main(asked) == 0
    report = json.loads(capsys.readouterr().out)
    assert {(p["part"], p["scheme"]) for p in report["parts"]} == {
        (part, scheme) for part in ("critic", "actor") for scheme in ("drawn", "trajectory")
    }
    for ratio in report["ratios"]:
        assert 4.0 < ratio["ratio"] < 16.0  # 1/N says 8
    assert before == _contents(tmp_path / "run")


class OneButton(Countdown):
    """There is nothing to choose, so the policy's gradient is exactly zero."""

    def __init__(self) -> None:
        super().__init__()
        self.action_space = gymnasium.spaces.Discrete(1)


gymnasium.register("test/OneButton-v0", entry_point=lambda **_: OneButton())


def test_a_run_whose_gradient_is_zero_is_told_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values = {"rollout_length": 64, "total_env_steps": 64, "hidden_sizes": [8]}
    task = {"id": "test/OneButton-v0"}
    train(parse_config({"algorithm": "ppo", "environment": task, **values}), tmp_path / "run")
    assert main(["noise", str(tmp_path / "run"), "--batch-sizes", "16,32"]) == 0
    printed = capsys.readouterr().out
    assert "actor: no noise at 32, so there is no ratio to it" in printed
    assert "nan" not in printed


@pytest.mark.parametrize("sizes", ["", "64,x", "1"])
def test_batch_sizes_that_are_none_are_refused(
    sizes: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["noise", "ddpg/pendulum", "--batch-sizes", sizes]) == 2
    assert "separated by commas" in capsys.readouterr().err
