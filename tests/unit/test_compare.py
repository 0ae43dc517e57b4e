"""Comparisons and studies: pairing, early stopping, steadiness figures, declared rules."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steadyrl.cli.compare import load_variant
from steadyrl.cli.main import main
from steadyrl.core.configs import load_config
from steadyrl.core.configs.ddpg import DDPGConfig
from steadyrl.core.errors import ConfigError
from steadyrl.experiments import compare as compare_module
from steadyrl.experiments.compare import Comparison, compare, judge_arms
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
from steadyrl.experiments.studies.study import page
from steadyrl.experiments.trials import Outcome, Trial
from steadyrl.store.run_directory import RunDirectory

Make = Callable[..., DDPGConfig]


def history(returns: Sequence[float], *, seed: int = 0, status: str = "finished") -> History:
    return History(
        seed=seed,
        env_steps=np.arange(100.0, 100.0 * len(returns) + 1, 100.0),
        returns=np.array(returns, dtype=float),
        final=float(np.mean(returns[-3:])),
        status=status,
        severe=(),
        seconds=2.0,
        total_env_steps=100 * len(returns),
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
    noise = [0.0, 3.0, -2.0, 1.0, -1.0][:seeds]
    first = [history([0.0, 5.0, 9.0, 10.0 + n], seed=i) for i, n in enumerate(noise)]
    second = [history([0.0, 5.0, 9.0, 10.0 + n + better], seed=i) for i, n in enumerate(noise)]
    second.reverse()  # runs finish in any order; pairing must go by seed
    return judge_arms({"first": first, "second": second}, threshold=None, level=0.95)


def test_arms_are_paired_by_seed() -> None:
    (contrast,) = _arms(better=0.9, seeds=5).contrasts
    assert contrast.clear
    assert contrast.difference.value == pytest.approx(0.3)
    assert (contrast.difference.low, contrast.difference.high) == pytest.approx((0.3, 0.3))


def test_a_run_that_did_not_finish_counts_as_the_worst_that_was_seen() -> None:
    fine = [history([0.0, 5.0, 10.0, 10.0], seed=i) for i in range(5)]
    torn = [history([-3.0, 5.0, 50.0, 50.0], seed=i, status="diverged") for i in range(5)]
    result = judge_arms({"fine": fine, "torn": torn}, threshold=None, level=0.95)
    (contrast,) = result.contrasts
    # Its last evaluations were the best of all, but it has no final return.
    assert contrast.difference.high < 0


def test_equal_arms_are_not_decided() -> None:
    result = _arms(better=0.0, seeds=5)
    assert not result.contrasts[0].clear
    assert result.contrasts[0].improvement.value == pytest.approx(0.5)
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
            return history([0.0, outcome.final_return], seed=outcome.env_steps)

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
    assert len(begun) == 6  # three seeds of each
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
    result = compare({"a": small_config(), "b": small_config()}, tmp_path, seeds=6)
    assert len(begun) == 12
    assert result.level == pytest.approx(1 - 0.05 / 4)


@pytest.mark.parametrize(
    ("second", "seeds", "complaint"),
    [
        ({"environment__id": "MountainCarContinuous-v0"}, 3, "different environments"),
        ({"tau": 0.1}, 1, "one seed has no spread"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    second: dict[str, Any], seeds: int, complaint: str, small_config: Make, tmp_path: Path
) -> None:
    configs = {"a": small_config(), "b": small_config(**second)}
    with pytest.raises(ConfigError, match=complaint):
        compare(configs, tmp_path, seeds=seeds)


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
    assert all(arm["env_steps"] == 300 for arm in result["arms"])
    assert len(result["arms"][0]["curve"]["value"]) == 60
    assert "P(better)" in Path(result["report"]).read_text()


def test_c1_is_decided_by_collapse_rates() -> None:
    def rates(*values: float) -> dict[tuple[str, int], float]:
        keys = [("a", 1024), ("a", 4096), ("b", 1024), ("b", 4096)]
        return dict(zip(keys, values, strict=True))

    assert c1_large_batch.decide(rates(0, 1, 0.2, 0.8))[0] == "confirmed"
    assert c1_large_batch.decide(rates(0, 1, 0, 0))[0] == "depends on"
    assert c1_large_batch.decide(rates(1, 1, 0, 0))[0] == "refuted"


def test_c8_is_decided_by_late_searches() -> None:
    def successes(*costs: float) -> dict[str, float]:
        found: dict[str, float] = {}
        for weight, cost in zip(c8_objective_mismatch.WEIGHTS, costs, strict=True):
            found |= {f"{weight:g} one objective": 1.0, f"{weight:g} two objectives": 1.0 - cost}
        return found

    assert c8_objective_mismatch.decide(successes(0.5, 0, 0, 0))[0] == "confirmed"
    assert c8_objective_mismatch.decide(successes(0, 0.1, 0.5, 0))[0] == "depends on"
    assert c8_objective_mismatch.decide(successes(0.1, 0, 0, 0))[0] == "refuted"


def test_c9_is_decided_by_paired_differences() -> None:
    better, equal, worse = (5.0, 1.0, 9.0), (0.0, -1.0, 1.0), (-5.0, -9.0, -1.0)
    assert c9_two_versions.decide({"a": better, "b": better})[0] == "confirmed"
    assert c9_two_versions.decide({"a": better, "b": equal})[0] == "depends on"
    verdict, because = c9_two_versions.decide({"a": worse, "b": equal})
    assert verdict == "refuted"
    assert "worse on a" in because


def test_c10_is_decided_by_what_removes_the_jumps() -> None:
    def counts(documented: float, small: float, full: float, floor: float) -> dict[str, float]:
        found = dict.fromkeys(c10_loss_jump.ARMS, 0.0)
        found[c10_loss_jump.DOCUMENTED] = documented
        found[c10_loss_jump.SMALL] = found["five trajectories (12 %)"] = small
        found[c10_loss_jump.FULL] = full
        found[c10_loss_jump.FLOOR] = found[c10_loss_jump.FULL_FLOOR] = floor
        return found

    assert c10_loss_jump.decide(counts(20, 5, 30, 0))[0] == "refuted"
    assert c10_loss_jump.decide(counts(20, 0, 30, 0))[0] == "depends on"
    assert c10_loss_jump.decide(counts(20, 0, 30, 15))[0] == "confirmed"
    assert c10_loss_jump.decide(counts(0, 0, 0, 0))[0] == "refuted"


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
        steps = list(RunDirectory.open(directory).steps())
        gains[mismatched] = [step.signals["trpo.improvement"] for step in steps]
        assert 0.0 <= c8_objective_mismatch.late(directory)["success"] <= 1.0
    assert gains[True] != gains[False]


def test_c2_is_decided_by_what_heals() -> None:
    none = dict.fromkeys(c2_what_drives_it.FACTORS, 0.0)
    assert c2_what_drives_it.decide(none)[0] == "refuted"
    assert c2_what_drives_it.decide({**none, "batch 64": 1.0})[0] == "confirmed"
    assert c2_what_drives_it.decide({**none, "tau 0.05": 1.0})[0] == "refuted"
    both = {**none, "batch 64": 1.0, "tau 0.05": 1.0}
    assert c2_what_drives_it.decide(both)[0] == "depends on"


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
    assert found["verdict"] in ("confirmed", "refuted", "depends on")
    assert len(found["rows"]) == 4
    text = (tmp_path / "page.md").read_text()
    assert text == page(STUDIES["C3"], found)
    assert "Rule, declared beforehand" in text


def test_an_unknown_study_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["study", "C99"]) == 2
    assert "Use one of: C1, C2, C3" in capsys.readouterr().err
