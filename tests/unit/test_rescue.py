"""The decisions of a rescue, and the whole loop on a small patient."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from steadyrl.algorithms.ddpg.config import DDPGConfig
from steadyrl.cli.main import main
from steadyrl.core.presets import load_config
from steadyrl.experiments.candidates import PLACEBO, Candidate, choose
from steadyrl.experiments.proof import Measure, Proof, improves, measure_for, proof_of, score
from steadyrl.experiments.rescue import rescue
from steadyrl.experiments.trials import Outcome, Trial, is_done, read_outcome, run_trial
from steadyrl.store.reader import RunReader
from tests.unit.pages import page_data

Make = Callable[..., DDPGConfig]


def _outcome(
    total: float, length: float, *severe: str, status: str = "finished", name: str = "x"
) -> Outcome:
    return Outcome(name, Path(name), status, severe, total, length, 100)


def test_a_remedy_must_be_healthy_and_clearly_better_than_the_control() -> None:
    control = [_outcome(-100.0, 50.0, "D009")]
    assert improves([_outcome(-89.0, 50.0)], control, "return")
    assert not improves([_outcome(-91.0, 50.0)], control, "return")
    assert not improves([_outcome(-50.0, 50.0, "D005")], control, "return")
    assert not improves([_outcome(-50.0, 50.0, status="failed")], control, "return")
    assert not improves([], control, "return")


def test_one_run_that_is_not_healthy_spoils_them_all() -> None:
    before = [_outcome(-100.0, 50.0) for _ in range(3)]
    good = [_outcome(-10.0, 50.0) for _ in range(2)]
    assert improves([*good, _outcome(-10.0, 50.0)], before, "return")
    assert not improves([*good, _outcome(-10.0, 50.0, "D001")], before, "return")


def test_several_runs_are_compared_by_their_medians() -> None:
    before = [_outcome(value, 50.0) for value in (-100.0, -100.0, 500.0)]
    assert improves([_outcome(v, 50.0) for v in (-900.0, -50.0, -50.0)], before, "return")
    assert not improves([_outcome(v, 50.0) for v in (-100.0, -100.0, 900.0)], before, "return")


def test_if_the_task_was_changed_length_and_reward_per_step_decide() -> None:
    by: Measure = "episode length"
    control = [_outcome(-14_000.0, 11.0, "D010")]
    assert improves([_outcome(-4.6e6, 4010.0)], control, by)
    assert not improves([_outcome(-12_000.0, 10.0)], control, by)
    assert not improves([_outcome(-9e6, 4010.0)], control, by)
    # Half again as long, at the same cost of a step.
    usual = [_outcome(-100.0, 10.0)]
    assert improves([_outcome(-150.0, 15.0)], usual, by)
    assert not improves([_outcome(-140.0, 14.0)], usual, by)
    assert improves([_outcome(-164.0, 15.0)], usual, by)
    assert not improves([_outcome(-166.0, 15.0)], usual, by)


def test_what_runs_are_compared_by() -> None:
    config, clone = load_config("ddpg/pendulum"), load_config("bc/single-trajectory")
    assert measure_for(config, {"learning_rate": 1e-4}) == "return"
    penalty = {"environment.settings.termination_penalty": 75.0}
    assert measure_for(config, penalty) == "episode length"
    assert measure_for(clone, {}) == "health"
    assert score(_outcome(-5.0, 7.0), "return") == -5.0
    assert score(_outcome(-5.0, 7.0), "episode length") == 7.0
    assert score(_outcome(-5.0, 7.0), "health") == 1.0
    assert score(_outcome(-5.0, 7.0, "D001"), "health") == 0.0
    assert score(_outcome(float("nan"), 7.0), "return") == -float("inf")


def test_nothing_is_better_than_something_that_was_not_measured() -> None:
    nan = float("nan")
    diverged = [_outcome(nan, nan, "D001", status="diverged")]
    assert improves([_outcome(-50.0, 50.0)], diverged, "return")
    assert not improves([_outcome(-50.0, 50.0)], [_outcome(nan, nan)], "return")
    assert not improves([_outcome(nan, nan)], diverged, "return")
    assert not improves([_outcome(0.0, 50.0)], [_outcome(0.0, 50.0)], "return")


def test_a_run_that_was_not_measured_does_not_hide_the_others() -> None:
    nan = float("nan")
    before = [_outcome(nan, nan), _outcome(-100.0, 50.0), _outcome(-100.0, 50.0)]
    assert improves([_outcome(-50.0, 50.0)] * 3, before, "return")
    assert not improves([_outcome(-95.0, 50.0)] * 3, before, "return")
    assert not improves([_outcome(-50.0, 50.0)] * 3, before[:2], "return")  # half is not most


def test_a_clone_is_better_if_it_is_healthy_where_others_are_not_and_fits_as_well() -> None:
    nan = float("nan")
    sick = [_outcome(-1.0, nan, "D120")]
    assert improves([_outcome(-1.05, nan)], sick, "health")
    assert not improves([_outcome(-1.2, nan)], sick, "health")
    assert not improves([_outcome(-0.5, nan)], [_outcome(-1.0, nan)], "health")
    assert improves([_outcome(-1.0, nan)], [_outcome(nan, nan, "D001")], "health")
    # Most of several must have been sick.
    assert not improves([_outcome(-1.0, nan)] * 2, [*sick, _outcome(-1.0, nan)], "health")


def _proof(after: Sequence[Outcome], before: Sequence[Outcome], wanted: int | None = None) -> Proof:
    return proof_of(after, before, "return", wanted=wanted or len(after))


def test_a_proof_needs_runs_that_chance_does_not_set_apart() -> None:
    before = [_outcome(value, 50.0, "D009") for value in (-100.0, -90.0, -110.0, -95.0)]
    after = [_outcome(value, 50.0) for value in (-10.0, -12.0, -9.0, -11.0)]
    proof = _proof(after, before)
    assert proof.holds
    assert proof.p_value == pytest.approx(1 / 70)
    assert (
        proof.statement == "better, and nothing severe, on 4 of 4 fresh seeds, p = 0.014 (return)"
    )
    three = _proof(after[:3], before[:3])
    assert three.holds
    assert three.p_value == pytest.approx(1 / 20)
    assert not _proof(after[:2], before[:2]).holds


def test_a_fix_that_fails_on_every_fresh_seed_is_no_proof() -> None:
    before = [_outcome(-100.0, 50.0) for _ in range(4)]
    worse = [_outcome(-200.0 - seed, 50.0) for seed in range(4)]
    assert not _proof(worse, before).holds
    assert _proof(worse, before).better == 0
    same = [_outcome(-100.0, 50.0) for _ in range(4)]
    assert not _proof(same, before).holds


def test_a_proof_needs_every_fresh_run_healthy_and_all_that_were_wanted() -> None:
    before = [_outcome(value, 50.0) for value in (-100.0, -90.0, -110.0, -95.0)]
    after = [_outcome(value, 50.0) for value in (-10.0, -12.0, -9.0, -11.0)]
    assert not _proof([*after[:3], _outcome(-11.0, 50.0, "D009")], before).holds
    assert not _proof(after[:3], before[:3], wanted=4).holds
    assert "something severe" in _proof(after[:3], before[:3], wanted=4).statement
    assert not _proof([], [], wanted=4).holds


def test_a_difference_that_is_sure_but_slight_is_no_proof() -> None:
    before = [_outcome(value, 50.0) for value in (-100.0, -100.1, -100.2, -100.3)]
    after = [_outcome(value, 50.0) for value in (-98.0, -98.1, -98.2, -98.3)]
    assert _proof(after, before).p_value <= 0.05
    assert not _proof(after, before).holds


def test_a_placebo_is_proved_in_at_most_a_twentieth_of_rescues() -> None:
    generator = np.random.default_rng(0)
    proved, trials = 0, 120
    for _ in range(trials):
        before, after = (
            [_outcome(float(value), 50.0) for value in generator.standard_t(2, size=4)]
            for _ in range(2)
        )
        proved += _proof(after, before).holds
    assert proved / trials <= 0.05 + 3 * math.sqrt(0.05 / trials)


def _candidate(name: str, origin: str, **changes: object) -> Candidate:
    return Candidate(name, origin, {key.replace("__", "."): v for key, v in changes.items()}, False)


CONTROL = _outcome(-100.0, 50.0, "D009", name="control")


def _choose(*tried: tuple[Candidate, Outcome]) -> str | None:
    outcomes = {candidate.name: outcome for candidate, outcome in tried}
    candidates = [candidate for candidate, _ in tried]
    chosen = choose(candidates, load_config("ddpg/pendulum"), outcomes, CONTROL)
    return chosen.name if chosen else None


def test_what_a_cause_proposed_comes_before_what_chance_or_the_user_proposed() -> None:
    diagnosed = (_candidate("a", "C204 x", tau=0.005), _outcome(-50.0, 50.0))
    random = (_candidate("b", "random fix", tau=0.1), _outcome(-10.0, 50.0))
    asked = (_candidate("c", "asked for", tau=0.2), _outcome(-5.0, 50.0))
    assert _choose(diagnosed, random, asked) == "a"
    assert _choose(random, asked) == "c"
    assert _choose(diagnosed, (_candidate("d", "C201 y", tau=0.3), _outcome(-20.0, 50.0))) == "d"


def test_a_fix_that_keeps_the_task_comes_before_one_that_changes_it() -> None:
    keeps = (_candidate("a", "C204 x", tau=0.005), _outcome(-50.0, 50.0))
    changes = _candidate("b", "C208 y", environment__settings__penalty=75.0)
    longer = _candidate("c", "C208 y", environment__settings__penalty=150.0)
    assert _choose(keeps, (changes, _outcome(-100.0, 900.0))) == "a"
    assert _choose((changes, _outcome(-100.0, 900.0)), (longer, _outcome(-100.0, 950.0))) == "c"


def test_nothing_is_chosen_that_did_not_help() -> None:
    assert _choose((_candidate("a", "C204 x", tau=0.005), _outcome(-99.0, 50.0))) is None


def test_a_change_that_does_no_better_than_the_placebo_is_not_chosen() -> None:
    placebo = _candidate(PLACEBO, "placebo", seed=900)
    fix = _candidate("a", "C204 x", tau=0.005)
    assert _choose((fix, _outcome(-50.0, 50.0)), (placebo, _outcome(-98.0, 50.0))) == "a"
    assert _choose((fix, _outcome(-50.0, 50.0)), (placebo, _outcome(-52.0, 50.0))) is None
    assert _choose((placebo, _outcome(-1.0, 50.0))) is None


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--seeds", "2"], "chance alone looks like a proof"),
        (["--also", "batch_sizes=3"], "Did you mean 'batch_size'"),
    ],
)
def test_a_rescue_that_could_prove_nothing_is_refused_before_it_trains(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "out"
    assert main(["rescue", "ddpg/pendulum", "--output", str(output), *arguments]) == 2
    assert said in capsys.readouterr().err
    assert not (output / "original").exists()


def test_a_trial_is_not_repeated_and_a_cut_off_one_is_resumed(
    small_config: Make, tmp_path: Path
) -> None:
    config = small_config()
    trial = Trial(name="t", config=config, directory=tmp_path / "t")
    run_trial(trial)
    before = (tmp_path / "t" / "steps.jsonl").stat().st_mtime_ns
    run_trial(trial)
    assert (tmp_path / "t" / "steps.jsonl").stat().st_mtime_ns == before
    (tmp_path / "t" / "summary.json").unlink()
    run_trial(trial)
    assert read_outcome("t", tmp_path / "t").status == "finished"
    kinds = [event["event"] for event in RunReader.open(tmp_path / "t").events()]
    assert "resumed" in kinds


def test_a_finished_trial_of_another_config_is_set_aside_and_run_anew(
    small_config: Make, tmp_path: Path
) -> None:
    quick = Trial(name="t", config=small_config(), directory=tmp_path / "t")
    run_trial(quick)
    full = Trial(name="t", config=small_config(total_env_steps=400), directory=tmp_path / "t")
    assert is_done(quick)
    assert not is_done(full)
    run_trial(full)
    assert read_outcome("t", tmp_path / "t").taken == 400
    assert (tmp_path / "t-abandoned-1" / "summary.json").exists()


def test_a_fork_with_other_changes_is_set_aside_and_run_anew(
    small_config: Make, tmp_path: Path
) -> None:
    run_trial(Trial(name="o", config=small_config(), directory=tmp_path / "o"))

    def fork(rate: float) -> Trial:
        return Trial(
            name="f",
            config=small_config(learning_rate=rate),
            directory=tmp_path / "f",
            source=tmp_path / "o",
            step=max(RunReader.open(tmp_path / "o").checkpoints.steps()),
            changes={"learning_rate": rate, "total_env_steps": 360},
        )

    run_trial(fork(1e-3))
    assert is_done(fork(1e-3))
    assert not is_done(fork(2e-3))
    run_trial(fork(2e-3))
    assert is_done(fork(2e-3))


def test_a_diverged_run_is_an_outcome(small_config: Make, tmp_path: Path) -> None:
    config = small_config(learning_rate=1e30, learning_starts=100)
    run_trial(Trial(name="t", config=config, directory=tmp_path / "t"))
    outcome = read_outcome("t", tmp_path / "t")
    assert (outcome.status, outcome.severe, outcome.healthy) == ("diverged", ("D001",), False)


def test_a_healthy_run_needs_no_rescue(small_config: Make, tmp_path: Path) -> None:
    result = rescue(small_config(), tmp_path / "rescue")
    assert result.status == "healthy"
    assert json.loads((tmp_path / "rescue" / "rescue.json").read_text())["tried"] == []


def test_a_frozen_target_is_rescued_and_the_fix_is_proved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With tau = 0 the future counts for nothing: named, tau restored, fresh seeds agree.

    The effect is gross: returns of -17 to -20 with it and of -0.3 to -1.2 without; even after half
    of the steps six fresh seeds had -15 to -26 and -2 to -6.
    """
    config = load_config(
        "ddpg/pendulum",
        {
            "environment.id": "test/Investment-v0",
            "tau": 0.0,
            "total_env_steps": 1000,
            "log_every": 25,
            "batch_size": 32,
            "hidden_sizes": [32, 32],
            "learning_starts": 100,
            "learning_rate": 3e-3,
            "evaluation.every": 100,
            "evaluation.episodes": 2,
            "checkpoints.every": 100,
        },
    )
    file = tmp_path / "sick.yaml"
    file.write_text(config.to_yaml())
    command = ["rescue", str(file), "--output", str(tmp_path / "out"), "--seeds", "3"]
    assert main([*command, "--workers", "1", "--json", "--also", "batch_size=64"]) == 0
    story = json.loads(capsys.readouterr().out)
    assert story["status"] == "verified"
    assert story["diagnoses"][0]["cause"] == "C204"
    assert story["chosen"]["changes"] == {"tau": 0.005}
    origins = {row["origin"]: row["helped"] for row in story["tried"]}
    assert origins["asked for"] is False
    assert {"random fix", "placebo"} <= origins.keys()
    assert (story["measure"], story["p_value"]) == ("return", pytest.approx(0.05))
    told = [story["control"], *story["tried"], *(row["after"] for row in story["verified"])]
    assert {row["run"] for row in told} <= {path.name for path in (tmp_path / "out").iterdir()}
    rescued = (tmp_path / "out" / "rescued.yaml").read_text()
    assert "#   tau: 0.0 -> 0.005" in rescued
    assert load_config(tmp_path / "out" / "rescued.yaml") == config.replaced({"tau": 0.005})
    page = page_data(tmp_path / "out" / "report.html")
    (proof,) = [block for block in page["blocks"] if block["type"] == "proof"]
    assert [branch["kind"] for branch in proof["fresh"]] == ["before", "after"]
    assert proof["measure"] == "return"
    # A second start finds everything done, and tries what is asked for only now.
    assert main([*command, "--workers", "1", "--json", "--also", "batch_size=48"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["status"] == "verified"
    assert [row["name"] for row in again["tried"] if row["origin"] == "asked for"] == [
        "batch_size=48"
    ]


@pytest.mark.slow
def test_the_documented_collapse_is_rescued_and_the_batch_size_was_not_the_cause(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["rescue", "ddpg/document", "--output", str(tmp_path), "--seeds", "3", "--json"]
    assert main([*command, "--also", "batch_size=1024"]) == 0
    story = json.loads(capsys.readouterr().out)
    assert story["diagnoses"][0]["cause"] == "C208"
    assert "environment.settings.termination_penalty" in story["chosen"]["changes"]
    asked = next(row for row in story["tried"] if row["origin"] == "asked for")
    assert not asked["helped"]
