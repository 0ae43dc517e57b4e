"""Which folders hold runs, which of their files are read, and what is known of a run then."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from steadyrl.core.errors import RunNotFound, StoreError
from steadyrl.store.foreign.finding import find_runs, is_own, is_run
from steadyrl.store.foreign.mapping import NameTable
from steadyrl.store.foreign.run import ForeignRun
from tests.unit.test_event_files import file_of, scalar


def log(folder: Path, name: str = "progress.csv", text: str = "policy.kl\n0.5\n") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    return folder


def events(folder: Path, tag: str = "policy.kl", value: float = 0.25) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "events.out.tfevents.1.a").write_bytes(file_of([scalar(tag, 7, value)]))
    return folder


def table(text: str) -> NameTable:
    return NameTable.parse({"signals": {"policy.kl": {"from": "KL"}}, "name": text}, source="test")


def signal(run: ForeignRun, name: str = "policy.kl") -> list[float | None]:
    return [step.signals.get(name) for step in run.steps()]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("result.json", '{"policy.kl": 0.5}'),
        ("progress.json", '{"policy.kl": 0.5}'),
        ("progress.csv", "policy.kl\n0.5\n"),
        ("trainer_state.json", '{"log_history": [{"policy.kl": 0.5}]}'),
    ],
)
def test_a_folder_is_a_run_by_the_files_it_holds(tmp_path: Path, name: str, text: str) -> None:
    assert not is_run(tmp_path)
    log(tmp_path, name, text)
    assert is_run(tmp_path)
    assert signal(ForeignRun(tmp_path)) == [0.5]


@pytest.mark.parametrize("name", ["x.csv", "x.json", "x.jsonl"])
def test_a_file_alone_is_read_by_its_ending(tmp_path: Path, name: str) -> None:
    text = "policy.kl\n0.5\n" if name.endswith("csv") else '{"policy.kl": 0.5}'
    log(tmp_path, name, text)
    assert not is_run(tmp_path)  # nobody knows whose it is
    assert signal(ForeignRun(tmp_path / name)) == [0.5]
    assert find_runs(tmp_path / name) == [tmp_path / name]


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    log(tmp_path, "x.txt")
    with pytest.raises(StoreError, match=r"neither \.csv, \.json nor \.jsonl"):
        ForeignRun(tmp_path / "x.txt")
    with pytest.raises(RunNotFound, match="no run here"):
        ForeignRun(tmp_path / "gone")


def test_the_most_complete_file_is_read_and_an_empty_one_is_not(tmp_path: Path) -> None:
    events(log(tmp_path))
    assert signal(ForeignRun(tmp_path)) == [0.5]
    log(tmp_path, "result.json", '{"policy.kl": 0.75}')
    assert signal(ForeignRun(tmp_path)) == [0.75]
    log(tmp_path, "result.json", "")
    log(tmp_path, "progress.csv", "policy.kl\n")
    assert signal(ForeignRun(tmp_path)) == [0.25]


def test_a_mapping_that_is_given_counts_more_than_one_that_is_recognised(tmp_path: Path) -> None:
    rows = "time/total_timesteps,train/approx_kl,KL\n5,0.5,0.75\n"
    log(tmp_path / "csv", text=rows)
    assert signal(ForeignRun(tmp_path / "csv")) == [0.5]
    assert signal(ForeignRun(tmp_path / "csv", mapping=table("mine"))) == [0.75]
    events(tmp_path / "tb", "train/approx_kl")
    assert ForeignRun(tmp_path / "tb").config.source == "Stable-Baselines3"
    assert ForeignRun(tmp_path / "tb", mapping=table("mine")).config.source == "mine"


def test_a_monitor_is_added_unless_the_log_has_its_own_returns(tmp_path: Path) -> None:
    log(tmp_path)
    log(tmp_path, "0.monitor.csv", "r,l,t\n4,10,1\n")
    log(tmp_path, "1.monitor.csv", "r,l,t\n8,30,2\n")
    run = ForeignRun(tmp_path)
    # Two environments side by side: ten steps of one are twenty of both.
    assert [step.taken for step in run.steps()] == [1, 60]
    assert signal(run, "rollout.return_mean") == [None, 6.0]
    assert signal(run, "rollout.length_mean") == [None, 20.0]
    log(tmp_path, "progress.csv", "time/total_timesteps,rollout/ep_rew_mean\n5,1.0\n")
    both = ForeignRun(tmp_path)
    assert signal(both, "rollout.return_mean") == [1.0, None, None]
    assert signal(both, "rollout.episode_return") == [None, 4.0, 8.0]  # as they ended


def test_a_monitor_alone_gives_the_mean_of_a_hundred_episodes(tmp_path: Path) -> None:
    rows = "".join(f"{n},1,{n}\n" for n in range(150))
    log(tmp_path, "0.monitor.csv", "r,l,t\n" + rows)
    for path in (tmp_path, tmp_path / "0.monitor.csv"):
        assert signal(ForeignRun(path), "rollout.return_mean")[-1] == 99.5


def test_what_is_wrong_with_event_files_is_told(tmp_path: Path) -> None:
    with (events(tmp_path) / "events.out.tfevents.1.a").open("ab") as file:
        file.write(b"torn")
    assert "ends in the middle of a record" in ForeignRun(tmp_path).problems[0]


def test_what_is_wrong_with_a_monitor_is_told(tmp_path: Path) -> None:
    log(tmp_path, "monitor.csv", "r,l,t\n4,10,1\n5,1")
    run = ForeignRun(tmp_path)
    assert len(run.problems) == 1
    assert signal(run, "rollout.return_mean") == [4.0]


def test_signals_are_made_as_the_table_says(tmp_path: Path) -> None:
    mapping = NameTable.parse(
        {
            "steps": "t",
            "signals": {
                "policy.kl": {"from": "kl", "nan": "absent", "times": 2.0},
                "policy.entropy": {"from": "h", "unless": {"skip": 1.0}},
                "policy.entropy_share": {"from": "h", "over_first": True},
                "rollout.return_mean": {"from": "r", "last": 2},
            },
        },
        source="test",
    )
    text = "t,kl,h,skip,r,a_loss,noise\n1,1,4,0,2,5,9\n2,nan,2,1,4,5,9\n3,3,1,0,8,5,9\n"
    log(tmp_path, text=text)
    steps = list(ForeignRun(tmp_path, mapping=mapping).steps())
    assert [step.signals for step in steps] == [
        {"policy.kl": 2.0, "policy.entropy": 4.0, "policy.entropy_share": 1.0,
         "rollout.return_mean": 2.0, "rollout.episode_return": 2.0, "other.a_loss": 5.0},
        {"policy.entropy_share": 0.5, "rollout.return_mean": 3.0, "rollout.episode_return": 4.0,
         "other.a_loss": 5.0},
        {"policy.kl": 6.0, "policy.entropy": 1.0, "policy.entropy_share": 0.25,
         "rollout.return_mean": 6.0, "rollout.episode_return": 8.0, "other.a_loss": 5.0},
    ]  # fmt: skip


@pytest.mark.parametrize("first", ["0", "nan", "inf"])
def test_nothing_is_a_share_of_a_first_value_that_cannot_divide(tmp_path: Path, first: str) -> None:
    source = {"from": "h", "over_first": True}
    mapping = NameTable.parse({"signals": {"policy.entropy_share": source}}, source="test")
    run = ForeignRun(log(tmp_path, text=f"h\n{first}\n2\n"), mapping=mapping)
    assert list(run.steps()) == []
    assert any("none of its names is known (h)" in problem for problem in run.problems)


def test_a_log_without_numbers_says_so(tmp_path: Path) -> None:
    run = ForeignRun(log(tmp_path, text="a\n"))
    assert run.problems == ["it holds no numbers."]
    assert run.summary() == {
        "status": "recorded", "message": "by own names", "taken": 0, "seconds": 0.0,
        "final_return": None, "best_return": None,
    }  # fmt: skip


def test_a_summary_prefers_evaluations_and_skips_what_is_no_number(tmp_path: Path) -> None:
    rows = "rollout.return_mean\n1\n9\n2\n"
    summary = ForeignRun(log(tmp_path, text=rows)).summary()
    assert (summary["final_return"], summary["best_return"]) == (4.0, 9.0)  # the mean of its end
    assert (summary["taken"], summary["message"]) == (3, "by own names")
    rows = "rollout.return_mean,eval.return_mean\n1,5\n9,inf\n2,4\n"
    summary = ForeignRun(log(tmp_path, text=rows)).summary()
    assert (summary["final_return"], summary["best_return"]) == (4.5, 5.0)
    assert list(ForeignRun(tmp_path).events()) == []


def test_what_is_told_about_a_run_is_known_of_it(tmp_path: Path) -> None:
    log(tmp_path, text="policy.kl,config/lr\n0.5,0.125\n0.5,0.5\n0.5,0.25\n")
    mapping = NameTable.parse({"settings": {"learning_rate": "lr", "gamma": "g"}}, source="test")
    run = ForeignRun(
        tmp_path, mapping=mapping, family="trpo", total_env_steps=77, settings={"g": 0.5}
    )
    assert (run.config.family, run.config.total_env_steps) == ("trpo", 77)
    assert run.config.known == {"learning_rate": 0.25, "gamma": 0.5}
    given = ForeignRun(tmp_path, mapping=mapping, settings={"lr": 0.5})
    assert given.config.known == {"learning_rate": 0.5}
    assert given.config.family == "unknown"


def test_nothing_is_read_again_while_nothing_changes(tmp_path: Path) -> None:
    run = ForeignRun(log(tmp_path))
    assert not run.refresh()
    log(tmp_path, text="policy.kl\n0.5\n0.75\n")
    assert run.refresh()
    assert signal(run) == [0.5, 0.75]


def test_runs_are_found_below_a_folder_but_not_inside_runs_of_ours(tmp_path: Path) -> None:
    own = tmp_path / "own"
    log(own, "config.yaml", "x: 1\n")
    log(own, "steps.jsonl", "")
    events(own / "tensorboard")
    theirs = log(tmp_path / "deep" / "theirs")
    events(theirs / "inner")
    (tmp_path / "empty").mkdir()
    assert find_runs(tmp_path) == [theirs, theirs / "inner", own]
    assert find_runs(own) == [own]
    with pytest.raises(RunNotFound, match="no such file or folder"):
        find_runs(tmp_path / "gone")


def test_of_checkpoints_beside_each_other_the_highest_number_counts(tmp_path: Path) -> None:
    for name in ("7", "8", "a/checkpoint-9", "a/checkpoint-10", "b/checkpoint-2", "b/checkpoint-x"):
        log(tmp_path / name)
    found = [path.relative_to(tmp_path).as_posix() for path in find_runs(tmp_path)]
    assert found == ["7", "8", "a/checkpoint-10", "b/checkpoint-2", "b/checkpoint-x"]


@pytest.mark.parametrize(
    ("files", "own"),
    [
        ({}, False),
        ({"steps.jsonl": ""}, False),
        ({"config.yaml": "x: 1\n"}, False),
        ({"config.yaml": "x: 1\n", "steps.jsonl": ""}, True),
        ({"config.yaml": "x: 1\n", "events.jsonl": ""}, True),
        ({"config.yaml": "seed: 0\nalgorithm: ppo\n"}, True),
        ({"config.yaml": "algorithm: foreign\n"}, True),
        ({"config.yaml": "algorithm: ppo2\n"}, False),
        ({"config.yaml": "#" * 4096 + "algorithm: ppo\n"}, False),
    ],
)
def test_a_run_is_ours_by_its_config_and_its_records(
    tmp_path: Path, files: dict[str, str], own: bool
) -> None:
    for name, text in files.items():
        log(tmp_path, name, text)
    assert is_own(tmp_path) is own


def test_event_files_that_grow_are_added_to_what_was_read(tmp_path: Path) -> None:
    run = ForeignRun(events(tmp_path))
    second = file_of([scalar("policy.kl", 8, 0.5), scalar("policy.entropy", 8, 1.0)])
    (tmp_path / "events.out.tfevents.2.a").write_bytes(second)
    assert run.refresh()
    assert signal(run) == [0.25, 0.5]
    assert signal(run, "policy.entropy") == [None, 1.0]


def test_a_log_with_nan_keeps_it(tmp_path: Path) -> None:
    (value,) = signal(ForeignRun(log(tmp_path, text="critic.loss\nnan\n")), "critic.loss")
    assert value is not None
    assert math.isnan(value)
