from __future__ import annotations

import io
import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console

import steadyrl
from steadyrl.cli.following import follow
from steadyrl.cli.main import main
from steadyrl.core.errors import ConfigError, OutputLost, RunNotFound, SteadyError
from steadyrl.judging import judge
from steadyrl.store.foreign.finding import find_runs
from steadyrl.store.foreign.mapping import built_in, load_table, recognised
from steadyrl.store.foreign.run import ForeignRun
from steadyrl.store.foreign.tables import read_csv, read_json_lines, read_trainer_state
from tests.unit.pages import page_data, texts
from tests.unit.test_event_files import file_of, scalar

DATA = Path(__file__).parents[1] / "data"
SB3 = (
    "time/total_timesteps,time/time_elapsed,rollout/ep_rew_mean,train/approx_kl,"
    "train/entropy_loss,train/clip_fraction,train/learning_rate,train/explained_variance"
)


def sb3_log(folder: Path, rows: int = 40, **columns: Any) -> Path:
    """A progress.csv of PPO in good health, with some columns changed."""
    usual = {
        "reward": lambda i: 20.0 + 5.0 * i,
        "kl": 0.01,
        "entropy": lambda i: -0.69 + 0.005 * i,
        "clip": 0.1,
        "rate": 0.0003,
        "explained": lambda i: min(0.9, 0.03 * i),
    }
    lines = [SB3]
    for i in range(rows):
        cells = [c(i) if callable(c) else c for c in {**usual, **columns}.values()]
        lines.append(",".join(map(str, [2048 * (i + 1), 3 * (i + 1), *cells])))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "progress.csv").write_text("\n".join(lines) + "\n")
    return folder


def test_a_progress_csv_becomes_steps_under_our_names(tmp_path: Path) -> None:
    run = ForeignRun(sb3_log(tmp_path))
    first = next(iter(run.steps()))
    assert run.config.source == "Stable-Baselines3"
    assert run.config.family == "ppo"
    assert (first.taken, first.signals["policy.kl"]) == (2048, 0.01)
    assert first.signals["policy.entropy"] == pytest.approx(0.69)
    assert first.signals["policy.entropy_share"] == 1.0
    assert [round(s.seconds) for s in run.steps()][:3] == [0, 3, 6]
    assert judge(run).headline == "healthy"


def test_a_jumping_policy_is_named_with_less_confidence_than_from_a_sound_signal(
    tmp_path: Path,
) -> None:
    run = ForeignRun(sb3_log(tmp_path, kl=0.6, rate=0.05))
    diagnosis = judge(run).diagnoses[0]
    assert diagnosis.cause == "C241"
    assert any("last epoch only" in text for text in diagnosis.evidence_against)
    run.config = run.config.model_copy(update={"weaker": {}})
    sound = judge(run).diagnoses[0]
    assert diagnosis.weight == pytest.approx(0.85 * sound.weight, abs=0.01)


def test_a_verdict_says_what_could_not_be_looked_at_and_how_to_record_it(tmp_path: Path) -> None:
    verdict = judge(ForeignRun(sb3_log(tmp_path)))
    assert "policy.first_ratio_error" in verdict.unmeasured["D101"]
    assert "SteadyCallback" in verdict.advice["policy.first_ratio_error"]


def test_a_collapse_shows_in_the_return_of_training_episodes(tmp_path: Path) -> None:
    log = sb3_log(tmp_path, rows=80, reward=lambda i: 20.0 + 5.0 * i if i < 40 else 22.0)
    found = {finding.rule: finding for finding in judge(ForeignRun(log)).findings}
    assert found["D009"].severity == "severe"
    assert "training episodes" in found["D009"].message


def test_unknown_explained_variance_is_no_broken_signal_but_a_nan_loss_is(tmp_path: Path) -> None:
    log = sb3_log(tmp_path / "a", explained="nan")
    assert judge(ForeignRun(log)).findings == []
    log = sb3_log(tmp_path / "b", entropy=lambda i: -0.69 + 0.005 * i if i < 30 else "nan")
    assert [finding.rule for finding in judge(ForeignRun(log)).findings] == ["D001"]


