"""How a rescue is told: only what was measured, the cause that was chosen, no bad advice."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from steadyrl.core.presets import parse_config
from steadyrl.experiments.trials import Outcome, read_outcome
from steadyrl.judging import open_run
from steadyrl.run import train
from steadyrl.store.reader import RunReader
from steadyrl.views import rescue
from steadyrl.views.proof import proof_tree
from steadyrl.views.rescued import causes_told, told_rescue
from steadyrl.views.run import run_view
from tests.rules.traces import TRACES
from tests.unit.test_judging import recorded


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


def _story(**changes: Any) -> Any:
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
    assert causes_told(_story())[0]["cause"] == "C201"
    assert causes_told(_story(chosen=chosen))[0]["cause"] == "C203"


def _verified() -> Any:
    sick = {**_row("seed", severe=("D010",), length=19.13), "run": "before"}
    well = {**_row("seed", length=1000.0), "run": "after"}
    found = {"severity": "severe", "message": "episodes end after 25 steps", "taken": 8400}
    cause = {"cause": "C208", "name": "early-termination-pays", "confidence": 0.93}
    evidence = {"evidence_for": [found["message"], "every reward is negative"]}
    guess = {**_row("batch_size=1024"), "origin": "asked for", "run": "guess"}
    chance = {**_row("R313 twin-critics"), "origin": "random fix", "run": "chance"}
    return _story(
        message="R306: better",
        findings=[found],
        diagnoses=[{**cause, **evidence, "evidence_against": []}],
        chosen={"name": "R306 termination-penalty", "changes": {"penalty": 75.0}},
        tried=[{**guess, "changes": {}}, {**chance, "changes": {}}],
        control=None,
        measure="episode length",
        p_value=0.05,
        verified=[{"seed": 1, "before": sick, "after": well, "better": True}],
    )


def test_a_rescue_says_what_was_wrong_why_what_was_changed_and_how_it_is_proved() -> None:
    assert told_rescue(_verified(), {}) == [
        "Fixed and proved: episodes last 1,000 steps instead of 19 (medians of 1 fresh seeds).",
        "What was wrong: episodes end after 25 steps.",
        "Why: early termination pays (C208, confidence 0.93): every step costs and ending the "
        "episode is free, so the best policy is to fail at once. Evidence: every reward is "
        "negative.",
        "What was changed: penalty - → 75 (R306 termination penalty).",
        "Proof: better, and nothing severe, on 1 of 1 fresh seeds; chance alone would do that "
        "with p = 0.05. What did not help: a random fix, batch_size=1024.",
    ]


def test_what_remains_after_a_rescue_is_said(tmp_path: Path) -> None:
    warned = recorded(tmp_path / "after", TRACES["D004"][0])
    told = told_rescue(_verified(), {"after": run_view(open_run(warned), "after")})
    assert "a warning stands in 1 of the 1 runs with the fix: gradient spike (D004)" in told[-1]


def test_a_finding_is_named_in_the_proof() -> None:
    tree = proof_tree(_verified() | {"tried": []})
    assert "found episodes cut short (D010)" in tree.fresh[0].beside


def test_a_healthy_run_has_no_cause() -> None:
    assert causes_told(_story(status="healthy", tried=[])) == []


def test_a_remedy_that_made_the_run_sick_is_not_advice() -> None:
    sick = _row("R303 scale-rewards", severe=("D005",))
    (said,) = rescue.made_worse(_story(tried=[sick, _row("R301 lower")]))
    assert said.endswith("R303 scale-rewards")
    assert rescue.made_worse(_story()) == []


def test_there_is_no_column_of_what_was_not_measured() -> None:
    played = _story()
    assert "length" in rescue.tried_table(played)[0]
    cloned = _story(control=_row("control", length=None), tried=[_row("R350", length=None)])
    assert "length" not in rescue.tried_table(cloned)[0]
    cloned["tried"][0]["run"] = cloned["control"]["run"] = "somewhere"
    tree = proof_tree(cloned | {"verified": []})
    assert not any("length" in said for branch in tree.tried for said in branch.beside)
    for story in (played, cloned):
        titles, rows = rescue.tried_table(story)
        assert {len(row) for row in rows} == {len(titles)}


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


def test_the_measure_is_called_what_the_task_calls_its_score() -> None:
    control = {**_row("control"), "run": "control", "score": "held-out score"}
    story = _verified() | {"measure": "return", "control": control}
    tree = proof_tree(story)
    assert (tree.measure, tree.figures) == ("held-out score", "held-out score")
    assert tree.decided.startswith("Decided by held-out score.")
    assert told_rescue(story, {})[0].startswith("Fixed and proved: the held-out score is")
    fitted = story | {"measure": "health"}
    assert (proof_tree(fitted).measure, proof_tree(fitted).figures) == ("health", "held-out score")
