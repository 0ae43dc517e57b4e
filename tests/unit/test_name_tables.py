"""From other programs' names and settings to ours."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from steadyrl.store.foreign.mapping import (
    OWN,
    NameTable,
    built_in,
    load_table,
    normal,
    recognised,
    telling,
)
from steadyrl.store.foreign.names import Names
from steadyrl.store.foreign.proposing import guessed, likeness, proposed
from steadyrl.store.foreign.run import ForeignRun


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
        "lr": "lin_1.25", "gamma": 0.5, "g": 0.75, "secret": 1.0, "tau": math.inf, "epochs": "ten",
        "clip_range": "lin_x", "normalize_rewards": True, "algorithm": 3,
    }  # fmt: skip
    assert known.known(given) == {"learning_rate": 1.25, "gamma": 0.75, "normalize_rewards": True}


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
    assert {"sb3", "cleanrl", "rllib", "trl"} <= built_in().keys()
    for name, known in built_in().items():
        assert load_table(name) is known
        for one in known.recognise:
            for prefix in ("", *known.prefixes):
                best = recognised([prefix + one])
                assert best is not None
                assert best.name == known.name


def test_names_count_without_case_blanks_and_signs_where_no_program_is_known() -> None:
    for name in ("Episode Reward", "episode/reward", "EpisodeReward", " EPISODE-reward"):
        assert normal(name) == "episode_reward"
    table = recognised(["Episode Reward", "frame", "value"])
    assert table is not None
    assert table.fallback
    assert table.sources_of(["Episode Reward"])["rollout.return_mean"][0] == "Episode Reward"
    assert table.steps_among(["Episode Reward", "Frame"]) == ("Frame",)


def test_a_reward_alone_is_not_taken_for_a_return() -> None:
    assert recognised(["reward", "step"]) is None


PROGRAMS = {
    "verl": ["actor/pg_loss", "critic/score/mean", "response_length/mean"],
    "openrlhf": ["reward", "response_length", "ppo_clip_ratio"],
    "nemo_rl": ["train/reward", "train/token_mult_prob_error"],
    "prime_rl": ["reward/all/mean", "mismatch_kl/all"],
    "ml_agents": ["Environment/Cumulative Reward", "Losses/Policy Loss"],
    "rl_games": ["rewards/step", "losses/a_loss", "losses/c_loss", "info/kl"],
    "skrl": ["Reward / Total reward (mean)", "Loss / Policy loss", "Loss / Value loss"],
    "rsl_rl": ["Train/mean_reward", "Loss/surrogate"],
    "tianshou": ["train/returns_stat/mean", "test/returns_stat/mean", "train/eps"],
    "baselines": ["eprewmean", "misc/total_timesteps", "loss/approxkl"],
    "spinning_up": ["AverageEpRet", "TotalEnvInteracts", "LossPi", "LossV"],
    "rllib": ["episode_reward_mean", "info/learner/default_policy/kl", "timesteps_total"],
    "cleanrl": ["charts/episode_return", "losses/clipfrac"],
    "trl": ["reward", "reward_std", "completion_length", "kl"],
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_each_program_is_known_by_its_names_and_its_return_is_found(program: str) -> None:
    table = recognised(PROGRAMS[program])
    assert table is built_in()[program]
    assert "rollout.return_mean" in table.sources_of(PROGRAMS[program])


def test_the_loss_of_a_value_learner_is_no_loss_of_a_policy() -> None:
    table = built_in()["sb3"]
    dqn = table.sources_of(["train/loss", "rollout/exploration_rate"])
    assert dqn["critic.loss"][0] == "train/loss"
    assert dqn["setting.exploration_rate"][0] == "rollout/exploration_rate"
    assert "critic.loss" not in table.sources_of(["train/loss", "train/policy_gradient_loss"])


def test_what_no_table_knows_is_proposed_and_never_assumed(tmp_path: Path) -> None:
    rows = "".join(f"{n},{n}.5,0.{n}\n" for n in range(10, 40))
    (tmp_path / "log.csv").write_text("step,rewards/episode_mean_value,loss_of_value\n" + rows)
    run = ForeignRun(tmp_path / "log.csv")
    assert not any("rollout.return_mean" in step.signals for step in run.steps())
    text = proposed(run.names, run.mapping)
    assert "value.loss: {from: loss_of_value}  # a guess" in text
    (tmp_path / "mapping.yaml").write_text(text)
    again = ForeignRun(tmp_path / "log.csv", mapping=load_table(tmp_path / "mapping.yaml"))
    assert again.names.read["value.loss"] == "loss_of_value"


def test_a_name_with_signs_can_be_proposed(tmp_path: Path) -> None:
    table, names = built_in()["common"], Names({}, ['mean "episode" reward: 100'])
    (tmp_path / "mapping.yaml").write_text(proposed(names, table))
    assert load_table(tmp_path / "mapping.yaml").name == table.name


def test_likeness_is_by_words_and_letters() -> None:
    assert likeness("a/b", "A b") == 1.0
    assert likeness("policy_loss", "loss_policy") > likeness("policy_loss", "value_loss")
    assert guessed(["nothing like it"], set()) == {}