@pytest.mark.parametrize(("lost", "found"), [(60.0, True), (5.0, False)])
def test_a_return_that_falls_where_the_program_was_started_again(
    tmp_path: Path, lost: float, found: bool
) -> None:
    def score(step: int) -> float:
        return min(100.0, 2.0 * step) - (lost if step >= 60 else 0.0)

    for name, steps, clock in (("1.a", range(60), 0.0), ("2.a", range(60, 90), 5000.0)):
        events = [
            scalar(tag, 1000 * s, value, time=clock + 10.0 * s)
            for s in steps
            for tag, value in (("rollout/ep_rew_mean", score(s)), ("train/approx_kl", 0.01))
        ]
        (tmp_path / f"events.out.tfevents.{name}").write_bytes(file_of(events))
    run = ForeignRun(tmp_path, family="ppo")
    restarts = [s.taken for s in run.steps() if "run.restarted" in s.signals]
    assert restarts == [60_000]
    verdict = judge(run)
    assert ("D028" in {finding.rule for finding in verdict.findings}) is found
    if found:
        assert verdict.diagnoses[0].cause == "C224"


def test_what_a_restart_replaced_did_not_happen(tmp_path: Path) -> None:
    first = [scalar("charts/SPS", s, 1.0, time=s) for s in range(0, 1000, 10)]
    first += [scalar("eval/episodic_return", s, 5.0, time=s) for s in (0, 400, 800)]
    again = [scalar("charts/SPS", s, 2.0, time=5000 + s) for s in range(500, 700, 10)]
    (tmp_path / "events.out.tfevents.1.a").write_bytes(file_of(first))
    (tmp_path / "events.out.tfevents.2.b").write_bytes(file_of(again))
    run = ForeignRun(tmp_path)
    steps = list(run.steps())
    assert [step.taken for step in steps] == list(range(0, 700, 10))
    speeds = [s.signals["time.rate"] for s in steps]
    assert speeds == [1.0] * 50 + [2.0] * 20
    assert [s.taken for s in steps if "eval.return_mean" in s.signals] == [0, 400]
    assert any("restarted" in problem for problem in run.problems)


def test_a_late_value_is_put_in_its_place(tmp_path: Path) -> None:
    order = [0, 10, 30, 20, 40, 50]
    events = [scalar("charts/SPS", s, float(s), time=n) for n, s in enumerate(order)]
    (tmp_path / "events.out.tfevents.1.a").write_bytes(file_of(events))
    assert [step.taken for step in ForeignRun(tmp_path).steps()] == sorted(order)


def test_episodes_are_gathered_at_the_updates(tmp_path: Path) -> None:
    events = [scalar("losses/clipfrac", s, 0.1, time=s) for s in (100, 200)]
    events += [scalar("charts/episodic_return", s, float(s), time=s) for s in (30, 60, 150)]
    events.sort(key=lambda event: event.step)
    (tmp_path / "events.out.tfevents.1.a").write_bytes(file_of(events))
    run = ForeignRun(tmp_path)
    assert run.config.source == "CleanRL"
    assert [s.signals["rollout.return_mean"] for s in run.steps()] == [45.0, 80.0]


def test_rllib_results_are_flattened(tmp_path: Path) -> None:
    record = {
        "env_runners": {"episode_return_mean": 12.0, "episode_len_mean": 12.0},
        "learners": {"default_policy": {"mean_kl_loss": 0.02, "entropy": 0.6, "vf_loss": 3.0}},
        "num_env_steps_sampled_lifetime": 4000,
        "time_total_s": 2.5,
        "hostname": "x",
    }
    lines = [json.dumps(record), json.dumps({**record, "num_env_steps_sampled_lifetime": 8000})]
    torn = '{"env_runners": {"episode_ret'
    (tmp_path / "result.json").write_text("\n".join([*lines, torn]))
    run = ForeignRun(tmp_path)
    assert run.config.family == "ppo"
    assert [step.taken for step in run.steps()] == [4000, 8000]
    assert next(iter(run.steps())).signals["policy.kl"] == 0.02
    assert any("not whole JSON" in problem for problem in run.problems)


