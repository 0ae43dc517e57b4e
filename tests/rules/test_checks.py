"""Which settings a static check still allows, and what probes conclude from a closer look."""

from __future__ import annotations

import dataclasses
import math
import os
from typing import Any

import pytest

from steadyrl.core.presets import parse_config
from steadyrl.core.records import Severity
from steadyrl.environments import demonstrated
from steadyrl.stability.check import check_config
from steadyrl.stability.checks import CHECKS
from steadyrl.stability.probes import ask_all
from steadyrl.stability.rules import Check, Sighting
from tests.rules.test_rules import config_of

BY_ID = {check.id: check for check in CHECKS}


def seen(check: str, algorithm: str = "ddpg", **settings: Any) -> Sighting | None:
    return BY_ID[check].objection(
        parse_config({"algorithm": algorithm, "environment": {"id": "X-v0"}, **settings})
    )


ALLOWED: list[tuple[str, str, str, list[float], list[float]]] = [
    ("S003", "ddpg", "tau", [1e-4, 0.1], [9e-5, 0.11]),
    ("S004", "ddpg", "noise_std", [0.01, 0.5], [0.009, 0.51]),
    ("S005", "ddpg", "learning_rate", [1e-5, 5e-3], [9e-6, 5.1e-3]),
    ("S006", "ddpg", "batch_size", [2], [1]),
    ("S009", "ddpg", "gamma", [0.9, 0.999], [0.89]),
    ("S013", "ppo", "clip_range", [0.05, 0.5], [0.049, 0.51]),
    ("S014", "ppo", "entropy_weight", [0.0, 0.1], [0.11]),
    ("S015", "ppo", "epochs", [1, 30], [31]),
    ("S016", "trpo", "max_kl", [5e-4, 0.1], [4.9e-4, 0.11]),
    ("S017", "trpo", "damping", [1e-6, 1.0], [9e-7, 1.1]),
]


@pytest.mark.parametrize(("check", "algorithm", "name", "good", "bad"), ALLOWED)
def test_a_check_objects_beyond_its_bounds_only(
    check: str, algorithm: str, name: str, good: list[float], bad: list[float]
) -> None:
    for value in good:
        assert seen(check, algorithm, **{name: value}) is None
    for value in bad:
        sighting = seen(check, algorithm, **{name: value})
        assert sighting is not None
        assert sighting.evidence == {name: value}


@pytest.mark.parametrize("check", sorted(BY_ID.keys() - {"S010", "S012"}))
def test_a_check_has_nothing_to_say_about_settings_that_are_not_there(check: str) -> None:
    assert BY_ID[check].objection(parse_config({"algorithm": "foreign"})) is None


TOGETHER: list[tuple[str, dict[str, Any], dict[str, float] | None]] = [
    ("S001", {"learning_starts": 9, "batch_size": 10}, {"learning_starts": 9, "batch_size": 10}),
    ("S001", {"learning_starts": 10, "batch_size": 10}, None),
    ("S002", {"buffer_size": 99, "batch_size": 10}, {"buffer_size": 99, "batch_size": 10}),
    ("S002", {"buffer_size": 100, "batch_size": 10}, None),
    ("S011", {"updates_per_training": 9, "train_every": 2}, {"updates_per_env_step": 4.5}),
    ("S011", {"updates_per_training": 8, "train_every": 2}, None),
    ("S012", {"total_env_steps": 599, "evaluation": {"every": 100}}, {"evaluations": 5}),
    ("S012", {"total_env_steps": 600, "evaluation": {"every": 100}}, None),
    ("S012", {"total_env_steps": 600, "evaluation": {"every": 100, "episodes": 0}},
     {"evaluations": 0}),
    ("S012", {"algorithm": "bc", "evaluation": {"episodes": 0}}, None),
]  # fmt: skip


@pytest.mark.parametrize(("check", "settings", "evidence"), TOGETHER)
def test_a_check_weighs_settings_against_each_other(
    check: str, settings: dict[str, Any], evidence: dict[str, float] | None
) -> None:
    sighting = seen(check, **settings)
    assert (sighting.evidence if sighting else None) == evidence


