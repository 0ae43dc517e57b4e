"""The noise scale against problems whose answer is known."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from steadyrl.cli.main import main
from steadyrl.core.configs.ddpg import DDPGConfig
from steadyrl.core.noise_scale import (
    NoiseMeter,
    advise,
    moments,
    noise_scale,
    student_975,
    variance_ratio,
)
from steadyrl.run import train

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
        meter.add((micro**2).sum(axis=1).tolist(), float(mean @ mean), 8)
    assert meter.scale == pytest.approx(100, rel=0.3)
    again = NoiseMeter(decay=0.99)
    again.load_state_dict(meter.state_dict())
    assert again.scale == meter.scale


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


@pytest.mark.parametrize("sizes", ["", "64,x", "1"])
def test_batch_sizes_that_are_none_are_refused(
    sizes: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["noise", "ddpg/pendulum", "--batch-sizes", sizes]) == 2
    assert "separated by commas" in capsys.readouterr().err
