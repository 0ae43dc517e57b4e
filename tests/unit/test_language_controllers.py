"""Steering of language runs by the weight of the KL term, and rates that fall on a plateau."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from steadyrl.algorithms.language.config import LanguageConfig
from steadyrl.core.presets import parse_config
from steadyrl.core.records import Step
from steadyrl.run import resume, train
from steadyrl.stability.controllers import CONTROLLERS, kl_weight, plateau
from steadyrl.stability.window import Window
from steadyrl.store.reader import RunReader

LANGUAGE: dict[str, Any] = {"algorithm": "language"}


def weighed(distance: float | None, **settings: Any) -> float | None:
    window = Window()
    window.append(Step(1, 1, 0.0, {} if distance is None else {kl_weight.DISTANCE: distance}))
    known = {"kl": "loss", "kl_target": 0.01, "kl_weight": 0.1, **settings}
    found = kl_weight.adjust(window, parse_config({**LANGUAGE, **known}))
    return found.changes["kl_weight"] if found else None


@pytest.mark.parametrize(
    ("distance", "weight"),
    [(0.021, 0.15), (0.02, None), (0.01, None), (0.005, None), (0.0049, 0.08), (None, None)],
)
def test_beyond_twice_the_target_it_pulls_harder_and_below_half_of_it_softer(
    distance: float | None, weight: float | None
) -> None:
    assert weighed(distance) == (pytest.approx(weight) if weight else None)


@pytest.mark.parametrize(
    ("distance", "now", "then"),
    [
        (1.0, 0.9, 1.0),
        (1.0, 1.0, None),
        (1.0, 3.0, None),
        (0.0, 0.012, 0.01),
        (0.0, 0.01, None),
        (0.0, 0.001, None),
    ],
)
def test_the_weight_stops_at_floor_and_cap_and_one_beyond_them_is_left_alone(
    distance: float, now: float, then: float | None
) -> None:
    assert weighed(distance, kl_weight=now) == then


def test_without_a_target_the_weight_stays() -> None:
    assert weighed(5.0, kl_target=None) is None
    assert kl_weight.adjust in CONTROLLERS


def test_an_old_measurement_is_not_acted_on_again() -> None:
    window = Window()
    window.append(Step(1, 1, 0.0, {kl_weight.DISTANCE: 1.0}))
    window.append(Step(2, 2, 0.0, {}))
    config = parse_config({**LANGUAGE, "kl": "loss", "kl_target": 0.01})
    assert kl_weight.adjust(window, config) is None


def rate_after(scores: list[float], rates: list[float] | None = None, **settings: Any) -> Any:
    window = Window()
    rates = rates or [1.0] * len(scores)
    for index, (score, rate) in enumerate(zip(scores, rates, strict=True), 1):
        signals = {"eval.return_mean": score, "setting.learning_rate": rate}
        window.append(Step(index, index, 0.0, signals))
    known = {"learning_rate_schedule": "plateau", "plateau_patience": 2, **settings}
    found = plateau.adjust(window, parse_config({**LANGUAGE, "learning_rate": rates[-1], **known}))
    return found.changes["learning_rate"] if found else None


@pytest.mark.parametrize(
    ("scores", "acts"),
    [
        ([0.5, 0.4], False),  # the first is the best there is: one evaluation after it
        ([0.5, 0.4, 0.4], True),
        ([0.5, 0.5, 0.5], True),  # as good is not better
        ([0.5, 0.4, 0.6], False),
        ([0.1, 0.9, 0.5, 0.8], True),
    ],
)
def test_the_rate_falls_after_so_many_evaluations_without_a_new_best(
    scores: list[float], acts: bool
) -> None:
    assert rate_after(scores) == (0.5 if acts else None)


def test_every_rate_gets_its_chance() -> None:
    assert rate_after([0.5, 0.4, 0.4, 0.4], [1.0, 1.0, 1.0, 0.5]) is None
    assert rate_after([0.5, 0.4, 0.4, 0.4, 0.4], [1.0, 1.0, 1.0, 0.5, 0.5]) == 0.25


def test_the_rate_stops_at_its_floor_and_other_schedules_are_not_touched() -> None:
    assert rate_after([0.5, 0.4, 0.4], plateau_floor=0.8) == 0.8
    assert rate_after([0.5, 0.4, 0.4], plateau_floor=1.0) is None
    assert rate_after([0.5, 0.4, 0.4], learning_rate_schedule="constant") is None
    assert plateau.adjust in CONTROLLERS


def test_what_a_controller_changed_is_recorded_and_made_again_by_a_resumed_run(
    tmp_path: Path,
) -> None:
    config = parse_config(
        {
            **LANGUAGE,
            "total_samples": 32,
            "model": {"layers": 1, "width": 16, "heads": 2},
            "problems": {"digits": 1, "max_new_tokens": 3},
            "prompts_per_update": 4,
            "samples_per_prompt": 2,
            "kl": "loss",
            "kl_target": 100.0,
            "kl_weight": 0.1,
            "epochs": 1,
            "evaluation": {"every": 16, "episodes": 4},
            "checkpoints": {"every": 16},
        }
    )
    train(config, tmp_path / "run")
    resume(tmp_path / "run", overrides={"total_samples": 48})
    changes = [
        event["after"]
        for event in RunReader.open(tmp_path / "run").events()
        if event["event"] == "change" and event.get("name") == "kl_weight"
    ]
    assert changes[:3] == pytest.approx([0.08, 0.064, 0.0512])
    assert len(changes) == 6


def test_the_rate_rises_from_the_first_update_that_moves_the_policy() -> None:
    settings = {"critic_warm_up": 2, "warm_up": 4, "learning_rate": 1.0, "advantage": "gae"}
    config = parse_config({**LANGUAGE, **settings})
    assert isinstance(config, LanguageConfig)
    rates = [config.learning_rate_at(update, 0.0) for update in range(7)]
    assert rates == [1.0, 1.0, 0.25, 0.5, 0.75, 1.0, 1.0]