@pytest.mark.parametrize(
    ("clip", "scale", "cost", "reward"),
    [
        (1.0, 0.5, 200.0, 100.0),
        (1.0, 0.5, 199.0, None),
        (None, 0.5, 200.0, None),
        (1.0, 1.0, "large", None),
    ],
)
def test_clipping_is_questioned_where_rewards_are_large(
    clip: float | None, scale: float, cost: Any, reward: float | None
) -> None:
    where = {"id": "X-v0", "settings": {"cost_scale": cost}}
    sighting = seen("S008", gradient_clip=clip, reward_scale=scale, environment=where)
    assert (sighting.evidence["reward"] if sighting else None) == reward


@pytest.mark.parametrize(
    ("settings", "objects"),
    [
        ({"alive_cost": 0.5, "termination_penalty": 4.9}, True),
        ({"alive_cost": 0.5, "termination_penalty": 5.1}, False),
        ({"alive_cost": 1.0, "termination_penalty": 5.1}, True),
        ({"alive_cost": 0.0}, False),
        ({"alive_cost": -1.0}, False),
        ({}, True),
        ({"alive_cost": "much"}, False),
        ({"termination_penalty": "much"}, False),
    ],
)
def test_a_free_end_is_objected_to_where_living_costs(
    settings: dict[str, Any], objects: bool
) -> None:
    where = {"id": "steadyrl/ResidualControl-v0", "settings": settings}
    assert bool(seen("S007", gamma=0.9, environment=where)) is objects
    assert seen("S007", gamma=0.9, environment={**where, "id": "Pendulum-v1"}) is None