def test_what_rllib_itself_wrote_is_understood(tmp_path: Path) -> None:
    (tmp_path / "result.json").write_bytes((DATA / "rllib_result.json").read_bytes())
    run = ForeignRun(tmp_path)
    assert (run.config.source, run.config.family) == ("RLlib", "ppo")
    assert [step.taken for step in run.steps()] == [512, 1024, 1536, 2048]
    last = list(run.steps())[-1].signals
    wanted = {"policy.kl", "policy.entropy", "policy.gradient_norm", "value.explained_variance"}
    assert wanted | {"rollout.return_mean", "setting.learning_rate"} <= last.keys()
    assert run.config.known["epochs"] == 2
    assert run.config.known["clip_range"] == 0.3
    assert not any("config" in name for name in last)


def test_tensorboards_tags_may_have_a_prefix(tmp_path: Path) -> None:
    tag = "ray/tune/learners/default_policy/mean_kl_loss"
    events = [scalar(tag, 1, 0.25), scalar("ray/tune/training_iteration", 1, 1.0)]
    (tmp_path / "events.out.tfevents.1.a").write_bytes(file_of(events))
    run = ForeignRun(tmp_path)
    assert (run.config.source, run.config.family) == ("RLlib", "ppo")
    assert next(iter(run.steps())).signals == {"policy.kl": 0.25}


def test_a_trainer_state_of_grpo_is_judged(tmp_path: Path) -> None:
    history = [
        {
            "step": n,
            "loss": 0.0,
            "reward": 0.0,
            "reward_std": 0.0,
            "frac_reward_zero_std": 1.0,
            "completions/mean_length": 20.0,
            "completions/clipped_ratio": 0.0,
            "grad_norm": 0.0,
        }
        for n in range(1, 20)
    ]
    (tmp_path / "trainer_state.json").write_text(json.dumps({"log_history": history}))
    verdict = judge(ForeignRun(tmp_path))
    assert verdict.source == "TRL"
    assert [finding.rule for finding in verdict.findings] == ["D140", "D150", "D011"]
    assert verdict.diagnoses[0].cause == "C270"


@pytest.mark.parametrize(("weight", "told"), [(1.0, True), (0.01, False), (None, False)])
def test_an_entropy_weight_that_only_the_settings_know_is_looked_at(
    weight: float | None, told: bool, tmp_path: Path
) -> None:
    lines = ["time/total_timesteps,rollout/ep_rew_mean,train/entropy_loss,train/clip_fraction"]
    lines += [f"{1000 * n},{20 + n},{-0.69 + 0.001 * n},0.1" for n in range(1, 40)]
    (tmp_path / "progress.csv").write_text("\n".join(lines) + "\n")
    settings = {} if weight is None else {"ent_coef": weight}
    verdict = judge(ForeignRun(tmp_path, settings=settings))
    assert ("D113" in {finding.rule for finding in verdict.findings}) is told


@pytest.mark.parametrize(("sometimes", "told"), [(0.0, True), (0.2, False)])
def test_a_reward_function_that_never_tells_answers_apart_is_named(
    sometimes: float, told: bool, tmp_path: Path
) -> None:
    history = [
        {
            "step": n,
            "reward": 0.02 * n + 0.1 * (n % 2),
            "reward_std": 0.3,
            "rewards/format/std": sometimes if n == 7 else 0.0,
            "rewards/correct/std": 0.0 if n == 9 else 0.3,
        }
        for n in range(1, 30)
    ]
    (tmp_path / "trainer_state.json").write_text(json.dumps({"log_history": history}))
    verdict = judge(ForeignRun(tmp_path))
    assert ("D155" in {finding.rule for finding in verdict.findings}) is told


def test_a_monitor_alone_gives_returns_over_env_steps(tmp_path: Path) -> None:
    lines = ['#{"t_start": 1.0, "env_id": "X"}', "r,l,t", "1.0,10,0.5", "3.0,30,1.5", "5.0,10,2"]
    (tmp_path / "0.monitor.csv").write_text("\n".join(lines) + "\n")
    steps = list(ForeignRun(tmp_path).steps())
    assert [step.taken for step in steps] == [10, 40, 50]
    assert [step.signals["rollout.return_mean"] for step in steps] == [1.0, 2.0, 3.0]


