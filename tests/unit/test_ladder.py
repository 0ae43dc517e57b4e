"""The progressive test: gates, decisions, what is written, and going on where it stopped."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from steadyrl.algorithms.ddpg.config import DDPGConfig
from steadyrl.cli.main import main
from steadyrl.cli.trial_progress import estimate, steps_taken
from steadyrl.core.errors import ConfigError
from steadyrl.core.presets import load_config
from steadyrl.core.records import RunSummary, Step
from steadyrl.experiments import ladder as ladder_module
from steadyrl.experiments.gates import (
    LOOKS,
    Gate,
    GateSet,
    Measured,
    gate_sets,
    interval,
    load_gates,
)
from steadyrl.experiments.ladder import Ladder, climb
from steadyrl.experiments.rung_evidence import evidence
from steadyrl.experiments.trials import Outcome, Trial, read_outcome
from steadyrl.maths.statistics import Estimate
from steadyrl.store.writer import RunWriter
from tests.unit.pages import page_data

Make = Callable[..., DDPGConfig]


def steps(**signals: Sequence[float]) -> list[Step]:
    """Steps with these signals (`__` for a dot), one value each."""
    names = {name.replace("__", "."): values for name, values in signals.items()}
    count = len(next(iter(names.values())))
    return [
        Step(i + 1, 100 * (i + 1), float(i), {name: values[i] for name, values in names.items()})
        for i in range(count)
    ]


@pytest.mark.parametrize(
    ("low", "high", "answer"),
    [(1, 2, "continue"), (9, 11, "open"), (12, 30, "open"), (60, 70, "retreat"), (40, 60, "open")],
)
def test_a_gate_answers_only_what_the_whole_interval_says(
    low: float, high: float, answer: str
) -> None:
    gate = Gate(measure="final critic.loss", continue_below=10.0, retreat_above=50.0)
    assert gate.answer(Estimate((low + high) / 2, low, high)) == answer


def test_a_gate_without_its_signal_says_so() -> None:
    gate = Gate(measure="final critic.loss", continue_below=10.0)
    assert gate.answer(Estimate(math.nan, math.nan, math.nan)) == "not measured"


def test_measures_mean_what_their_words_say() -> None:
    run = Measured(
        steps(
            critic__loss=[9.0, 9.0, 9.0, 5.0, 1.0, 2.0, 3.0],
            td__target_std=[1.0] * 4 + [2.0, 2.0, 2.0],
            actor__loss=[-4.0] * 7,
        ),
        severe=2,
    )
    assert run.measure("final critic.loss") == 2.0
    assert run.measure("largest critic.loss") == 9.0
    assert run.measure("smallest critic.loss") == 1.0
    assert run.measure("gain critic.loss") == -7.0
    assert run.measure("misfit") == 2.0 / 4.0
    assert run.measure("final |actor.loss|") == 4.0
    small = Measured(steps(critic__loss=[1.0] * 3, td__target_std=[0.5] * 3), severe=0)
    assert small.measure("misfit") == 4.0
    none = Measured(steps(critic__loss=[1.0] * 3, td__target_std=[0.0] * 3), severe=0)
    assert math.isnan(none.measure("misfit"))
    assert run.measure("severe findings") == 2.0
    assert math.isnan(run.measure("final q.mean"))


def test_the_documents_numbers_are_in_its_gate_set() -> None:
    gates = load_gates("document")
    first = {gate.measure: gate for gate in gates.on(first=True)}
    later = {gate.measure: gate for gate in gates.on(first=False)}
    assert first["final critic.loss"].continue_below == 10_000
    assert later["final critic.loss"].continue_below == 20_000
    assert later["final critic.loss"].retreat_above == 50_000
    assert first["final |actor.loss|"].continue_below == 1_000
    assert first["final eval.length_mean"].continue_above == 50
    assert first["gain eval.return_mean"].continue_above == 0
    assert gate_sets() == ["document", "relative"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("gates: [{measure: final critic.lost}]", "measure 'final critic.lost' is not known"),
        ("gates: []", "gates"),
        ("gates: [{measure: misfit, continue_under: 1.0}]", "continue_under"),
    ],
)
def test_wrong_gates_are_refused(text: str, complaint: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=complaint):
        load_gates(str(file))


def test_gates_that_are_not_there_are_refused_with_a_hint() -> None:
    with pytest.raises(ConfigError, match="Did you mean 'relative'"):
        load_gates("relativ")


Play = Callable[[int, int], tuple[list[float], tuple[str, ...], str]]


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> Callable[[Play], None]:
    """Trials that write the runs a test wants instead of training."""

    def install(play: Play) -> None:
        def run_trials(trials: Sequence[Trial], executor: Any) -> Iterator[Outcome]:
            for trial in trials:
                size = int(getattr(trial.config, "batch_size", 0))
                returns, severe, status = play(size, trial.config.seed)
                store = RunWriter.create(trial.directory, trial.config)
                for index, value in enumerate(returns):
                    signals = {
                        "eval.return_mean": value,
                        "eval.length_mean": 100.0,
                        "train.updates": 10.0 * index,
                        "machine.cpu_share": 0.9,
                    }
                    seconds = (index + 1) * size / 100
                    store.append_step(Step(index + 1, 100 * (index + 1), seconds, signals))
                for rule in severe:
                    store.append_event("finding", 1, rule=rule, severity="severe", evidence={},
                                       name="x", message="y", taken=1)  # fmt: skip
                store.write_summary(
                    RunSummary(
                        status=status,  # type: ignore[arg-type]
                        algorithm="ddpg",
                        task="x",
                        seed=trial.config.seed,
                        steps=len(returns),
                        taken=100 * len(returns),
                        seconds=1.0,
                    )
                )
                store.close()
                yield read_outcome(trial.name, trial.directory)

        monkeypatch.setattr(ladder_module, "run_trials", run_trials)

    return install


RISING = [0.0, 20.0, 40.0, 60.0, 80.0, 100.0, 100.0, 100.0]
FLAT = [0.0] * 8


def _climb(config: DDPGConfig, folder: Path, **options: Any) -> Ladder:
    return climb(config, [16, 32, 64], load_gates("relative"), folder, seeds=5, **options)


def _decisions(ladder: Ladder) -> dict[int, str]:
    return {rung.batch_size: rung.decision for rung in ladder.rungs}


def test_good_rungs_are_climbed_and_the_fastest_good_one_is_recommended(
    small_config: Make, tmp_path: Path, played: Callable[[Play], None]
) -> None:
    played(lambda size, seed: (RISING, (), "finished"))
    ladder = _climb(small_config(), tmp_path)
    assert _decisions(ladder) == {16: "climb", 32: "climb", 64: "climb"}
    assert ladder.recommended == 16  # seconds grow with the batch here
    recommended = load_config(str(tmp_path / "recommended.yaml"))
    assert isinstance(recommended, DDPGConfig)
    assert recommended.batch_size == 16


def test_a_ladder_names_its_runs_from_its_own_folder(
    small_config: Make, tmp_path: Path, played: Callable[[Play], None]
) -> None:
    played(lambda size, seed: (RISING, (), "finished"))
    _climb(small_config(), tmp_path)
    rungs = json.loads((tmp_path / "ladder.json").read_text())["rungs"]
    assert rungs[0]["runs"] == [f"batch-16-seed{seed}" for seed in range(5)]


def test_a_return_that_falls_behind_is_stepped_back_from(
    small_config: Make, tmp_path: Path, played: Callable[[Play], None]
) -> None:
    played(lambda size, seed: (RISING if size < 64 else FLAT, (), "finished"))
    ladder = _climb(small_config(), tmp_path)
    assert _decisions(ladder)[64] == "step back"
    failed = {gate.measure: gate.answer for gate in ladder.rungs[-1].gates}
    assert failed["return shortfall"] == "retreat"


def test_severe_findings_on_every_seed_fail_a_rung_and_end_the_climb(
    small_config: Make, tmp_path: Path, played: Callable[[Play], None]
) -> None:
    played(lambda size, seed: (RISING, ("D005",) if size == 32 else (), "finished"))
    assert _decisions(_climb(small_config(), tmp_path)) == {16: "climb", 32: "step back"}


def test_every_rung_is_measured_if_asked_for(
    small_config: Make, tmp_path: Path, played: Callable[[Play], None]
) -> None:
    played(lambda size, seed: (RISING, ("D005",) if size == 32 else (), "finished"))
    ladder = _climb(small_config(), tmp_path, every_rung=True)
    assert _decisions(ladder) == {16: "climb", 32: "step back", 64: "climb"}


def test_an_open_answer_gets_as_many_seeds_again_and_is_then_held(
    small_config: Make, tmp_path: Path, played: Callable[[Play], None]
) -> None:
    played(lambda size, seed: (RISING, ("D005",) if seed % 2 else (), "finished"))
    ladder = _climb(small_config(), tmp_path)
    assert _decisions(ladder) == {16: "hold"}
    assert ladder.rungs[0].seeds == 10
    assert ladder.recommended is None


def test_a_number_that_is_not_finite_stops_at_once(
    small_config: Make, tmp_path: Path, played: Callable[[Play], None]
) -> None:
    played(lambda size, seed: (FLAT, ("D001",) if size == 32 else (), "diverged"))
    ladder = _climb(small_config(), tmp_path)
    assert _decisions(ladder) == {16: "stop"}
    assert ladder.rungs[0].seeds == 1  # the other seeds were not even begun


def test_learning_never_starts_before_there_is_a_batch(
    small_config: Make, tmp_path: Path, played: Callable[[Play], None]
) -> None:
    played(lambda size, seed: (RISING, (), "finished"))
    climb(small_config(learning_starts=20), [64], load_gates("relative"), tmp_path, seeds=5)
    written = yaml.safe_load((tmp_path / "batch-64-seed0" / "config.yaml").read_text())
    assert (written["batch_size"], written["learning_starts"]) == (64, 64)


def test_learning_starts_as_configured_if_a_batch_is_there_by_then(
    small_config: Make, tmp_path: Path, played: Callable[[Play], None]
) -> None:
    played(lambda size, seed: (RISING, (), "finished"))
    climb(small_config(learning_starts=90), [64], load_gates("relative"), tmp_path, seeds=5)
    written = yaml.safe_load((tmp_path / "batch-64-seed0" / "config.yaml").read_text())
    assert (written["batch_size"], written["learning_starts"]) == (64, 90)


@pytest.mark.parametrize(
    ("preset", "changes", "complaint"),
    [
        ("ppo/cartpole", {}, "has no batch_size to climb"),
        ("ddpg/pendulum", {"evaluation.episodes": 0}, "without evaluations no rung can be"),
        ("ddpg/pendulum", {"buffer_size": 32}, "buffer_size"),
    ],
)
def test_what_cannot_be_climbed_is_refused_before_anything_is_run(
    preset: str,
    changes: dict[str, Any],
    complaint: str,
    tmp_path: Path,
    played: Callable[[Play], None],
) -> None:
    played(lambda size, seed: (RISING, (), "finished"))
    with pytest.raises(ConfigError, match=complaint):
        climb(load_config(preset, changes), [16, 64], load_gates("relative"), tmp_path, seeds=5)
    assert not any(tmp_path.iterdir())


LOWEST = "the lowest rung failed: whatever is wrong, it is not that the batch is too large"


@pytest.mark.parametrize(
    ("sick", "status", "said", "lowest"),
    [
        (None, "finished", "batch 16: climb (every gate passed)", False),
        (16, "finished", "batch 16: step back (severe findings 1)", True),
        (32, "finished", "batch 32: step back (severe findings 1)", False),
        (16, "diverged", "batch 16: stop (a number that is not finite)", True),
    ],
)
def test_each_decision_is_said_with_its_reasons(
    sick: int | None,
    status: str,
    said: str,
    lowest: bool,
    small_config: Make,
    tmp_path: Path,
    played: Callable[[Play], None],
) -> None:
    ends = {True: status, False: "finished"}
    played(lambda size, seed: (RISING, ("D005",) if size == sick else (), ends[size == sick]))
    told: list[str] = []
    _climb(small_config(), tmp_path / "a" / "b", say=told.append, every_rung=True)
    assert said in told
    assert (LOWEST in told) is lowest
    assert "batch 32: 5 seeds x 300 env steps" in told


def test_what_was_decided_and_recommended_is_written_down(
    small_config: Make, tmp_path: Path, played: Callable[[Play], None]
) -> None:
    played(lambda size, seed: (RISING, ("D005",) if size > 16 else (), "finished"))
    ladder = _climb(small_config(), tmp_path, name="mine", gates_name="relative")
    record = json.loads((tmp_path / "ladder.json").read_text())
    assert (record["recommended"], record["message"]) == (16, ladder.message)
    assert [rung["decision"] for rung in record["rungs"]] == ["climb", "step back"]
    header = (tmp_path / "recommended.yaml").read_text().splitlines()[0]
    assert header == f"# Recommended by the ladder (relative gates): {ladder.message}"


@pytest.mark.parametrize(
    ("some", "message"), [(False, "change the config, not the batch"), (True, "more seeds or a")]
)
def test_where_no_rung_passed_the_record_says_what_next(
    some: bool, message: str, small_config: Make, tmp_path: Path, played: Callable[[Play], None]
) -> None:
    played(lambda size, seed: (RISING, ("D005",) if seed % 2 or not some else (), "finished"))
    ladder = _climb(small_config(), tmp_path)
    assert message in ladder.message
    record = json.loads((tmp_path / "ladder.json").read_text())
    assert (record["message"], record["recommended"]) == (ladder.message, None)
    assert not (tmp_path / "recommended.yaml").exists()


def test_evidence_names_every_usual_suspect_and_whether_it_held() -> None:
    run = steps(
        replay__batch_share=[0.9, 0.5, 0.3, 0.2, 0.2, 0.2],
        replay__duplicate_share=[0.3, 0.2, 0.1, 0.1, 0.1, 0.1],
        critic__gradient_norm=[1.0, 1.0, 1.0, 1.0, 1.0, 2.0],
        critic__loss=[1.0, 1.0, 1.0, 1.0, 1.0, 500.0],
        q__abs_max=[1.0, 1.0, 1.0, 1.0, 1.0, 3.0],
        q__bound_ratio=[0.1, 0.1, 0.1, 0.1, 0.1, 0.3],
        target__drift=[0.01] * 6,
    )
    said = " / ".join(evidence(run))
    assert "at most 90% of the buffer, and at most 30%" in said
    assert "gradient norm: 1 at first, 2 at most: did not explode" in said
    assert "critic loss: 1 at first, 500 at most: grew (500.0 times)" in said
    assert "reached 0.3 of what the rewards allow: it did not diverge" in said
    assert "lagged by at most 1%" in said


def test_the_command_climbs_reports_and_goes_on(
    small_config: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "small.yaml"
    file.write_text(small_config(total_env_steps=120, learning_starts=40).to_yaml())
    gates = tmp_path / "open.yaml"
    gates.write_text("gates: [{measure: severe findings, continue_below: 99.0}]")
    asked = ["ladder", str(file), "--batch-sizes", "8,16", "--seeds", "5", "--workers", "1",
             "--gates", str(gates), "--output", str(tmp_path / "out"), "--json"]  # fmt: skip
    assert main(asked) == 0
    ladder = json.loads(capsys.readouterr().out)
    assert [rung["decision"] for rung in ladder["rungs"]] == ["climb", "climb"]
    assert all(rung["samples_per_second"] > 0 for rung in ladder["rungs"])
    page = page_data(Path(ladder["report"]))
    plots = next(block["charts"] for block in page["blocks"] if block["type"] == "charts")
    assert "Return" in [plot["title"] for plot in plots]
    assert plots[0]["categories"] == ["8", "16"]
    made = {p: p.stat().st_mtime_ns for p in (tmp_path / "out").glob("batch-*/steps.jsonl")}
    assert main(asked) == 0  # nothing is run twice
    assert made == {p: p.stat().st_mtime_ns for p in made}
    asked[asked.index(str(file))] = "ddpg/pendulum"
    assert main(asked) == 2
    assert "holds the ladder of another config" in capsys.readouterr().err


def test_progress_is_read_from_the_end_of_a_torn_file(tmp_path: Path) -> None:
    assert steps_taken(tmp_path) == 0
    whole = json.dumps(Step(1, 500, 0.0, {"q.mean": 1.0}).to_json()) + "\n"
    (tmp_path / "steps.jsonl").write_text(whole * 3 + whole[:20])
    assert steps_taken(tmp_path) == 500


@pytest.mark.parametrize(
    ("done", "left", "said"),
    [(0, 9, "no estimate"), (10, 5, "less than"), (10, 100, "about 10 min")],
)
def test_the_estimate_goes_by_the_pace_so_far(done: int, left: int, said: str) -> None:
    assert said in estimate(done, left, 60.0)


@pytest.mark.parametrize(("seeds", "told"), [(3, "each rung takes 6"), (5, None)])
def test_few_seeds_take_a_second_look_and_that_is_said_first(
    seeds: int,
    told: str | None,
    small_config: Make,
    tmp_path: Path,
    played: Callable[[Play], None],
) -> None:
    played(lambda size, seed: (RISING, (), "finished"))
    said: list[str] = []
    gates = load_gates("relative")
    ladder = climb(small_config(), [16], gates, tmp_path, seeds=seeds, say=said.append)
    assert ladder.rungs[0].decision == "climb"
    assert ladder.rungs[0].seeds == (6 if told else 5)
    assert (told in said[0]) if told else ("no gate" not in said[0])


def test_so_few_seeds_that_no_gate_could_be_answered_are_refused(
    small_config: Make, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match="can answer no gate"):
        climb(small_config(), [16], load_gates("relative"), tmp_path, seeds=2)


def test_one_seed_in_five_that_fails_leaves_a_rung_open() -> None:
    gate = Gate(measure="severe findings", continue_below=0.5, retreat_above=0.5)
    assert gate.answer(interval([0.0] * 5)) == "continue"
    assert gate.answer(interval([1.0] * 5)) == "retreat"
    assert gate.answer(interval([0.0] * 4 + [1.0])) == "open"
    assert gate.answer(interval([0.0] * 9 + [1.0], look=1)) == "continue"
    assert gate.answer(interval([0.0] * 8 + [1.0] * 2, look=1)) == "open"
    assert gate.answer(interval([0.0] * 4 + [math.nan])) == "open"  # four are too few


def test_both_looks_together_answer_by_chance_in_a_twentieth_of_all_cases() -> None:
    assert sum(LOOKS) == pytest.approx(0.05)
    assert LOOKS[0] >= 1 / 32  # five seeds beyond a bound are an answer at once


def test_a_gate_set_needs_a_gate() -> None:
    with pytest.raises(ConfigError):
        GateSet.parse({"gates": []})