@pytest.mark.parametrize(
    ("cores", "threads", "objects"),
    [(8, 4, False), (8, 5, True), (2, 1, False), (2, 2, True), (None, 1, False), (None, 2, True)],
)
def test_half_the_cores_may_be_used(
    monkeypatch: pytest.MonkeyPatch, cores: int | None, threads: int, objects: bool
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    assert bool(seen("S010", compute={"threads": threads})) is objects


@pytest.mark.parametrize(
    ("check", "count", "batch", "objects"),
    [
        ("S018", 999, 1, True),
        ("S018", 1000, 1, False),
        ("S018", None, 1, False),
        ("S019", 100, 51, True),
        ("S019", 100, 50, False),
        ("S019", None, 50, False),
    ],
)
def test_little_data_is_noticed_before_it_is_cloned(
    monkeypatch: pytest.MonkeyPatch, check: str, count: int | None, batch: int, objects: bool
) -> None:
    monkeypatch.setattr(demonstrated, "learned_from", lambda config: count)
    sighting = seen(check, "bc", batch_size=batch)
    assert bool(sighting) is objects
    if sighting and check == "S019":
        assert sighting.evidence == {"share": 0.51}


def test_concerns_are_told_most_severe_first_each_as_severe_as_it_was_seen() -> None:
    def check(identity: str, seen: Severity | None) -> Check:
        return Check(
            id=identity, name="n", severity="warning", concern="c", why="w", remedy="r",
            check=lambda config: Sighting("m", {}, seen),
        )  # fmt: skip

    quiet = dataclasses.replace(check("S4", None), check=lambda config: None)
    checks = [check("S1", "note"), check("S2", None), check("S3", "severe"), quiet]
    found = check_config(config_of("ddpg"), checks)
    assert [(c.rule, c.severity) for c in found] == [
        ("S3", "severe"),
        ("S2", "warning"),
        ("S1", "note"),
    ]


LOOKS: list[tuple[str, dict[str, float], str]] = [
    ("Q501", {"batch.loss": 3.1, "batch.loss_one_step_ago": 1.0}, "the steps did it"),
    ("Q501", {"batch.loss": 3.0, "batch.loss_one_step_ago": 1.0}, "was the same"),
    ("Q501", {"batch.loss": 1.0, "batch.loss_one_step_ago": 3.0}, "was the same"),
    ("Q501", {"batch.loss": 1.0, "batch.loss_one_step_ago": 3.1}, "still reducing"),
    ("Q502", {"ends.terminal_error": 1.1e-6}, "wrongly"),
    ("Q502", {"ends.terminal_error": 1e-6, "ends.truncated_as_terminated": 0.0}, "rightly"),
    ("Q502", {"ends.truncated_as_terminated": 0.1}, "wrongly"),
    ("Q503", {"batch.top_percent_share": 0.51}, "a few transitions"),
    ("Q503", {"batch.top_percent_share": 0.5}, "spread over the batch"),
    ("Q505", {"capacity.rank_share": 0.049}, "has lost"),
    ("Q505", {"capacity.rank_share": 0.05}, "still has capacity"),
]  # fmt: skip
LAYERS = {"gradient.first_layer_share": 0.75, "gradient.last_layer_share": 0.25}


@pytest.mark.parametrize(("probe", "look", "said"), LOOKS)
def test_a_probe_concludes_what_the_numbers_say(
    probe: str, look: dict[str, float], said: str
) -> None:
    answers = ask_all(look)
    assert list(answers) == [probe]
    assert said in answers[probe].statement


@pytest.mark.parametrize(
    ("cosine", "said"),
    [(0.21, "the same way"), (0.2, "hardly agree"), (-0.2, "hardly agree"), (-0.21, "against")],
)
def test_halves_of_a_batch_agree_or_do_not(cosine: float, said: str) -> None:
    look = {"gradient.halves_cosine": cosine, **LAYERS}
    answer = ask_all(look)["Q506"]
    assert said in answer.statement
    assert "first layer holds 75% of the squared gradient, the last 25%" in answer.statement
    assert answer.values == look


def test_probes_keep_the_numbers_they_rest_on() -> None:
    data = {
        "data.buffer_share": 0.1,
        "data.duplicate_share": 0.2,
        "data.age_median": 3.0,
        "data.age_oldest": 4.0,
    }
    assert ask_all(data)["Q504"].values == data
    assert ask_all({"ends.terminal_error": 0.5})["Q502"].values == {
        "terminal_error": 0.5,
        "truncated_as_terminated": 0.0,
    }
    jump = {
        "step": 7.0, "batch_before": 1.0, "batch_now": 4.0, "full_before": 2.0, "full_now": 7.0,
        "honest_before": 3.0, "honest_now": 10.0, "mse_before": 0.1, "mse_now": 0.2,
    }  # fmt: skip
    assert ask_all({f"jump.{name}": value for name, value in jump.items()})["Q510"].values == {
        "at": 7.0, "batch_rise": 3.0, "rise": 5.0, "honest_rise": 7.0, "mse_before": 0.1,
        "mse_now": 0.2,
    }  # fmt: skip
    names = (
        "component component_share samples_share culprits_use culprits_log_std log_std_min_before "
        "log_std_min_now learning_rate gradient_over_memory"
    )
    leap = {name: float(n) for n, name in enumerate(names.split())}
    look = {f"jump.{name}": value for name, value in leap.items()}
    answer = ask_all({**look, "jump.culprit_1": 8.0, "jump.culprit_0": 5.0})["Q511"]
    assert answer.values == leap
    assert "transitions 5, 8 hold" in answer.statement


@pytest.mark.parametrize("name", ["gradient_over_memory", "learning_rate", "samples_share"])
def test_a_look_of_which_one_number_is_infinite_ends_nothing(name: str) -> None:
    names = (
        "component component_share samples_share culprits_use culprits_log_std log_std_min_before "
        "log_std_min_now learning_rate gradient_over_memory"
    )
    look = {f"jump.{each}": 1.0 for each in names.split()}
    assert ask_all(look).keys() == {"Q511"}
    assert ask_all({**look, f"jump.{name}": math.inf}) == {}


@pytest.mark.parametrize("name", ["batch.loss", "batch.loss_one_step_ago", "data.buffer_share"])
def test_half_a_look_is_no_answer(name: str) -> None:
    assert ask_all({name: 1.0}) == {}