def test_a_table_of_ones_own_needs_a_mapping(tmp_path: Path) -> None:
    log = tmp_path / "mine.jsonl"
    log.write_text("\n".join(json.dumps({"t": n, "KL": 0.5, "gain": -n}) for n in range(30)))
    mapping = tmp_path / "names.yaml"
    mapping.write_text(
        "name: mine\nsteps: t\nsignals:\n  policy.kl: {from: KL}\n"
        "  eval.return_mean: {from: gain, times: -1}\n"
    )
    run = ForeignRun(log, mapping=load_table(mapping), family="ppo")
    assert [s.signals["eval.return_mean"] for s in run.steps()][:3] == [0.0, 1.0, 2.0]
    assert "D102" in {finding.rule for finding in judge(run).findings}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("signals:\n  policy.lk: {from: KL}\n", "there is no signal 'policy.lk'"),
        ("signals:\n  policy.kl: {form: KL}\n", "unknown setting 'signals.policy.kl.form'"),
        ("signals: [1, 2]\n", "signals"),
        ("signals:\n  policy.kl: {from: KL, nan: gone}\n", "nan"),
        ("steps: {a: 1}\n", "steps"),
    ],
)
def test_a_wrong_mapping_is_refused_with_the_place(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "names.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=said):
        load_table(file)


def test_every_built_in_table_is_recognised_by_what_it_reads() -> None:
    for table in built_in().values():
        names = [source.names[0] for source in table.signals.values()]
        found = recognised([*names, *table.recognise[:1]])
        assert found is not None
        assert found.name == table.name
        assert table.tested_with
        assert "default" in table.advice


def test_many_runs_are_found_below_a_folder_and_shown_as_a_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    sb3_log(tmp_path / "logs" / "good")
    sb3_log(tmp_path / "logs" / "deep" / "bad", kl=2.0, rate=0.05)
    assert main(["diagnose", str(tmp_path / "logs"), "--strict"]) == 1
    printed = capsys.readouterr().out
    table = printed[printed.index("confidence") :]
    assert "C241" in table
    assert "sick" in table
    assert "healthy" in table


def test_a_folder_without_runs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunNotFound, match="neither a run nor a folder of runs"):
        find_runs(tmp_path)


def test_a_growing_log_is_followed_and_each_finding_told_once(tmp_path: Path) -> None:
    console = Console(file=io.StringIO(), record=True, width=200)
    sb3_log(tmp_path, rows=10)
    run = ForeignRun(tmp_path)
    rows = iter([12, 40, 41, 42])

    def grow(_seconds: float) -> None:
        count = next(rows, None)
        if count is None:
            raise KeyboardInterrupt
        sb3_log(tmp_path, rows=count, kl=lambda i: 0.01 if i < 12 else 0.4)

    assert follow([run], every=1.0, sleep=grow, console=console) == 0
    printed = console.export_text()
    assert printed.count("D102 policy-jumps") == 1
    assert printed.count("healthy after") == 1  # at the beginning


def test_growing_event_files_are_followed_without_reading_them_again(tmp_path: Path) -> None:
    file = tmp_path / "events.out.tfevents.1.a"
    file.write_bytes(file_of([scalar("charts/SPS", s, 1.0, time=s) for s in range(10)]))
    run = ForeignRun(tmp_path)
    assert not run.refresh()
    more = [scalar("charts/SPS", s, 1.0, time=s) for s in range(10, 15)]
    with file.open("ab") as out:
        out.write(file_of(more))
    assert run.refresh()
    assert [step.taken for step in run.steps()] == list(range(15))


def test_another_programs_log_opens_in_the_report(tmp_path: Path) -> None:
    log = sb3_log(tmp_path, kl=0.6, rate=0.05)
    assert main(["report", str(log)]) == 0
    (run,) = page_data(log / "report.html")["runs"]
    assert "policy.kl" in run["curves"]
    assert "C241" in [cause["id"] for cause in run["causes"]]
    assert any("Stable-Baselines3" in text for text in texts(run["facts"]))
    assert not any("checkpoints" in one["name"] for one in run["settings"])  # only ours have it


def test_a_table_of_unknown_names_is_reported_once_it_is_mapped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "losses.csv"
    log.write_text("frame,Kullback\n" + "".join(f"{i * 100},0.0{i}\n" for i in range(1, 9)))
    assert main(["report", str(log)]) == 2
    assert "Say what they mean with --mapping" in capsys.readouterr().err
    names = tmp_path / "names.yaml"
    names.write_text("name: mine\nsteps: [frame]\nsignals:\n  policy.kl: {from: Kullback}\n")
    assert main(["report", str(log), "--mapping", str(names), "--family", "ppo"]) == 0
    assert "policy.kl" in page_data(tmp_path / "losses.html")["runs"][0]["curves"]
    verdict = steadyrl.diagnose(str(log), mapping=names, family="ppo", total_env_steps=800)
    assert verdict.steps == 8


