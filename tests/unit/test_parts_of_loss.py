"""The weight of an entropy bonus from the losses that a program logs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from steadyrl.store.foreign.parts_of_loss import entropy_weight
from steadyrl.store.foreign.run import ForeignRun
from steadyrl.store.foreign.series import Floats, Series

PARTS = {"whole": "loss", "policy": "pg", "entropy": "ent", "value": "vf"}


def logged(
    weight: float, *, rows: int = 40, noise: float = 0.2, value: float = 20.0
) -> dict[str, Floats]:
    """Losses as Stable-Baselines3 logs them: the whole is that of the last minibatch alone."""
    rng = np.random.default_rng(0)
    entropy = -np.linspace(1.1, 0.8, rows)
    values = value * rng.lognormal(0.0, 0.5, rows)
    policy = 0.01 * rng.normal(size=rows)
    last = values * (1.0 + 0.2 * rng.normal(size=rows))
    return {
        "pg": policy,
        "ent": entropy,
        "vf": values,
        "loss": policy + weight * entropy + 0.5 * last,
    }


def series(columns: dict[str, Floats]) -> dict[str, Series]:
    rows = len(columns["loss"])
    steps, order = np.arange(1, rows + 1), np.arange(rows, dtype=float)
    return {name: Series(steps, np.zeros(rows), values, order) for name, values in columns.items()}


@pytest.mark.parametrize("value", [0.1, 1.0])
def test_a_weight_that_stands_out_is_about_right(value: float) -> None:
    found = entropy_weight(series(logged(1.0, value=value)), PARTS)
    assert found == pytest.approx(1.0, rel=0.3)


@pytest.mark.parametrize(
    "columns",
    [
        logged(0.0),
        logged(0.01, value=100.0),
        logged(1.0, rows=19, value=0.1),
        logged(-1.0, value=0.1),
    ],
    ids=["none", "drowned in the value loss", "few rows", "of the wrong sign"],
)
def test_what_does_not_stand_out_is_not_told(columns: dict[str, Floats]) -> None:
    assert entropy_weight(series(columns), PARTS) is None


def test_without_all_parts_nothing_is_told() -> None:
    columns = series(logged(1.0, value=0.1))
    del columns["vf"]
    assert entropy_weight(columns, PARTS) is None
    assert entropy_weight(columns, {}) is None


def test_a_row_that_is_no_number_is_left_out() -> None:
    columns = logged(1.0, value=0.1)
    columns["loss"][3] = np.nan
    assert entropy_weight(series(columns), PARTS) == pytest.approx(1.0, rel=0.3)


def test_a_log_of_stable_baselines3_tells_the_weight_and_what_is_known_comes_first(
    tmp_path: Path,
) -> None:
    columns = logged(1.0, value=0.1)
    names = ("train/loss", "train/policy_gradient_loss", "train/entropy_loss", "train/value_loss")
    lines = ["time/total_timesteps,train/clip_fraction," + ",".join(names)]
    for row, numbers in enumerate(
        zip(*(columns[n] for n in ("loss", "pg", "ent", "vf")), strict=True)
    ):
        lines.append(f"{1000 * (row + 1)},0.1," + ",".join(f"{n:.9g}" for n in numbers))
    (tmp_path / "progress.csv").write_text("\n".join(lines) + "\n")
    config = ForeignRun(tmp_path).config
    assert config.known["entropy_weight"] == pytest.approx(1.0, rel=0.3)
    assert config.doubt("setting.entropy_weight") is not None
    told = ForeignRun(tmp_path, settings={"ent_coef": 0.02}).config
    assert told.known["entropy_weight"] == 0.02
    assert told.doubt("setting.entropy_weight") is None
