"""A rescue from the alarm to the proof, on recorded runs: nothing is trained here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from steadyrl.core.presets import load_config
from steadyrl.core.records import Step
from steadyrl.experiments import candidates, trials
from steadyrl.experiments import rescue as module
from steadyrl.experiments.candidates import PLACEBO
from steadyrl.experiments.rescue import Rescue, rescue
from steadyrl.experiments.trials import Trial
from steadyrl.stability.remedies import REMEDIES
from steadyrl.store.writer import RunWriter
from tests.rules.traces import trace
from tests.unit.test_judging import SICK, SUSPICIOUS, config_of_run, found, recorded

REMEDY = "R301 lower-learning-rate"  # what the cause of the sick run proposes
CONTROL = -25.0  # the last evaluations of the sick run
FOLDER = "try-r301-lower-learning-rate"


@dataclass
class Lab:
    """Leaves records of runs in place of training them."""

    returns: Mapping[str, float] = field(default_factory=dict)  # by the beginning of a trial's name
    unhealthy: tuple[str, ...] = ()
    original: list[Step] = field(default_factory=lambda: SICK)
    alarm: tuple[dict[str, Any], ...] = (found("D005"),)
    good: int | None = None  # a checkpoint of the original that was marked good
    made: list[Trial] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def make(self, trial: Trial) -> None:
        self.made.append(trial)
        if trial.name == "original":
            self._original(trial)
            return
        value = next((v for n, v in self.returns.items() if trial.name.startswith(n)), CONTROL)
        value -= 0.01 * (trial.config.seed % 10)
        steps = trace(eval__return_mean=value)[:5]
        sick = trial.name.startswith(self.unhealthy) if self.unhealthy else False
        recorded(trial.directory, steps, *([found("D005")] if sick else []), config=trial.config)

    def _original(self, trial: Trial) -> None:
        if trial.guard == "stop":
            trial.directory.parent.mkdir()
            status = "stopped" if self.alarm else "finished"
            recorded(
                trial.directory, self.original, *self.alarm, status=status, config=trial.config
            )
            if self.good:
                store = RunWriter.open(trial.directory)
                store.save_checkpoint({"x": 1}, step=self.good, good=True)
                store.close()
        else:
            (trial.directory / "summary.json").write_text('{"status": "finished", "steps": 60}')

    def rescue(self, folder: Path, **options: Any) -> Rescue:
        return rescue(config_of_run(), folder, say=self.said.append, **options)


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch) -> Lab:
    """One in which the remedy works."""
    lab = Lab({REMEDY: -10.0, "rescued seed": -10.0})
    monkeypatch.setattr(module, "run_trial", lab.make)
    monkeypatch.setattr(trials, "run_trial", lab.make)
    return lab


def written(folder: Path) -> dict[str, Any]:
    record: dict[str, Any] = json.loads((folder / "rescue.json").read_text())
    return record


def test_a_remedy_that_works_on_every_fresh_seed_is_verified(lab: Lab, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    result = lab.rescue(folder)
    story = written(folder)
    assert (result.status, story["status"]) == ("verified", "verified")
    assert story["message"] == (
        f"{REMEDY}: better, and nothing severe, on 4 of 4 fresh seeds, p = 0.014 (return)"
    )
    assert (story["measure"], story["p_value"]) == ("return", pytest.approx(1 / 70))
    assert story["chosen"]["changes"] == {"learning_rate": 0.0001}
    assert [finding["rule"] for finding in story["findings"]] == ["D005"]
    assert [diagnosis["cause"] for diagnosis in story["diagnoses"]] == ["C201"]


def test_every_fresh_seed_is_told_before_and_after(lab: Lab, tmp_path: Path) -> None:
    lab.rescue(tmp_path / "out")
    rows = written(tmp_path / "out")["verified"]
    assert [row["seed"] for row in rows] == [1000, 1001, 1002, 1003]
    for row in rows:
        assert row["before"]["run"] == f"verify-original-seed{row['seed']}"
        assert row["after"]["run"] == f"verify-rescued-seed{row['seed']}"
        assert row["before"]["final_return"] == pytest.approx(CONTROL, abs=0.1)
        assert row["after"]["final_return"] == pytest.approx(-10.0, abs=0.1)
        assert row["better"] is True
    fresh = {t.name: t for t in lab.made if "seed" in t.name}
    assert fresh["rescued seed 1002"].config == config_of_run(seed=1002, learning_rate=0.0001)
    assert fresh["original seed 1002"].config == config_of_run(seed=1002)


def test_a_remedy_that_fails_on_fresh_seeds_is_not_verified(lab: Lab, tmp_path: Path) -> None:
    lab.returns = {REMEDY: -10.0}
    assert lab.rescue(tmp_path / "out").status == "not verified"
    story = written(tmp_path / "out")
    assert story["status"] == "not verified"
    assert "better, and nothing severe, on 0 of 4 fresh seeds" in story["message"]
    assert [row["better"] for row in story["verified"]] == 4 * [False]
    assert (tmp_path / "out" / "rescued.yaml").read_text().startswith("# not verified: R301")


def test_a_remedy_that_fails_on_one_fresh_seed_of_four_is_not_verified(
    lab: Lab, tmp_path: Path
) -> None:
    lab.returns = {REMEDY: -10.0, "rescued seed 1003": -90.0, "rescued seed": -10.0}
    assert lab.rescue(tmp_path / "out").status == "not verified"
    story = written(tmp_path / "out")
    assert [row["better"] for row in story["verified"]] == [True, True, True, False]


def test_one_sick_run_with_the_remedy_ends_the_proof(lab: Lab, tmp_path: Path) -> None:
    lab.unhealthy = ("rescued seed 1001",)
    assert lab.rescue(tmp_path / "out").status == "not verified"
    assert written(tmp_path / "out")["message"].endswith("something severe was found in it")
    assert lab.made[-1].name == "rescued seed 1001"


def test_a_sick_run_of_the_original_config_does_not_end_the_proof(lab: Lab, tmp_path: Path) -> None:
    lab.unhealthy = ("original seed",)
    assert lab.rescue(tmp_path / "out").status == "verified"


def test_where_nothing_helped_nothing_is_proved(lab: Lab, tmp_path: Path) -> None:
    lab.returns = {}
    result = lab.rescue(tmp_path / "out")
    story = written(tmp_path / "out")
    assert (result.status, story["status"], story["chosen"]) == ("no remedy", "no remedy", None)
    assert story["message"] == "no change did better than the control and the placebo"
    assert (story["verified"], story["p_value"]) == ([], None)
    assert not any("seed" in trial.name for trial in lab.made)
    assert not (tmp_path / "out" / "rescued.yaml").exists()


@pytest.mark.parametrize(
    ("steps", "status"),
    [(SUSPICIOUS, "suspicious"), (trace(), "healthy")],
    ids=["warnings", "nothing"],
)
def test_without_a_severe_finding_or_a_likely_cause_nothing_is_tried(
    steps: list[Step], status: str, lab: Lab, tmp_path: Path
) -> None:
    lab.original, lab.alarm = steps, ()
    assert lab.rescue(tmp_path / "out").status == status
    story = written(tmp_path / "out")
    assert story["message"].startswith("nothing severe, no likely cause: nothing to rescue")
    assert (story["tried"], story["control"]) == ([], None)
    assert [trial.guard for trial in lab.made] == ["stop"]


def test_everything_that_was_tried_is_told_beside_the_control(lab: Lab, tmp_path: Path) -> None:
    lab.rescue(tmp_path / "out", also=[{"batch_size": 32}])
    story = written(tmp_path / "out")
    helped = {row["origin"]: row["helped"] for row in story["tried"]}
    assert helped.pop("C201 learning-rate-too-high") is True
    assert helped == {"random fix": False, "placebo": False, "asked for": False}
    first = story["tried"][0]
    assert (first["name"], first["run"], first["measure"]) == (REMEDY, FOLDER, "return")
    assert first["changes"] == {"learning_rate": 0.0001}
    assert first["final_return"] == pytest.approx(-10.0)
    control = story["control"]
    assert (control["run"], control["status"], control["severe"]) == (
        "original",
        "finished",
        ["D005"],
    )
    assert control["final_return"] == pytest.approx(CONTROL)
    told = "\n".join(lab.said)
    assert "suspect C201 learning-rate-too-high (0.30)" in told
    assert f"{REMEDY}: return -10, episodes of 100 steps, nothing severe" in told
    assert "control (no fix): return -25, episodes of 100 steps, finished, D005" in told
    assert f"{PLACEBO}: return -25" in told


def test_the_two_likeliest_causes_are_told_as_suspects(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def plan(*where: Any) -> Any:
        findings, (known,), candidates = planned(*where)
        return findings, [replace(known, cause=f"C90{n}") for n in range(3)], candidates

    planned = module._plan
    monkeypatch.setattr(module, "_plan", plan)
    lab.rescue(tmp_path / "out")
    suspects = [line.split()[1] for line in lab.said if line.startswith("suspect")]
    assert suspects == ["C900", "C901"]


def test_the_rescued_config_says_why_and_is_the_config_with_the_change(
    lab: Lab, tmp_path: Path
) -> None:
    lab.rescue(tmp_path / "out")
    file = tmp_path / "out" / "rescued.yaml"
    assert load_config(file) == config_of_run(learning_rate=0.0001)
    told = [line for line in file.read_text().splitlines() if line.startswith("#")]
    assert told[0].startswith(f"# verified: {REMEDY}: better, and nothing severe, on 4 of 4")
    assert told[1] == "# cause: C201 learning-rate-too-high"
    assert told[2].startswith("# learning-rate-too-high: ")
    assert told[3:] == ["# changed:", "#   learning_rate: 0.001 -> 0.0001"]


def test_a_remedy_forks_from_the_last_good_checkpoint_unless_it_begins_anew(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    anew = "R314 later-start"  # must be the random fix, where there is nothing else
    few = {name: REMEDIES[name] for name in (REMEDY[:4], anew[:4])}
    monkeypatch.setattr(candidates, "REMEDIES", few)
    lab.good = 20
    lab.rescue(tmp_path / "out")
    by_name = {trial.name: trial for trial in lab.made}
    original = tmp_path / "out" / "original"
    assert (by_name[REMEDY].source, by_name[REMEDY].step) == (original, 20)
    assert by_name[REMEDY].changes == {"learning_rate": 0.0001}
    assert (by_name[PLACEBO].source, by_name[PLACEBO].step) == (original, 20)
    assert (by_name[anew].source, by_name[anew].step) == (None, None)


def test_without_a_good_checkpoint_everything_begins_anew(lab: Lab, tmp_path: Path) -> None:
    lab.rescue(tmp_path / "out")
    assert {(trial.source, trial.step) for trial in lab.made} == {(None, None)}


def test_a_second_start_tries_what_was_planned_at_the_alarm(lab: Lab, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    first = lab.rescue(folder)
    lab.made.clear()
    for path in folder.glob("[tv]*"):
        path.rename(tmp_path / path.name)
    second = lab.rescue(folder)
    assert "stop" not in [trial.guard for trial in lab.made]
    assert second == first


def test_the_smallest_number_of_fresh_seeds_is_three(lab: Lab, tmp_path: Path) -> None:
    assert lab.rescue(tmp_path / "out", seeds=3).status == "verified"
    assert len(written(tmp_path / "out")["verified"]) == 3