def test_a_long_log_is_thinned_to_what_can_be_judged(tmp_path: Path) -> None:
    events = [scalar("losses/clipfrac", s, float(s % 2), time=s) for s in range(5000)]
    (tmp_path / "events.out.tfevents.1.a").write_bytes(file_of(events))
    steps = list(ForeignRun(tmp_path).steps())
    assert len(steps) == 1000
    assert steps[-1].taken == 4999
    assert steps[0].signals["policy.clip_fraction"] == pytest.approx(0.4)


def test_a_table_that_goes_back_was_restarted_whatever_its_clock_says(tmp_path: Path) -> None:
    rows = [(step, step / 1000, 1.0) for step in range(1000, 11_000, 1000)]
    rows += [(step, (step - 3000) / 1000, 2.0) for step in range(4000, 9000, 1000)]
    lines = ["time/total_timesteps,time/time_elapsed,rollout/ep_rew_mean"]
    lines += [",".join(map(str, row)) for row in rows]
    (tmp_path / "progress.csv").write_text("\n".join(lines) + "\n")
    run = ForeignRun(tmp_path)
    assert [step.taken for step in run.steps()] == list(range(1000, 9000, 1000))
    assert any("restarted" in problem for problem in run.problems)


def test_without_a_column_of_steps_lines_are_counted_and_it_is_said(tmp_path: Path) -> None:
    log = sb3_log(tmp_path, rows=20)
    text = (log / "progress.csv").read_text().replace("time/total_timesteps", "global_step")
    (log / "progress.csv").write_text("\ufeff" + text, encoding="utf-8")
    run = ForeignRun(log)
    assert [step.taken for step in run.steps()] == list(range(1, 21))
    assert any("no column time/total_timesteps" in problem for problem in run.problems)


def test_rows_of_evaluations_alone_are_recognised(tmp_path: Path) -> None:
    lines = ["time/total_timesteps,eval/mean_reward", *(f"{100 * n},{n}" for n in range(9))]
    (tmp_path / "progress.csv").write_text("\n".join(lines) + "\n")
    run = ForeignRun(tmp_path)
    assert run.config.source == "Stable-Baselines3"
    assert [step.signals["eval.return_mean"] for step in run.steps()] == list(range(9))


@pytest.mark.parametrize(
    "settings_file",
    ["learning_rate: lin_2.5e-4", "clip_range: lin_0.2", "max_grad_norm: .inf", "gamma: 1.0"],
)
def test_settings_as_people_have_them_are_taken(tmp_path: Path, settings_file: str) -> None:
    log = sb3_log(tmp_path / "log", kl=2.0, explained=-0.5, reward=20.0)
    file = tmp_path / "settings.yaml"
    file.write_text(settings_file + "\npolicy: MlpPolicy\nbatch_size: 0\n")
    assert main(["diagnose", str(log), "--settings", str(file), "--json"]) == 0


def test_somebody_elses_config_yaml_makes_no_run_of_ours(tmp_path: Path) -> None:
    log = sb3_log(tmp_path / "logs" / "a")
    (log / "config.yaml").write_text("policy: MlpPolicy\n")
    assert judge(log).source == "Stable-Baselines3"


def test_one_broken_run_of_many_is_left_out_and_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sb3_log(tmp_path / "good")
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "config.yaml").write_text("algorithm: ppo\n")
    (tmp_path / "worse").mkdir()
    (tmp_path / "worse" / "progress.csv").mkdir()
    assert main(["diagnose", str(tmp_path)]) == 0
    printed = capsys.readouterr()
    assert "good" in printed.out
    assert "bad/config.yaml: 'environment.id' is missing" in printed.err


def test_a_torn_last_line_is_no_step(tmp_path: Path) -> None:
    log = sb3_log(tmp_path, rows=5)
    with (log / "progress.csv").open("a") as file:
        file.write("50")
    run = ForeignRun(log)
    assert [step.taken for step in run.steps()] == [2048 * n for n in range(1, 6)]
    assert any("not finished" in problem for problem in run.problems)


