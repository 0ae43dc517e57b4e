from __future__ import annotations

import math

import pytest

from steadyrl.core.records import Step
from steadyrl.core.signals import CATALOGUE, Meter


def test_each_signal_is_reduced_as_declared() -> None:
    meter = Meter()
    for value in (1.0, 5.0, 3.0):
        meter.add({"critic.loss": value, "critic.loss_max": value, "q.bound": value})
    assert meter.read() == {"critic.loss": 3.0, "critic.loss_max": 5.0, "q.bound": 3.0}
    assert meter.read() == {}


@pytest.mark.parametrize("name", ["critic.loss", "critic.loss_max"])
def test_a_nan_among_the_values_stays_visible(name: str) -> None:
    meter = Meter()
    for value in (1.0, float("nan"), 2.0):
        meter.add({name: value})
    assert math.isnan(meter.read()[name])


def test_several_values_at_once_count_as_one_after_the_other() -> None:
    several, single = Meter(), Meter()
    several.add_all({"critic.loss": [0.1, 0.2], "q.bound": (1.0, 4.0)})
    several.add({"critic.loss": 0.6})
    for loss, bound in ((0.1, 1.0), (0.2, 4.0)):
        single.add({"critic.loss": loss, "q.bound": bound})
    single.add({"critic.loss": 0.6})
    assert several.read() == single.read()


def test_an_undeclared_signal_is_refused() -> None:
    with pytest.raises(KeyError, match=r"critic\.los"):
        Meter().add({"critic.los": 1.0})
    with pytest.raises(KeyError, match=r"critic\.los"):
        Meter().add_all({"critic.los": [1.0]})


def test_tags_are_unique_and_follow_stable_baselines3() -> None:
    tags = [signal.tag for signal in CATALOGUE.values()]
    assert len(set(tags)) == len(tags)
    expected = {
        "critic.loss": "train/critic_loss",
        "actor.loss": "train/actor_loss",
        "rollout.return_mean": "rollout/ep_rew_mean",
        "rollout.length_mean": "rollout/ep_len_mean",
        "eval.return_mean": "eval/mean_reward",
        "eval.length_mean": "eval/mean_ep_length",
        "setting.learning_rate": "train/learning_rate",
        "train.updates": "train/n_updates",
    }
    assert {name: CATALOGUE[name].tag for name in expected} == expected


def test_a_step_survives_strict_json_with_non_finite_signals() -> None:
    step = Step(3, 600, 1.25, {"critic.loss": float("nan"), "q.mean": -math.inf, "q.bound": 0.1})
    record = step.to_json()
    assert record["signals"]["critic.loss"] == "nan"
    back = Step.from_json(record)
    assert math.isnan(back.signals["critic.loss"])
    assert back.signals["q.mean"] == -math.inf
    assert back.signals["q.bound"] == 0.1
