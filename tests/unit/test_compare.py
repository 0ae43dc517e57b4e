"""Comparisons and studies: pairing, early stopping, steadiness figures, declared rules."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steadyrl.algorithms.ddpg.config import DDPGConfig
from steadyrl.cli.compare import load_variant
from steadyrl.cli.main import main
from steadyrl.core.errors import ConfigError
from steadyrl.core.presets import load_config
from steadyrl.experiments import compare as compare_module
from steadyrl.experiments.compare import Comparison, compare, judge_arms, planned_test, too_few
from steadyrl.experiments.history import History
from steadyrl.experiments.studies import (
    STUDIES,
    c1_large_batch,
    c2_what_drives_it,
    c8_objective_mismatch,
    c9_two_versions,
    c10_loss_jump,
)
from steadyrl.experiments.studies.c3_gradient_variance import decide as decide_c3
from steadyrl.experiments.studies.study import page, together
from steadyrl.experiments.trials import Outcome, Trial
from steadyrl.maths.statistics import Estimate
from steadyrl.store.reader import RunReader

Make = Callable[..., DDPGConfig]


def history(returns: Sequence[float], *, seed: int = 0, status: str = "finished") -> History:
    return History(
        seed=seed,
        taken=np.arange(100.0, 100.0 * len(returns) + 1, 100.0),
        returns=np.array(returns, dtype=float),
        final=float(np.mean(returns[-3:])),
        status=status,
        severe=(),
        seconds=2.0,
        total=100 * len(returns),
        path="run",
    )


def test_steadiness_by_hand() -> None:
    run = history([0.0, 10.0, 4.0, 8.0, 8.0, 8.0])
    assert run.drawdown == pytest.approx(0.6)
    assert not run.collapsed
    assert run.reached(8.0) == 200.0
    assert run.reached(11.0) == math.inf


@pytest.mark.parametrize(
    ("returns", "status", "collapsed"),
    [
        ([0.0, 10.0, 10.0, 1.0, 1.0, 1.0], "finished", True),
        ([0.0, 10.0, 10.0, 9.0, 9.0, 9.0], "finished", False),
        ([0.0, 10.0, 10.0, 10.0], "diverged", True),
    ],
)
def test_a_collapse_is_most_of_the_gain_lost(
    returns: list[float], status: str, collapsed: bool
) -> None:
    assert history(returns, status=status).collapsed is collapsed


def _arms(better: float, seeds: int) -> Comparison:
    noise = [0.0, 3.0, -2.0, 1.0, -1.0, 2.0][:seeds]
    first = [history([0.0, 5.0, 9.0, 10.0 + n], seed=i) for i, n in enumerate(noise)]
    second = [history([0.0, 5.0, 9.0, 10.0 + n + better], seed=i) for i, n in enumerate(noise)]
    second.reverse()  # runs finish in any order; pairing must go by seed
    test = planned_test(seeds, contrasts=1, stop_early=False)
    return judge_arms({"first": first, "second": second}, threshold=None, test=test)


def test_arms_are_paired_by_seed() -> None:
    result = _arms(better=0.9, seeds=6)
    (contrast,) = result.contrasts
    assert contrast.clear
    assert result.message.startswith("second is better than first (p = 0.031, wins ")
    assert contrast.p_value == pytest.approx(2 / 64)
    assert contrast.difference.value == pytest.approx(0.3)
    assert (contrast.difference.low, contrast.difference.high) == pytest.approx((0.3, 0.3))


def test_five_seeds_can_make_nothing_clear_and_that_is_said_before_they_are_run() -> None:
    (contrast,) = _arms(better=0.9, seeds=5).contrasts
    assert not contrast.clear
    for seeds, contrasts, said in ((5, 1, "use 8"), (6, 1, None), (7, 4, "use 10"), (8, 4, None)):
        test = planned_test(seeds, contrasts=contrasts, stop_early=True)
        hint = too_few(seeds, test)
        assert (hint is None) if said is None else (hint is not None and said in hint)


def test_several_contrasts_share_the_error_rate() -> None:
    assert planned_test(8, contrasts=1, stop_early=False).error_rate == 0.05
    assert planned_test(8, contrasts=5, stop_early=False).error_rate == pytest.approx(0.01)
    assert planned_test(10, contrasts=1, stop_early=True).looks == (6, 7, 8, 9, 10)
    assert planned_test(10, contrasts=1, stop_early=False).looks == (10,)
    assert planned_test(4, contrasts=1, stop_early=True).looks == (4,)


def test_a_run_that_did_not_finish_counts_as_the_worst_that_was_seen() -> None:
    fine = [history([0.0, 5.0, 10.0, 10.0], seed=i) for i in range(6)]
    torn = [history([-3.0, 5.0, 50.0, 50.0], seed=i, status="diverged") for i in range(6)]
    test = planned_test(6, contrasts=1, stop_early=False)
    result = judge_arms({"fine": fine, "torn": torn}, threshold=None, test=test)
    (contrast,) = result.contrasts
    # Its last evaluations were the best of all, but it has no final return.
    assert contrast.difference.value == pytest.approx(-3.0 - 25 / 3)
    assert "torn is worse than fine" in result.message


def test_figures_of_an_arm_by_hand() -> None:
    runs = [history([0.0, 10.0 * i, 10.0 * i, 10.0 * i], seed=i) for i in range(1, 5)]
    runs.append(history([0.0, 90.0, 90.0, 0.0, 0.0, 0.0], seed=5))
    test = planned_test(5, contrasts=1, stop_early=False)
    arm = judge_arms({"a": runs, "b": runs}, threshold=20.0, test=test).arms[0]
    assert (arm.seeds, arm.collapse_rate, arm.sick_rate) == (5, 0.2, 0.0)
    assert (arm.final.low, arm.final.high, arm.seed_spread) == (10.0, 30.0, 20.0)
    assert arm.worst_drawdown == pytest.approx(1.0)
    assert arm.time_to_threshold == 200.0  # of the middle run; one never gets there
    assert arm.taken == 440
    assert arm.curve["taken"][0] == 100.0
    assert arm.curve["taken"][-1] == 400.0
    assert arm.curve["value"][0] == 0.0


def test_the_threshold_is_most_of_the_way_to_the_best_arm() -> None:
    low = [history([0.0, 10.0, 10.0, 10.0], seed=i) for i in range(3)]
    high = [history([0.0, 100.0, 100.0, 100.0], seed=i) for i in range(3)]
    test = planned_test(3, contrasts=1, stop_early=False)
    assert judge_arms({"a": low, "b": high}, threshold=None, test=test).threshold == 80.0
    assert judge_arms({"a": low, "b": high}, threshold=7.0, test=test).threshold == 7.0


def test_equal_arms_are_not_decided() -> None:
    result = _arms(better=0.0, seeds=5)
    assert not result.contrasts[0].clear
    assert result.contrasts[0].improvement == pytest.approx(0.5)
    assert "not decided" in result.message


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Trial], float]], list[str]]:
    """Trials with a final return that a test chooses; gives the names of those that were run."""

    def install(play: Callable[[Trial], float]) -> list[str]:
        begun: list[str] = []

        def run_trials(trials: Sequence[Trial], executor: Any) -> Iterator[Outcome]:
            for trial in trials:
                begun.append(trial.name)
                yield Outcome(
                    trial.name, trial.directory, "finished", (), play(trial), 1.0, trial.config.seed
                )

        def read_history(outcome: Outcome) -> History:
            return history([0.0, outcome.final_return], seed=outcome.taken)

        monkeypatch.setattr(compare_module, "run_trials", run_trials)
        monkeypatch.setattr(compare_module, "read_history", read_history)
        return begun

    return install


def test_a_clear_answer_saves_the_other_seeds(
    small_config: Make, tmp_path: Path, played: Any
) -> None:
    begun = played(
        lambda trial: 10.0 if trial.name.startswith("b") else 1.0 + trial.config.seed / 9
    )
    result = compare({"a": small_config(), "b": small_config()}, tmp_path, seeds=8)
    assert len(begun) == 12  # six seeds of each
    assert result.contrasts[0].clear
    assert "b is better than a" in result.message


def test_a_comparison_names_its_runs_from_its_own_folder(
    small_config: Make, tmp_path: Path, played: Any
) -> None:
    played(lambda trial: float(trial.config.seed))
    compare({"a": small_config(), "b": small_config()}, tmp_path, seeds=2)
    arms = json.loads((tmp_path / "compare.json").read_text())["arms"]
    assert [arm["runs"] for arm in arms] == [["a/seed0", "a/seed1"], ["b/seed0", "b/seed1"]]


def test_an_open_answer_takes_all_seeds_and_looks_are_paid_for(
    small_config: Make, tmp_path: Path, played: Any
) -> None:
    begun = played(lambda trial: float((trial.config.seed * 7 + ord(trial.name[0]) * 5) % 11))
    result = compare({"a": small_config(), "b": small_config()}, tmp_path, seeds=8)
    assert len(begun) == 16
    assert not result.contrasts[0].clear
    assert result.contrasts[0].allowed == pytest.approx(0.05)


def test_more_seeds_after_a_look_are_told_as_what_they_are(
    small_config: Make, tmp_path: Path, played: Any
) -> None:
    played(lambda trial: float((trial.config.seed * 7 + ord(trial.name[0]) * 5) % 11))
    configs = {"a": small_config(), "b": small_config()}
    for seeds in (6, 6):  # going on with the same plan is no new one
        assert "planned" not in compare(configs, tmp_path, seeds=seeds).message
    assert "6 then 8 seeds planned" in compare(configs, tmp_path, seeds=8).message
    assert "6 then 8 seeds planned" in compare(configs, tmp_path, seeds=8).message


def test_all_seeds_are_run_if_nobody_may_look_before(
    small_config: Make, tmp_path: Path, played: Any
) -> None:
    begun = played(lambda trial: 10.0 if trial.name.startswith("b") else 1.0)
    configs = {"a": small_config(), "b": small_config()}
    result = compare(configs, tmp_path, seeds=8, stop_early=False)
    assert len(begun) == 16
    assert result.contrasts[0].p_value == pytest.approx(2 / 2**8)


def test_equal_configs_are_called_different_in_at_most_a_twentieth_of_comparisons(
    small_config: Make, tmp_path: Path, played: Any
) -> None:
    generator = np.random.default_rng(0)
    played(lambda trial: float(generator.normal()))
    configs = {"a": small_config(), "b": small_config()}
    trials = 150
    clear = sum(compare(configs, tmp_path, seeds=7).contrasts[0].clear for _ in range(trials))
    assert clear / trials <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / trials)


@pytest.mark.parametrize(
    ("second", "seeds", "complaint"),
    [
        ({"environment__id": "MountainCarContinuous-v0"}, 3, "different environments"),
        ({"tau": 0.1}, 1, "one seed has no spread"),
        ({"evaluation__every": 10_000}, 3, "would end before its first evaluation"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    second: dict[str, Any], seeds: int, complaint: str, small_config: Make, tmp_path: Path
) -> None:
    configs = {"a": small_config(), "b": small_config(**second)}
    with pytest.raises(ConfigError, match=complaint):
        compare(configs, tmp_path, seeds=seeds)


@pytest.mark.parametrize(
    ("count", "episodes", "complaint"),
    [(1, 2, "at least two different configs"), (2, 0, "without evaluations nothing can be")],
)
def test_without_something_to_compare_nothing_is_run(
    count: int, episodes: int, complaint: str, small_config: Make, tmp_path: Path, played: Any
) -> None:
    begun = played(lambda trial: 1.0)
    configs = {name: small_config(evaluation__episodes=episodes) for name in "ab"[:count]}
    with pytest.raises(ConfigError, match=complaint):
        compare(configs, tmp_path, seeds=3)
    assert begun == []


@pytest.mark.parametrize(("seeds", "hinted"), [(5, True), (6, False)])
def test_the_hint_about_too_few_seeds_is_given_before_anything_else(
    seeds: int, hinted: bool, small_config: Make, tmp_path: Path, played: Any
) -> None:
    played(lambda trial: 10.0 * (trial.name[0] == "b") + trial.config.seed)
    said: list[str] = []
    configs = {"a": small_config(), "b": small_config()}
    result = compare(configs, tmp_path / "a" / "b", seeds=seeds, say=said.append)
    assert ("no answer can be clear" in said[0]) is hinted
    assert (said[hinted], said[-1]) == (
        "  a seed 0: return 0, finished",
        f"{seeds} seeds: {result.message}",
    )
    written = json.loads((tmp_path / "a" / "b" / "compare.json").read_text())
    assert written["message"] == result.message


def test_the_seeds_of_a_comparison_begin_with_the_configs_own(
    small_config: Make, tmp_path: Path, played: Any
) -> None:
    begun = played(lambda trial: 1.0)
    compare({"a": small_config(seed=5), "b": small_config(seed=5)}, tmp_path, seeds=3)
    assert begun == [f"{name} seed {seed}" for seed in (5, 6, 7) for name in "ab"]


def test_runs_without_an_evaluation_have_no_curve_and_no_threshold() -> None:
    def empty(seed: int) -> History:
        nothing = np.empty(0)
        return replace(
            history([1.0], seed=seed, status="diverged"),
            taken=nothing, returns=nothing, final=math.nan,
        )  # fmt: skip

    test = planned_test(3, contrasts=1, stop_early=False)
    dead = [empty(seed) for seed in range(3)]
    nothing = judge_arms({"a": dead, "b": dead}, threshold=None, test=test)
    assert math.isnan(nothing.threshold)
    assert nothing.arms[0].curve == {"taken": [], "value": [], "low": [], "high": []}
    assert (nothing.arms[0].final.value, nothing.arms[0].area.value) == (0.0, 0.0)
    assert math.isnan(nothing.arms[0].worst_drawdown)
    # Beside runs that were evaluated, one that was not counts as the worst.
    alive = [history([4.0, 20.0, 20.0, 20.0, 20.0], seed=seed) for seed in range(3)]
    mixed = judge_arms({"a": alive, "b": [empty(0), *alive[1:]]}, threshold=None, test=test)
    assert mixed.threshold == pytest.approx(4.0 + 0.8 * 16.0)
    assert mixed.contrasts[0].difference.value == pytest.approx((4.0 - 20.0) / 3)
    assert mixed.arms[1].curve["value"][-1] == 20.0
    assert mixed.arms[1].area.value == pytest.approx(alive[0].returns.mean())


def test_runs_of_other_lengths_are_said_to_be_and_one_evaluation_is_a_point() -> None:
    short = [history([float(n)], seed=n) for n in range(6)]
    long = [history([5.0, 6.0, 7.0 + n], seed=n) for n in range(6)]
    test = planned_test(6, contrasts=1, stop_early=False)
    result = judge_arms({"long": long, "short": short}, threshold=None, test=test)
    assert "but with 0.33 times the steps" in result.message
    assert result.arms[1].curve["taken"] == [100.0]
    assert "times the steps" not in _arms(0.0, 6).message


def test_a_curve_covers_what_all_runs_were_evaluated_on() -> None:
    early = history([0.0, 10.0, 20.0, 30.0])
    late = replace(history([5.0, 5.0, 5.0], seed=1), taken=np.array([200.0, 300.0, 600.0]))
    test = planned_test(2, contrasts=1, stop_early=False)
    arm = judge_arms({"a": [early, late], "b": [early, late]}, threshold=1.0, test=test).arms[0]
    grid = arm.curve["taken"]
    assert (grid[0], grid[-1], len(grid)) == (200.0, 400.0, 60)
    assert (arm.curve["low"][0], arm.curve["high"][0]) == (6.25, 8.75)


def test_sick_runs_are_counted_and_costs_are_means() -> None:
    runs = [replace(history([0.0, 1.0], seed=seed), seconds=float(seed)) for seed in range(4)]
    runs[0] = replace(runs[0], severe=("D005", "D009"))
    test = planned_test(4, contrasts=1, stop_early=False)
    arm = judge_arms({"a": runs, "b": runs}, threshold=1.0, test=test).arms[0]
    assert (arm.sick_rate, arm.seconds, arm.taken) == (0.25, 1.5, 200)


def test_a_variant_is_a_config_with_settings_changed() -> None:
    config = load_variant("ddpg/pendulum+batch_size=64+twin_critics=true", {"seed": 4})
    assert isinstance(config, DDPGConfig)
    assert (config.batch_size, config.twin_critics, config.seed) == (64, True, 4)


def test_the_command_compares_and_reports(
    small_config: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "small.yaml"
    file.write_text(small_config().to_yaml())
    asked = ["compare", str(file), f"{file}+learning_rate=1e-2", "--seeds", "2", "--workers", "1",
             "--output", str(tmp_path / "out"), "--json"]  # fmt: skip
    assert main(asked) == 0
    result = json.loads(capsys.readouterr().out)
    assert [arm["seeds"] for arm in result["arms"]] == [2, 2]
    assert all(arm["taken"] == 300 for arm in result["arms"])
    assert len(result["arms"][0]["curve"]["value"]) == 60
    assert result["contrasts"][0]["clear"] is False
    assert result["contrasts"][0]["difference"]["low"] is None
    assert "pairs won" in Path(result["report"]).read_text()


def test_c1_is_decided_by_collapse_rates() -> None:
    def runs(*collapsed: int) -> dict[tuple[str, int], list[bool]]:
        keys = [("a", 1024), ("a", 4096), ("b", 1024), ("b", 4096)]
        found = zip(keys, collapsed, strict=True)
        return {key: [True] * count + [False] * (6 - count) for key, count in found}

    assert c1_large_batch.decide(runs(0, 6, 1, 6))[0] == "confirmed"
    assert c1_large_batch.decide(runs(0, 6, 0, 0))[0] == "depends on"
    assert c1_large_batch.decide(runs(6, 6, 0, 0))[0] == "refuted"
    assert c1_large_batch.decide(runs(0, 6, 0, 4))[0] == "not decided"
    few = {key: found[:2] for key, found in runs(0, 6, 0, 6).items()}
    assert c1_large_batch.decide(few)[0] == "not decided"


def test_c8_is_decided_by_late_searches() -> None:
    def successes(*costs: float, spread: float = 0.0, seeds: int = 6) -> dict[str, list[float]]:
        found: dict[str, list[float]] = {}
        for weight, cost in zip(c8_objective_mismatch.WEIGHTS, costs, strict=True):
            found[f"{weight:g} one objective"] = [1.0] * seeds
            found[f"{weight:g} two objectives"] = [
                1.0 - cost + spread * (-1) ** seed for seed in range(seeds)
            ]
        return found

    assert c8_objective_mismatch.decide(successes(0.5, 0, 0, 0))[0] == "confirmed"
    assert c8_objective_mismatch.decide(successes(0, 0.1, 0.5, 0))[0] == "depends on"
    assert c8_objective_mismatch.decide(successes(0.1, 0, 0, 0))[0] == "refuted"
    assert c8_objective_mismatch.decide(successes(0.25, 0, 0, 0, spread=0.1))[0] == "not decided"
    assert c8_objective_mismatch.decide(successes(0.5, 0, 0, 0, seeds=3))[0] == "not decided"


def test_c9_is_decided_by_paired_differences() -> None:
    better, equal, worse = Estimate(5, 1, 9), Estimate(0, -1, 1), Estimate(-5, -9, -1)
    assert c9_two_versions.decide({"a": better, "b": better})[0] == "confirmed"
    assert c9_two_versions.decide({"a": better, "b": equal})[0] == "depends on"
    assert c9_two_versions.decide({"a": equal, "b": equal})[0] == "not decided"
    verdict, because = c9_two_versions.decide({"a": worse, "b": equal})
    assert verdict == "refuted"
    assert "worse on a" in because


def test_c10_is_decided_by_what_removes_the_jumps() -> None:
    def counts(documented: float, small: float, full: float, floor: float) -> dict[str, Estimate]:
        def sure(value: float) -> Estimate:
            return Estimate(value, value, value)

        found = dict.fromkeys(c10_loss_jump.ARMS, sure(0.0))
        found[c10_loss_jump.DOCUMENTED] = sure(documented)
        found |= dict.fromkeys(c10_loss_jump.BY_BATCH, sure(small))
        found[c10_loss_jump.FULL] = sure(full)
        return found | dict.fromkeys(c10_loss_jump.BY_FLOOR, sure(floor))

    assert c10_loss_jump.decide(counts(20, 5, 30, 0))[0] == "refuted"
    assert c10_loss_jump.decide(counts(20, 0, 30, 0))[0] == "depends on"
    assert c10_loss_jump.decide(counts(20, 0, 30, 15))[0] == "confirmed"
    assert c10_loss_jump.decide(counts(0, 0, 0, 0))[0] == "refuted"
    unsure = {**counts(20, 5, 30, 0), c10_loss_jump.FLOOR: Estimate(0.0, 0.0, 3.0)}
    assert c10_loss_jump.decide(unsure)[0] == "not decided"


def test_c8_substitutes_the_line_searchs_objective_and_only_then(tmp_path: Path) -> None:
    config = load_config(
        "trpo/v1-cartpole",
        {"entropy_weight": 2.0, "total_env_steps": 4096, "rollout_length": 512},
    )
    gains = {}
    for mismatched in (False, True):
        directory = tmp_path / str(mismatched)
        trial = c8_objective_mismatch.SearchTrial(
            name="x", config=config, directory=directory, mismatched=mismatched
        )
        c8_objective_mismatch.run_search_trial(trial)
        steps = list(RunReader.open(directory).steps())
        gains[mismatched] = [step.signals["trpo.improvement"] for step in steps]
        assert 0.0 <= c8_objective_mismatch.late(directory)["success"] <= 1.0
    assert gains[True] != gains[False]


def test_c2_is_decided_by_what_heals() -> None:
    def healed(**counts: int) -> dict[str, list[bool]]:
        found = {factor: [False] * 6 for factor in c2_what_drives_it.FACTORS}
        names = {"batch": "batch 64", "tau": "tau 0.05"}
        for name, count in counts.items():
            found[names[name]] = [True] * count + [False] * (6 - count)
        return found

    assert c2_what_drives_it.decide(healed())[0] == "refuted"
    assert c2_what_drives_it.decide(healed(batch=6))[0] == "confirmed"
    assert c2_what_drives_it.decide(healed(tau=6))[0] == "refuted"
    assert c2_what_drives_it.decide(healed(batch=6, tau=6))[0] == "depends on"
    assert c2_what_drives_it.decide(healed(batch=4))[0] == "not decided"


def test_a_claim_is_only_as_decided_as_its_parts() -> None:
    assert together(["yes", "yes"]) == "confirmed"
    assert together(["yes", "no"]) == "depends on"
    assert together(["no", "no"]) == "refuted"
    assert together(["yes", "open"]) == "not decided"


def test_c3_is_decided_by_intervals_that_hold_eight() -> None:
    means = {"drawn": 8.0, "trajectory": 3.0}
    assert decide_c3({"drawn": 0.9, "trajectory": 0.9}, means)[0] == "confirmed"
    assert decide_c3({"drawn": 0.9, "trajectory": 0.1}, means)[0] == "depends on"
    assert decide_c3({"drawn": 0.1, "trajectory": 0.9}, means)[0] == "refuted"


def test_a_study_runs_and_writes_its_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["study", "c3", "--quick", "--seeds", "1", "--workers", "1", "--output", str(tmp_path)]
    assert main([*asked, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["verdict"] in ("confirmed", "refuted", "depends on", "not decided")
    assert len(found["rows"]) == 4
    text = (tmp_path / "page.md").read_text()
    assert text == page(STUDIES["C3"], found)
    assert "Rule, declared beforehand" in text
    asked.remove("--quick")  # a try-out is no beginning of the study itself
    assert main(asked) == 2
    assert "study of another kind" in capsys.readouterr().err


def test_an_unknown_study_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["study", "C99"]) == 2
    assert "Use one of: C1, C2, C3" in capsys.readouterr().err