def test_an_event_file_that_was_replaced_is_read_anew(tmp_path: Path) -> None:
    file = tmp_path / "events.out.tfevents.1.a"
    file.write_bytes(file_of([scalar("charts/SPS", s, 1.0, time=s) for s in range(50)]))
    run = ForeignRun(file)  # a file stands for its folder
    file.write_bytes(file_of([scalar("charts/SPS", s, 2.0, time=s) for s in range(7)]))
    assert run.refresh()
    assert [s.signals["time.rate"] for s in run.steps()] == [2.0] * 7


def test_a_run_that_vanishes_does_not_end_the_watch_of_the_others(tmp_path: Path) -> None:
    console = Console(file=io.StringIO(), record=True, width=200)
    runs = [ForeignRun(sb3_log(tmp_path / name)) for name in ("a", "b")]
    rounds = iter(range(3))

    def change(_seconds: float) -> None:
        if next(rounds, None) is None:
            raise KeyboardInterrupt
        (tmp_path / "a" / "progress.csv").unlink(missing_ok=True)
        sb3_log(tmp_path / "b", kl=0.5)

    follow(runs, every=1.0, sleep=change, console=console)
    printed = console.export_text()
    assert printed.count("no run here") == 1
    assert "D102" in printed


def test_a_watch_that_nobody_can_hear_any_more_ends(tmp_path: Path) -> None:
    class Full(io.StringIO):
        def write(self, text: str, /) -> int:
            if "D102" in text:
                raise OutputLost("stdout takes no more")
            return super().write(text)

    def fall_sick(_seconds: float) -> None:
        if next(rounds, None) is None:
            raise KeyboardInterrupt
        sb3_log(tmp_path, kl=0.5)

    rounds = iter(range(3))
    run = ForeignRun(sb3_log(tmp_path))
    console = Console(file=Full(), width=200)
    with pytest.raises(OutputLost):
        follow([run], every=1.0, sleep=fall_sick, console=console)


def test_an_empty_table_does_not_hide_the_event_files_beside_it(tmp_path: Path) -> None:
    (tmp_path / "progress.csv").write_text("")
    (tmp_path / "events.out.tfevents.1.a").write_bytes(file_of([scalar("charts/SPS", 1, 1.0)]))
    assert len(list(ForeignRun(tmp_path).steps())) == 1


def test_of_a_trainers_checkpoints_the_last_is_looked_at(tmp_path: Path) -> None:
    for number in (8, 16, 100):
        folder = tmp_path / f"checkpoint-{number}"
        folder.mkdir()
        (folder / "trainer_state.json").write_text('{"log_history": []}')
    assert [run.name for run in find_runs(tmp_path)] == ["checkpoint-100"]


def test_names_that_nobody_knows_are_told_with_the_way_out(tmp_path: Path) -> None:
    log = tmp_path / "mine.csv"
    log.write_text("cost,gain\n1,2\n")
    assert ForeignRun(log).problems == [
        "none of its names is known (cost, gain): say what they mean with --mapping."
    ]


def test_an_entropy_of_zero_at_first_is_no_broken_signal(tmp_path: Path) -> None:
    log = sb3_log(tmp_path, entropy=0.0)
    assert "D001" not in {finding.rule for finding in judge(log).findings}


GARBAGE = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@GARBAGE
@given(st.binary(max_size=600))
def test_no_table_is_so_garbled_that_reading_fails(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "progress.csv"
    file.write_bytes(content)
    for read in (read_csv, read_json_lines, read_trainer_state):
        assert isinstance(read(file).rows, list)


CELL = st.one_of(
    st.floats(allow_nan=True).map(str), st.text(max_size=5), st.just(""), st.just("1e999")
)


@GARBAGE
@given(st.lists(st.lists(CELL, min_size=1, max_size=9), max_size=12))
def test_no_content_of_a_log_makes_the_verdict_fail(tmp_path: Path, rows: list[list[str]]) -> None:
    (tmp_path / "progress.csv").write_text(
        SB3 + "\n" + "\n".join(",".join(row) for row in rows), encoding="utf-8"
    )
    try:
        verdict = judge(ForeignRun(tmp_path, total_env_steps=10_000))
    except SteadyError:
        return
    assert all(math.isfinite(d.confidence) for d in verdict.diagnoses)
