"""How a rescue is told: only what was measured, the cause that was chosen, no bad advice."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from steadyrl.core.presets import parse_config
from steadyrl.experiments.trials import Outcome, read_outcome
from steadyrl.report import rescue
from steadyrl.run import train
from steadyrl.store.reader import RunReader
from steadyrl.views.proof import proof_tree


def _row(name: str, *, severe: tuple[str, ...] = (), length: float | None = 10.0) -> dict[str, Any]:
    return {
        "name": name,
        "origin": "C203 reward-scale-too-large",
        "helped": False,
        "status": "finished",
        "severe": list(severe),
        "final_return": 1.0,
        "final_length": length,
        "score": "return",
    }


def _story(**changes: Any) -> dict[str, Any]:
    causes = [("C201", "learning-rate-too-high"), ("C203", "reward-scale-too-large")]
    return {
        "status": "verified",
        "diagnoses": [{"cause": cause, "name": name} for cause, name in causes],
        "chosen": None,
        "control": _row("control"),
        "tried": [_row("R303 scale-rewards")],
        **changes,
    }


def test_the_cause_whose_remedy_was_chosen_is_told_first() -> None:
    chosen = {"origin": "C203 reward-scale-too-large"}
    assert rescue.causes_told(_story())[0]["cause"] == "C201"
    assert rescue.causes_told(_story(chosen=chosen))[0]["cause"] == "C203"


def test_a_healthy_run_has_no_cause() -> None:
    assert rescue.causes_told(_story(status="healthy", tried=[])) == []


def test_a_remedy_that_made_the_run_sick_is_not_advice() -> None:
    sick = _row("R303 scale-rewards", severe=("D005",))
    (said,) = rescue.made_worse(_story(tried=[sick, _row("R301 lower")]))
    assert said.endswith("R303 scale-rewards")
    assert rescue.made_worse(_story()) == []


def test_there_is_no_column_of_what_was_not_measured() -> None:
    played = _story()
    assert "length" in rescue._titles(played)
    cloned = _story(control=_row("control", length=None), tried=[_row("R350", length=None)])
    assert "length" not in rescue._titles(cloned)
    cloned["tried"][0]["run"] = cloned["control"]["run"] = "somewhere"
    tree = proof_tree({**cloned, "verified": []})
    assert not any("length" in said for branch in tree.tried for said in branch.beside)
    for story in (played, cloned):
        assert {len(row) for row in rescue._rows(story)} == {len(rescue._titles(story))}


def test_a_budget_below_the_interval_ends_with_a_score_that_is_not_counted(tmp_path: Path) -> None:
    values = {
        "algorithm": "ppo",
        "total_env_steps": 48,
        "rollout_length": 16,
        "minibatch_size": 8,
        "hidden_sizes": [4],
        "epochs": 1,
        "environment": {"id": "CartPole-v1"},
        "evaluation": {"every": 1000, "episodes": 1},
    }
    path = train(parse_config(values), tmp_path / "run")[1]
    outcome = read_outcome("it", path)
    assert math.isfinite(outcome.final_return)
    assert "return" in outcome.said
    state = RunReader.open(path).checkpoints.load_latest()[1]
    assert state["learner"]["counters"]["evaluations"] == 0


def test_a_run_that_was_never_evaluated_says_so() -> None:
    outcome = Outcome("x", Path("x"), "diverged", (), math.nan, math.nan, 5)
    assert outcome.said == "ended before it was evaluated"
