"""What a rescue sets out to do: from warnings too, never from another config's plan."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steadyrl.algorithms.ddpg.config import DDPGConfig
from steadyrl.cli.main import main
from steadyrl.core.records import Diagnosis
from steadyrl.core.run_config import RunConfig
from steadyrl.experiments.candidates import Candidate
from steadyrl.experiments.rescue import Rescue, describe_fix, rescue
from steadyrl.store.reader import RunReader
from tests.rules.test_invariants import config_of_walk

Make = Callable[..., DDPGConfig]


def _story(folder: Path) -> dict[str, Any]:
    story: dict[str, Any] = json.loads((folder / "rescue.json").read_text())
    return story


def _drowned() -> RunConfig:
    """Rewards of 10,000: nothing is severe, and the critic's cause is as good as certain."""
    return config_of_walk("ppo", 1e4).replaced(
        {"total_env_steps": 1280, "evaluation.episodes": 2, "evaluation.every": 320}
    )


def test_what_is_asked_for_only_on_a_second_start_is_tried(tmp_path: Path) -> None:
    rescue(_drowned(), tmp_path, seeds=3)
    first = [row["name"] for row in _story(tmp_path)["tried"]]
    rescue(_drowned(), tmp_path, seeds=3, also=[{"epochs": 1}])
    assert [row["name"] for row in _story(tmp_path)["tried"]] == [*first, "epochs=1"]


def test_a_second_proof_in_the_same_folder_is_told_as_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Candidate("epochs=1", "asked for", {"epochs": 1}, restart=True)
    monkeypatch.setattr("steadyrl.experiments.rescue.choose", lambda *_: asked)
    for seeds in (3, 3):  # going on with a proof is no second one
        assert "proof 2" not in rescue(_drowned(), tmp_path, seeds=seeds).message
    assert "proof 2 of this folder" in rescue(_drowned(), tmp_path, seeds=4).message
    assert _story(tmp_path)["proofs"] == ["epochs=1 on 3 seeds", "epochs=1 on 4 seeds"]


def test_a_likely_cause_of_mere_warnings_is_tried_from_the_beginning(tmp_path: Path) -> None:
    rescue(_drowned(), tmp_path, seeds=3)
    story = _story(tmp_path)
    assert {finding["severity"] for finding in story["findings"]} == {"warning"}
    assert story["diagnoses"][0]["cause"] == "C255"
    tried = {row["origin"]: row for row in story["tried"]}
    normalised = tried["C255 rewards-drown-policy"]
    assert normalised["changes"] == {"normalize_rewards": True}
    # Every checkpoint of such a run is good: from the last one nothing would be left to do.
    for row in tried.values():
        steps = list(RunReader.open(tmp_path / row["run"]).steps())
        assert steps[0].index == 1
        kinds = {event["event"] for event in RunReader.open(tmp_path / row["run"]).events()}
        assert "forked" not in kinds


def test_a_run_of_which_nobody_can_tell_is_not_called_healthy(
    small_config: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "short.yaml"
    file.write_text(small_config(total_env_steps=80).to_yaml())
    out = str(tmp_path / "out")
    assert main(["rescue", str(file), "--output", out, "--also", "batch_size=32"]) == 1
    said = capsys.readouterr().out
    assert "CANNOT TELL" in said
    assert "rules need 10 Steps" in said
    assert "steadyrl compare" in said  # what was asked for is not dropped without a word


def test_another_config_in_the_same_folder_is_another_rescue(
    small_config: Make, tmp_path: Path
) -> None:
    frozen = small_config(tau=0.0, total_env_steps=400)
    first = rescue(frozen, tmp_path, seeds=3)
    assert first.diagnoses
    second = rescue(small_config(), tmp_path, seeds=3)
    assert (second.status, list(second.tried)) == ("healthy", [])


def _accused(cause: str, name: str, *evidence: str) -> Diagnosis:
    return Diagnosis(
        cause=cause,
        name=name,
        confidence=0.95,
        onset=1,
        explains=("D019",),
        evidence_for=evidence,
        evidence_against=(),
        would_decide="",
        remedies=(),
    )


@pytest.mark.parametrize(
    ("origin", "grounds"),
    [
        ("asked for", ["# tried as: asked for"]),
        ("random fix", ["# tried as: random fix"]),
        ("C207 clock", ["# cause: C207 clock", "# clock: it ticks; it ends"]),
        ("C202 rate", ["# cause: C202 rate", "# rate: it crawls"]),
    ],
)
def test_a_fix_is_grounded_on_the_cause_that_proposed_it_and_blames_no_other(
    origin: str, grounds: list[str]
) -> None:
    suspects = [
        _accused("C207", "clock", "it ticks", "it ends"),
        _accused("C202", "rate", "it crawls"),
    ]
    result = Rescue("verified", "x", diagnoses=suspects)
    fix = Candidate("R337 normalise", origin, {}, restart=True)
    assert describe_fix(fix, result) == ["# verified: x", *grounds]
