"""How the studies of language models decide, on differences made up for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from steadyrl.experiments.studies import (
    c3_language,
    c4_fixed_or_dynamic,
    c5_gradient_clipping,
    c6_value_clipping,
)
from steadyrl.experiments.studies.small_language import MADE, gap, trial
from steadyrl.maths.statistics import Estimate

BETTER, EQUAL, WORSE = (
    Estimate(0.1, 0.05, 0.2),
    Estimate(0.0, -0.01, 0.01),
    Estimate(-0.1, -0.2, -0.05),
)
OPEN = Estimate(0.1, -0.1, 0.3)


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        ([BETTER] * 4, "confirmed"),
        ([EQUAL, WORSE, EQUAL, EQUAL], "refuted"),
        ([BETTER, EQUAL, BETTER, BETTER], "depends on"),
        ([BETTER, BETTER, BETTER, OPEN], "not decided"),
    ],
)
def test_fixed_beats_dynamic_only_if_it_is_clearly_better_each_time(
    found: list[Estimate], verdict: str
) -> None:
    arms = [(name, equal) for name in c4_fixed_or_dynamic.DYNAMIC for equal in ("s", "u")]
    assert c4_fixed_or_dynamic.decide(dict(zip(arms, found, strict=True)))[0] == verdict


@pytest.mark.parametrize(
    ("none", "two", "half", "answer"),
    [
        (BETTER, EQUAL, EQUAL, "confirmed"),
        (BETTER, WORSE, EQUAL, "refuted"),
        (EQUAL, EQUAL, EQUAL, "refuted"),
        (OPEN, EQUAL, EQUAL, "not decided"),
    ],
)
def test_a_norm_of_one_must_beat_none_and_be_beaten_by_no_other(
    none: Estimate, two: Estimate, half: Estimate, answer: str
) -> None:
    found = {None: none, 2.0: two, 0.5: half}
    assert c5_gradient_clipping.decide({"a": found, "b": found})[0] == answer


@pytest.mark.parametrize(
    ("ratio", "verdict"),
    [
        (Estimate(0.5, 0.4, 0.59), "confirmed"),
        (Estimate(0.9, 0.61, 1.1), "refuted"),
        (Estimate(0.6, 0.5, 0.7), "not decided"),
    ],
)
def test_the_error_is_halved_if_its_ratio_is_clearly_below_six_tenths(
    ratio: Estimate, verdict: str
) -> None:
    assert c6_value_clipping.decide(ratio)[0] == verdict


def test_variance_falls_as_expected_if_most_intervals_hold_it() -> None:
    assert c3_language.decide([True] * 5 + [False], [8.0] * 6)[0] == "confirmed"
    assert c3_language.decide([True] * 4 + [False] * 2, [8.0] * 6)[0] == "refuted"


def test_differences_are_paired_by_seed() -> None:
    found = gap([0.1, 0.5, 0.9, 0.2, 0.6, 0.4], [0.0, 0.4, 0.8, 0.1, 0.5, 0.3])
    assert found.value == pytest.approx(0.1)
    assert found.low > 0


def test_every_run_of_a_study_begins_from_one_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = {**MADE, "model": {"layers": 1, "width": 8, "heads": 1}}
    small["warm_start"] = {"enabled": True, "low": 0.0, "high": 1.0, "max_steps": 1}
    monkeypatch.setattr("steadyrl.experiments.studies.small_language.MADE", small)
    first, second = (
        trial(tmp_path, "an arm, 0.5", seed, 1_024, {"epochs": 1}, quick=False) for seed in (1, 2)
    )
    assert first.config.value_of("model.path") == second.config.value_of("model.path")
    assert (tmp_path / "base-model" / "model.safetensors").is_file()
    assert first.directory.name == "an-arm--0.5-seed1"
    assert first.config.replaced({"seed": 2}) == second.config
