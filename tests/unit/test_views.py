"""Runs and results as plain data: what a page says, worked out before anything is drawn."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from steadyrl.core.records import Finding, Step
from steadyrl.integrations.watch import Watch
from steadyrl.judging import judge, open_run
from steadyrl.stability.bands import Band
from steadyrl.stability.detectors import DEFAULT
from steadyrl.views.about import signal_of
from steadyrl.views.bands import Along, bands_along
from steadyrl.views.proof import proof_tree
from steadyrl.views.run import RunView, run_view
from steadyrl.views.runs import runs_page
from steadyrl.views.wording import event_in_words, next_command, what, why
from tests.rules.traces import CUT_SHORT, TRACES, trace, trace_of
from tests.unit.test_judging import acted, config_of_run, found, recorded

COLLAPSED = trace_of(CUT_SHORT)


def view(run: Path) -> RunView:
    return run_view(open_run(run), "run")


def test_a_view_is_strict_json(tmp_path: Path) -> None:
    steps = [*trace(), Step(99, 99_000, 9.0, {"critic.loss": float("nan"), "q.mean": 1e400})]
    found = view(recorded(tmp_path / "run", steps)).to_json()
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["curves"]["critic.loss"]["odd"] == [[99_000, "nan"]]
    assert found["curves"]["q.mean"]["odd"] == [[99_000, "inf"]]


def test_the_first_sentence_says_what_and_since_when(tmp_path: Path) -> None:
    run = recorded(tmp_path / "run", COLLAPSED)
    verdict = judge(run)
    severe = next(f for f in verdict.findings if f.severity == "severe")
    assert verdict.headline == "sick"
    assert what(verdict).startswith(f"Sick since env step {severe.taken:,}: {severe.message}.")


def test_why_says_the_cause_in_a_sentence_and_how_sure_it_is(tmp_path: Path) -> None:
    told = why(judge(recorded(tmp_path / "run", COLLAPSED)))
    assert "because early termination pays (C208, confidence 0." in told
    assert "): every step costs and ending the episode is free, so" in told


def test_the_first_sign_is_named(tmp_path: Path) -> None:
    verdict = judge(recorded(tmp_path / "run", COLLAPSED))
    assert what(verdict).endswith("First sign at env step 3,500: episodes cut short.")


def test_what_it_was_recorded_with_is_shown(tmp_path: Path) -> None:
    run = recorded(tmp_path / "run", trace())
    begun = {"event": "resumed", "step": 2, "versions": "torch 9.9", "machine": "a desk, 2 cores"}
    with (run / "events.jsonl").open("a") as file:
        file.write(json.dumps(begun) + "\n")
    assert view(run).made_with == ["torch 9.9 on a desk, 2 cores"]


def test_the_next_command_is_one_that_can_be_typed(tmp_path: Path) -> None:
    run = recorded(tmp_path / "a run", COLLAPSED)
    command, _ = next_command(judge(run))
    assert command == f"steadyrl rescue '{run}/config.yaml'"
    well = recorded(tmp_path / "well", trace())
    verdict = judge(well)
    assert next_command(verdict)[0] == f"steadyrl evaluate {well}"
    assert next_command(replace(verdict, learner="language"))[0] == f"steadyrl export {well}"


def test_what_another_program_trained_is_not_sent_to_a_command_that_trains(tmp_path: Path) -> None:
    watch = Watch(tmp_path / "watched", family="ppo", total_env_steps=60_000)
    for step in range(60):
        watch.log(1000 * step + 1000, {"policy.kl": 0.5, "rollout.return_mean": -1.0 * step})
    watch.close()
    shown = view(tmp_path / "watched")
    assert shown.headline in ("sick", "suspicious")
    assert shown.command.startswith("steadyrl explain ")


def test_signals_come_in_the_order_in_which_they_left_their_band(tmp_path: Path) -> None:
    shown = view(recorded(tmp_path / "run", COLLAPSED))
    left = [one.left for one in shown.signals if one.left is not None]
    assert left
    assert left == sorted(left)
    assert all(one.left is None for one in shown.signals[len(left) :])
    assert "rollout.length_mean" in [one.name for one in shown.signals[: len(left)]]


def test_nothing_has_left_its_band_in_a_healthy_run(tmp_path: Path) -> None:
    shown = view(recorded(tmp_path / "run", trace()))
    assert shown.onset is None
    assert all(one.left is None for one in shown.signals)


def test_a_band_is_that_of_the_rule_that_spoke(tmp_path: Path) -> None:
    rule = next(rule for rule in DEFAULT if rule.id == "D010")
    steps = TRACES["D010"][0]
    along = bands_along([rule], steps, budget=None)["rollout.length_mean"]
    assert along.rules == ["D010"]
    spoken = view(recorded(tmp_path / "run", steps)).findings
    at = next(f.taken for f in spoken if f.rule == "D010")
    begun = along.left_before(at)
    assert begun is not None
    assert begun <= at


def test_a_stretch_outside_ends_where_the_signal_comes_back() -> None:
    along, out = Along(), False
    for taken, value in enumerate([0.0, 2.0, 3.0, None, 0.0, 2.0]):
        out = along.add(taken, Band(high=1.0), value, out)
    assert along.outside == [(1, 2), (5, 5)]
    assert along.left_before(4) == 1
    assert along.left_before(0) is None


def test_where_the_guard_went_back_stands_on_the_lane(tmp_path: Path) -> None:
    events = acted(5, learning_rate=(0.5, 0.001))
    run = recorded(tmp_path / "run", trace(), *events, config=config_of_run(learning_rate=0.5))
    mark = next(mark for mark in view(run).marks if mark.kind == "guard")
    assert mark.since == 9216
    assert "learning_rate 0.5 -> 0.001" in mark.text


def test_what_the_guard_healed_is_said_with_its_reason(tmp_path: Path) -> None:
    events = acted(5, learning_rate=(0.5, 0.001))
    run = recorded(tmp_path / "run", trace(), *events, config=config_of_run(learning_rate=0.5))
    first, wrong, did, *_ = view(run).told
    assert first == "Healed by the guard: learning_rate 0.5 → 0.001 at 9,216."
    assert wrong == "What was wrong at env step 9,216: non finite signal (D001): q.mean is nan."
    assert did == (
        "What was done: back to env step 500 and on with learning_rate 0.5 → 0.001 "
        "(R301 against C201 learning rate too high, confidence 0.90)."
    )


def test_evidence_stands_beside_the_signal_it_speaks_of() -> None:
    message = "episodes end after 25 steps"
    seen = Finding(
        rule="D010",
        name="x",
        severity="severe",
        step=1,
        taken=1,
        message=message,
        evidence={"best": 1.0, "rollout.length_mean": 25.0},
    )
    recorded_signals = {"rollout.length_mean", "q.bound_ratio", "policy.kl"}
    assert signal_of(message, [seen], recorded_signals, ()) == "rollout.length_mean"
    assert signal_of("policy.kl is 0.3", [], recorded_signals, ()) == "policy.kl"
    assert signal_of("the critic is sound", [], recorded_signals, ()) == "q.bound_ratio"
    assert signal_of("learning_rate 0.1 is high", [], recorded_signals, ("learning_rate",)) is None
    assert signal_of("the moon is full", [], recorded_signals, ()) is None


def _outcome(run: str, length: float, returned: float, *severe: str) -> dict[str, Any]:
    return {
        "run": run,
        "status": "finished",
        "severe": list(severe),
        "final_return": returned,
        "final_length": length,
    }


def _story(measure: str) -> Any:
    fixed, sick = _outcome("fixed", 1000.0, -1e6), _outcome("original", 12.0, -1e4, "D010")
    tried = {"name": "R306", "origin": "C208", "changes": {"penalty": 75}, "helped": True, **fixed}
    chance = {**tried, **sick, "name": "R313", "origin": "random fix", "helped": False}
    return {
        "measure": measure,
        "p_value": 0.05,
        "control": sick,
        "chosen": {"name": "R306", "changes": {"penalty": 75}},
        "tried": [tried, chance],
        "verified": [{"seed": 1000, "before": sick, "after": fixed, "better": True}],
    }


@pytest.mark.parametrize(
    ("measure", "control", "fix"), [("episode length", 12.0, 1000.0), ("return", -1e4, -1e6)]
)
def test_a_proof_is_shown_in_the_measure_that_decided(
    measure: str, control: float, fix: float
) -> None:
    tree = proof_tree(_story(measure))
    assert tree.measure == measure
    assert [branch.kind for branch in tree.tried] == ["control", "fix", "random"]
    assert [list(branch.values) for branch in tree.tried] == [[control], [fix], [control]]
    assert [list(branch.values) for branch in tree.fresh] == [[control], [fix]]
    assert measure in tree.decided
    assert "p = 0.05" in tree.decided


def test_events_are_told_in_words(tmp_path: Path) -> None:
    event = {"event": "change", "step": 3, "name": "tau", "before": 0.1, "after": 0.2}
    assert event_in_words({**event, "because": "asked"}) == "tau 0.1 -> 0.2, because asked"
    run = recorded(tmp_path / "run", trace(), found("D006", "warning"))
    assert any("D006" in one.text for one in view(run).events)
    skipped = {"event": "checkpoint skipped", "step": 3, "problem": "step-2 is torn"}
    assert event_in_words(skipped) == "checkpoint skipped: step-2 is torn"
    assert event_in_words({"event": "odd", "a": 1, "b": None}) == "odd: a 1, b None"


def test_settings_are_compared_with_the_nearest_preset(tmp_path: Path) -> None:
    shown = view(recorded(tmp_path / "run", trace(), config=config_of_run(learning_rate=0.5)))
    rate = next(one for one in shown.settings if one.name == "learning_rate")
    assert rate.value == "0.5"
    assert rate.at_first is None


def test_a_page_of_several_runs_begins_with_how_they_stand_worst_first(tmp_path: Path) -> None:
    runs = [recorded(tmp_path / name, trace()) for name in ("one", "two")]
    ill = recorded(tmp_path / "ill", trace_of(CUT_SHORT))
    page = runs_page([open_run(run) for run in (*runs, ill)])
    assert page.tone == "bad"
    assert page.told[0] == "1 sick, 2 healthy."
    assert page.told[1].startswith("ill: Sick since")
    assert len(page.told) == 2
