"""What lies beside other programs' logs: settings, episodes, evaluations."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from steadyrl.judging import judge
from steadyrl.store.foreign.beside import family_named, read_beside
from steadyrl.store.foreign.monitors import read_evaluations, read_monitors
from steadyrl.store.foreign.run import ForeignRun
from tests.unit.test_foreign_runs import sb3_log

ORDERED = "!!python/object/apply:collections.OrderedDict\n- - - {}\n"


def ordered(**settings: object) -> str:
    """As the SB3 zoo writes its settings."""
    pairs = "\n  - - ".join(f"{name}\n    - {value}" for name, value in settings.items())
    return ORDERED.format(pairs)


def monitor(file: Path, returns: list[float], length: int = 50) -> Path:
    rows = "".join(f"{value},{length},{n}.5\n" for n, value in enumerate(returns))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text('#{"t_start": 0, "env_id": "X-v0"}\nr,l,t\n' + rows)
    return file


def zoo(folder: Path, returns: list[float]) -> Path:
    """A run as the SB3 zoo leaves it."""
    run = folder / "CartPole-v1_1"
    monitor(run / "0.monitor.csv", returns)
    (run / "CartPole-v1").mkdir()
    (run / "CartPole-v1" / "args.yml").write_text(
        ordered(algo="tqc", env="CartPole-v1", n_timesteps=-1, seed=7)
    )
    (run / "CartPole-v1" / "config.yml").write_text(
        ordered(n_timesteps="500000.0", learning_rate="lin_0.001", gamma=0.98)
    )
    return run


def test_a_folder_of_the_zoo_says_what_it_is_without_any_flag(tmp_path: Path) -> None:
    config = ForeignRun(zoo(tmp_path, [float(n) for n in range(60)])).config
    assert (config.family, config.environment.id) == ("sac", "CartPole-v1")
    assert (config.planned, config.total_env_steps) == (500_000, 3000)
    assert (config.value_of("learning_rate"), config.value_of("gamma")) == (0.001, 0.98)


@pytest.mark.parametrize(
    "text",
    [
        "x: !!python/object/apply:os.system ['touch {}']",
        "x: !!python/object/new:os.system ['touch {}']",
        "x: !!python/name:os.system",
        "x: !custom {{a: 1}}",
    ],
)
def test_a_tag_that_asks_for_anything_to_be_run_is_passed_over(text: str, tmp_path: Path) -> None:
    harm = tmp_path / "harm"
    (tmp_path / "config.yml").write_text(text.format(harm) + "\ngamma: 0.9\n")
    assert read_beside(tmp_path).settings == {"gamma": 0.9}
    assert not harm.exists()


def test_damaged_settings_are_as_if_there_were_none(tmp_path: Path) -> None:
    (tmp_path / "config.yml").write_text("a: [1, 2\n")
    (tmp_path / "params.json").write_text("{")
    (tmp_path / "model.zip").write_bytes(b"PK not really")
    assert read_beside(tmp_path).settings == {}
    assert read_beside(tmp_path / "nowhere").settings == {}


def test_settings_come_from_the_files_that_programs_leave(tmp_path: Path) -> None:
    for name, text in (
        ("hydra/.hydra/config.yaml", "algo: {name: x, lr: 1e-3}\nenv: Ant-v4\n"),
        ("wandb/files/config.yaml", "gamma: {desc: null, value: 0.97}\nenv_id: {value: Hopper}\n"),
        ("rllib/params.json", json.dumps({"lr": 5e-5, "env": "Pong-v4", "gamma": 0.9})),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    hydra, wandb = read_beside(tmp_path / "hydra"), read_beside(tmp_path / "wandb")
    assert (hydra.settings["lr"], hydra.environment) == (1e-3, "Ant-v4")
    assert (wandb.settings["gamma"], wandb.environment) == (0.97, "Hopper")
    assert read_beside(tmp_path / "rllib").settings["lr"] == 5e-5


def test_of_a_saved_model_plain_settings_are_read_and_nothing_is_unpickled(tmp_path: Path) -> None:
    pickled = {":type:": "<class 'type'>", ":serialized:": "gAWVMAAAAA=="}
    policy = {**pickled, "__module__": "stable_baselines3.td3.policies"}
    data = {
        "policy_class": policy, "gamma": 0.9, "tau": 0.01, "lr_schedule": pickled,
        "_total_timesteps": 4000, "num_timesteps": 3000,
    }  # fmt: skip
    with zipfile.ZipFile(tmp_path / "model.zip", "w") as archive:
        archive.writestr("data", json.dumps(data))
    found = read_beside(tmp_path)
    assert (found.family, found.budget) == ("td3", 4000)
    assert (found.settings["gamma"], found.settings["tau"]) == (0.9, 0.01)
    assert "lr_schedule" not in found.settings


def test_a_table_of_hyperparameters_in_an_event_file_is_read(tmp_path: Path) -> None:
    table = (
        b"|param|value|\n|-|-|\n|env_id|Hopper-v4|\n|exp_name|ppo_continuous_action|\n|gamma|0.97|"
    )
    more = b"\n|total_timesteps|1000000|\n|track|False|"
    (tmp_path / "events.out.tfevents.1.a").write_bytes(
        b"\x08\x02" + table + more + b"\x9c\x00\n|x|1|"
    )
    found = read_beside(tmp_path)
    assert (found.environment, found.family, found.budget) == ("Hopper-v4", "ppo", 1_000_000)
    assert found.settings["gamma"] == 0.97
    assert found.settings["track"] is False
    assert "x" not in found.settings


def test_a_record_that_ends_before_its_plan_and_shows_no_learning_is_broken_off(
    tmp_path: Path,
) -> None:
    noise = np.random.default_rng(0).standard_normal(300)
    history = [{"step": n, "reward": 0.3 + 0.1 * float(x), "reward_std": 0.1, "loss": 0.0}
               for n, x in enumerate(noise[:12], 1)]  # fmt: skip
    state = {"max_steps": 500, "log_history": history}
    (tmp_path / "trainer_state.json").write_text(json.dumps(state))
    verdict = judge(ForeignRun(tmp_path))
    assert verdict.sentence == "broken off: its record ends at 12 of 500 planned training steps"
    state["max_steps"] = 12
    (tmp_path / "trainer_state.json").write_text(json.dumps(state))
    assert judge(ForeignRun(tmp_path)).headline == "cannot tell"


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("PPO", "ppo"), ("ppo_lstm", "ppo"), ("QR-DQN", "dqn"), ("tqc", "sac"),
        ("ppo_continuous_action", "ppo"), ("stable_baselines3.DQN", "dqn"), ("ARS", "search"),
        ("my own", None), ("", None),
    ],
)  # fmt: skip
def test_algorithms_are_known_by_what_people_call_them(name: str, family: str | None) -> None:
    assert family_named(name) == family


def test_episodes_of_several_environments_are_one_course(tmp_path: Path) -> None:
    files = [monitor(tmp_path / f"{n}.monitor.csv", [float(n)] * 5) for n in (0, 1)]
    found = read_monitors(files, [])
    assert found["rollout.episode_return"].steps.tolist() == sorted([*range(100, 501, 100)] * 2)
    assert set(found["rollout.episode_return"].values) == {0.0, 1.0}


@pytest.mark.parametrize("torn", ["", "7.0,5", "x,y,z\n", "7.0,50,3.5,9\n"])
def test_a_torn_monitor_gives_the_episodes_that_are_whole(torn: str, tmp_path: Path) -> None:
    file = monitor(tmp_path / "monitor.csv", [1.0, 2.0, 3.0])
    file.write_text(file.read_text() + torn)
    values = read_monitors([file], [])["rollout.episode_return"].values.tolist()
    assert values[:3] == [1.0, 2.0, 3.0]
    assert len(values) <= 4


def test_evaluations_kept_by_a_callback_are_read(tmp_path: Path) -> None:
    file = tmp_path / "evaluations.npz"
    results = np.array([[1.0, 3.0], [10.0, 30.0]])
    np.savez(file, timesteps=[100, 200], results=results, ep_lengths=np.full((2, 2), 7))
    found = read_evaluations(file, [])
    assert found["eval.return_mean"].values.tolist() == [2.0, 20.0]
    assert found["eval.return_std"].values.tolist() == [1.0, 10.0]
    assert found["eval.length_mean"].values.tolist() == [7.0, 7.0]
    problems: list[str] = []
    np.savez(file, timesteps=np.array([{}], dtype=object), results=results)
    assert read_evaluations(file, problems) == {}
    file.write_bytes(b"nothing")
    assert read_evaluations(file, problems) == {}
    assert len(problems) == 2


def test_damaged_evaluations_are_told_and_never_an_error(tmp_path: Path) -> None:
    file = tmp_path / "evaluations.npz"
    results = np.random.default_rng(0).normal(size=(50, 4))
    np.savez_compressed(file, timesteps=np.arange(50), results=results)
    whole = file.read_bytes()
    told = 0
    for place in range(0, len(whole), 7):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        problems: list[str] = []
        assert bool(read_evaluations(file, problems)) != bool(problems)
        told += bool(problems)
    assert told > len(whole) // 14


def test_a_dozen_rows_of_losses_do_not_hide_hundreds_of_episodes(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).standard_normal(400)
    log = sb3_log(tmp_path, rows=12, reward=-1300.0)
    assert judge(ForeignRun(log)).headline != "healthy"
    monitor(log / "monitor.csv", (-1300.0 + 50.0 * noise).tolist())
    verdict = judge(ForeignRun(log))
    assert (verdict.headline, verdict.standing.learned) == ("suspicious", "no")
    assert "D011" in {finding.rule for finding in verdict.findings}


def test_a_run_that_came_back_is_recovered_and_says_when_it_was_down(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).standard_normal(400)
    level = np.concatenate(
        [np.zeros(60), np.full(140, 100.0), np.full(60, 5.0), np.full(140, 99.0)]
    )
    verdict = judge(ForeignRun(zoo(tmp_path, (level + noise).tolist())))
    assert verdict.headline == "recovered"
    (dip,) = verdict.standing.dips
    assert 9_500 < dip.begun < 11_000 < dip.over < 14_000
    assert "came back" in verdict.sentence
    assert verdict.to_json()["standing"]["dips"]


def test_a_run_without_a_return_cannot_be_called_healthy(tmp_path: Path) -> None:
    lines = ["time/total_timesteps,train/approx_kl,train/explained_variance"]
    lines += [f"{2048 * n},0.01,0.9" for n in range(1, 60)]
    (tmp_path / "progress.csv").write_text("\n".join(lines) + "\n")
    verdict = judge(ForeignRun(tmp_path))
    assert verdict.sentence == "cannot tell: no return or other score was recorded"
    able, all_rules = verdict.looked
    assert 0 < able < all_rules


def test_a_thousand_steps_are_too_few_to_be_called_healthy(tmp_path: Path) -> None:
    returns = [2.0 * n for n in range(60)]
    run = zoo(tmp_path, returns)
    assert judge(ForeignRun(run)).headline == "healthy"
    monitor(run / "0.monitor.csv", returns, length=20)
    assert "1,200 env steps are too few" in " ".join(judge(ForeignRun(run)).doubts)


def test_an_unknown_algorithm_is_given_no_cause_of_a_certain_kind(tmp_path: Path) -> None:
    collapsed = [*[float(n) for n in range(100)], *[0.0] * 300]
    verdict = judge(ForeignRun(monitor(tmp_path / "monitor.csv", collapsed).parent))
    assert verdict.headline == "sick"
    rules = {finding.rule for finding in verdict.findings}
    assert "D009" in rules
    assert not any(rule.startswith("D14") for rule in rules)  # those of language models
    assert not {d.cause for d in verdict.diagnoses} & {"C272", "C201", "C241"}
