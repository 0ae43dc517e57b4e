"""From other programs' names and settings to ours."""

from __future__ import annotations

import math
from typing import Any

import pytest

from steadyrl.store.foreign.mapping import (
    OWN,
    NameTable,
    built_in,
    load_table,
    recognised,
    telling,
)


def table(**signals: Any) -> NameTable:
    named = {name.replace("__", "."): source for name, source in signals.items()}
    return NameTable.parse({"signals": named, "prefixes": ["run/"]}, source="test")


KL = {"from": ["kl", "approx_kl"]}


def found(names: list[str], **source: Any) -> str | None:
    sources = table(policy__kl={**KL, **source}).sources_of(names)
    return sources["policy.kl"][0] if sources else None


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        (["approx_kl"], "approx_kl"),
        (["approx_kl", "kl"], "kl"),  # the best first
        (["run/kl", "approx_kl"], "run/kl"),
        (["run/kl", "kl"], "kl"),
        (["other"], None),
    ],
)
def test_a_signal_is_made_of_the_best_name_that_is_there(
    names: list[str], chosen: str | None
) -> None:
    assert found(names) == chosen


def test_a_name_of_several_meanings_counts_in_its_company_only() -> None:
    assert found(["kl", "a"], only_with=["a", "b"]) is None
    assert found(["kl", "a", "b"], only_with=["a", "b"]) == "kl"
    assert found(["kl", "a"], only_without="a") is None
    assert found(["kl"], only_without="a") == "kl"


def test_a_family_is_known_by_all_its_names_or_what_stands_for_them() -> None:
    known = NameTable.parse(
        {"families": {"ppo": ["clip", "kl|approx_kl"], "ddpg": "critic"}, "prefixes": ["p/"]},
        source="test",
    )
    assert known.family_of(["clip", "approx_kl"]) == "ppo"
    assert known.family_of(["clip"]) == "unknown"
    assert known.family_of(["p/clip", "p/kl"]) == "ppo"
    assert known.family_of(["p/clip", "kl"]) == "unknown"
    assert known.family_of(["critic", "clip"]) == "ddpg"


def test_values_are_translated_and_telling_names_kept() -> None:
    ours = table(policy__kl={**KL, "times": -2.0}).translate(
        {"kl": 3.0, "aux_loss": 1.0, "count": 5.0, "policy.entropy": 0.5}
    )
    assert ours == {"policy.kl": -6.0, "other.aux_loss": 1.0, "policy.entropy": 0.5}
    assert table(critic__loss={"from": "loss"}).translate({"loss": 1.0}) == {"critic.loss": 1.0}
    assert OWN.translate({"critic.loss": 1.0}) == {"critic.loss": 1.0}


def test_a_nan_is_broken_or_absent_as_the_table_says() -> None:
    assert math.isnan(table(policy__kl=KL).translate({"kl": math.nan})["policy.kl"])
    assert table(policy__kl={**KL, "nan": "absent"}).translate({"kl": math.nan}) == {}
    assert table(policy__kl={**KL, "nan": "absent"}).translate({"kl": 1.0}) == {"policy.kl": 1.0}


def test_a_value_is_left_out_where_another_name_says_so() -> None:
    known = table(policy__kl={**KL, "unless": {"skipped": 1.0}}, policy__entropy={"from": "h"})
    assert known.translate({"kl": 2.0, "skipped": 1.0, "h": 3.0}) == {"policy.entropy": 3.0}
    assert known.translate({"kl": 2.0, "skipped": 0.0, "h": 3.0}).keys() == {
        "policy.kl",
        "policy.entropy",
    }


def test_a_running_mean_is_that_of_its_past() -> None:
    known = table(rollout__return_mean={"from": "r", "last": 2})
    past: dict[str, list[float]] = {}
    values = [1.0, 3.0, math.nan, 7.0]
    means = [known.translate({"r": v}, past).get("rollout.return_mean") for v in values]
    assert means == [1.0, 2.0, 2.0, 5.0]
    assert known.translate({"r": 1.0}) == {}  # without a past there is no mean
    assert known.translate({"r": math.nan}, {}) == {}


def test_a_share_of_the_first_value_needs_one_that_can_divide() -> None:
    known = table(policy__entropy_share={"from": "h", "over_first": True})
    past: dict[str, list[float]] = {}
    shares = [known.translate({"h": v}, past)["policy.entropy_share"] for v in (4.0, 2.0, 1.0)]
    assert shares == [1.0, 0.5, 0.25]
    for first in (0.0, math.nan, math.inf):
        past = {}
        assert known.translate({"h": first}, past) == {}
        assert known.translate({"h": 2.0}, past) == {}


def test_an_absent_signal_does_not_end_the_translation() -> None:
    known = table(
        rollout__return_mean={"from": "r", "last": 2},
        value__explained_variance={"from": "ev", "nan": "absent"},
        policy__kl=KL,
    )
    assert known.translate({"r": 1.0, "ev": math.nan, "kl": 2.0}) == {"policy.kl": 2.0}


def test_settings_are_known_under_their_names_and_ours() -> None:
    known = NameTable.parse({"settings": {"learning_rate": "lr", "gamma": "g"}}, source="test")
    given = {
        "lr": "lin_0.25", "gamma": 0.5, "g": 0.75, "secret": 1.0, "tau": math.inf, "epochs": "ten",
        "clip_range": "lin_x", "normalize_rewards": True, "algorithm": 3,
    }  # fmt: skip
    assert known.known(given) == {"learning_rate": 0.25, "gamma": 0.75, "normalize_rewards": True}


def test_weaker_signals_are_told_with_their_trust() -> None:
    known = table(policy__kl={**KL, "weaker": "last epoch", "trust": 0.5}, policy__entropy=KL)
    doubts = known.weaker(["policy.kl", "policy.entropy", "critic.loss"])
    assert {name: (d.because, d.trust) for name, d in doubts.items()} == {
        "policy.kl": ("last epoch", 0.5)
    }


@pytest.mark.parametrize(
    ("name", "told"),
    [("train/LOSS", True), ("grad_norm", True), ("reward", False), ("config/loss", False)],
)
def test_losses_and_gradients_should_never_be_nan(name: str, told: bool) -> None:
    assert telling(name) is told


def test_a_program_is_recognised_by_one_of_its_names_and_the_most_that_fit() -> None:
    assert recognised(["nothing", "of", "this"]) is None
    for name, known in built_in().items():
        assert load_table(name) is known
        for one in known.recognise:
            for prefix in ("", *known.prefixes):
                best = recognised([prefix + one])
                assert best is not None
                assert best.name == known.name
