"""How rules are weighed against each other, and what the guard chooses."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from steadyrl.core.coarsen import columns_of
from steadyrl.core.records import Diagnosis, Finding, Step
from steadyrl.stability import diagnose
from steadyrl.stability.causes import CAUSES
from steadyrl.stability.detectors import DEFAULT, OPTIONAL
from steadyrl.stability.diagnose import explain_findings
from steadyrl.stability.enough import ENOUGH, doubts, values_seen
from steadyrl.stability.explain import explain, find_rule
from steadyrl.stability.guard import choose_action
from steadyrl.stability.monitor import Monitor
from steadyrl.stability.remedies import REMEDIES
from steadyrl.stability.rings import SPAN
from steadyrl.stability.rules import Case, Cause, Weight
from steadyrl.stability.score import returns_of
from steadyrl.stability.window import TRAINING_RETURN, Window
from tests.rules.test_rules import config_of
from tests.rules.traces import trace

# The guard


def _diagnosis(*remedies: str, **changes: object) -> Diagnosis:
    usual = {"cause": "C201", "name": "x", "confidence": 0.9, "onset": 1, "explains": ("D001",)}
    texts = {"evidence_for": ("it is so",), "evidence_against": (), "would_decide": "x"}
    return Diagnosis(**{**usual, **texts, "remedies": remedies, **changes})  # type: ignore[arg-type]


RATE = config_of("ddpg", {"learning_rate": 0.5, "noise_std": 3.0})


def _chosen(diagnoses: list[Diagnosis], *tried: str) -> str | None:
    action = choose_action(diagnoses, RATE, Window(), set(tried))
    return action.remedy if action else None


def test_the_guard_never_tries_a_remedy_twice() -> None:
    diagnoses = [_diagnosis("R301"), _diagnosis("R308", cause="C210")]
    assert {REMEDIES[name].safety for name in ("R301", "R308")} == {"automatic"}
    assert _chosen(diagnoses) == "R301"
    assert _chosen(diagnoses, "R301") == "R308"
    assert _chosen(diagnoses, "R301", "R308") is None


def test_the_guard_takes_only_what_is_automatic_and_changes_something() -> None:
    assert REMEDIES["R313"].safety != "automatic"
    assert _chosen([_diagnosis("R313", "R301")]) == "R301"
    low = config_of("ddpg", {"learning_rate": 1e-6})
    assert choose_action([_diagnosis("R301")], low, Window(), set()) is None


@pytest.mark.parametrize("identity", ["R303", "R337"])
def test_the_guard_may_quieten_rewards_but_only_where_it_may_begin_anew(identity: str) -> None:
    family = {"R303": "ddpg", "R337": "ppo"}[identity]
    window = Window()
    window.append(Step(1, 1, 0.0, {"td.target_std": 1e5, "q.mean": -1e5}))
    loud, config = [_diagnosis(identity)], config_of(family, {})
    assert choose_action(loud, config, window, set()) is None
    action = choose_action(loud, config, window, set(), anew=True)
    assert action is not None
    assert action.anew


def test_the_guard_passes_over_what_the_machine_lacks() -> None:
    assert _chosen([_diagnosis("R301", concerns="machine")]) is None


# Training and machine


def test_detectors_and_causes_agree_on_what_concerns_the_machine() -> None:
    concerns = {rule.id: rule.concerns for rule in (*DEFAULT, *OPTIONAL)}
    for cause in CAUSES:
        assert {concerns[rule] for rule in cause.explains} == {cause.concerns}, cause.id
    assert sorted(rule for rule in concerns if concerns[rule] == "machine") == [
        "D030",
        "D031",
        "D032",
        "D033",
        "D034",
        "D035",
    ]


def test_findings_and_diagnoses_know_what_they_concern() -> None:
    monitor = Monitor(config_of("ddpg"))
    for step in trace(machine__disk_free_gb=0.01, q__bound_ratio=1.5):
        monitor.observe(step)
    concerns = {finding.rule: finding.concerns for finding in monitor.findings}
    assert (concerns["D033"], concerns["D005"]) == ("machine", "training")
    causes = {diagnosis.cause: diagnosis.concerns for diagnosis in monitor.diagnose()}
    assert causes.pop("C230") == "machine"
    assert set(causes.values()) == {"training"}


def test_a_rule_says_if_it_concerns_the_machine() -> None:
    assert "the machine, not the training" in explain(find_rule("D033"))
    assert "the machine" not in explain(find_rule("D005"))


# Consequences


def _cause(name: str, confidence: float, *explains: str) -> Cause:
    return Cause(
        id=name,
        name=name,
        explanation="x",
        explains=explains,
        evidence_for="x",
        evidence_against="x",
        would_decide="x",
        remedies=("R301",),
        weigh=lambda _case: Weight(confidence, ("it is so",)),
    )


def _ranked(monkeypatch: pytest.MonkeyPatch, *causes: Cause) -> list[str]:
    monkeypatch.setattr(diagnose, "CAUSES", causes)
    told = {"name": "x", "severity": "severe", "step": 1, "taken": 1, "message": "x"}
    findings = [
        Finding(rule=rule, evidence={}, **told)  # type: ignore[arg-type]
        for rule in ("D001", "D002")
    ]
    case = Case(findings=findings, window=Window(), config=None)
    return [diagnosis.cause for diagnosis in explain_findings(case)]


def test_beside_a_nearly_certain_cause_a_consequence_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    certain = _cause("first", 0.9, "D001", "D002")
    assert _ranked(monkeypatch, _cause("second", 0.85, "D001"), certain) == ["first"]


def test_a_consequence_far_behind_is_left_out_and_a_close_one_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = _cause("first", 0.8, "D001", "D002")
    assert _ranked(monkeypatch, first, _cause("second", 0.45, "D001")) == ["first"]
    assert _ranked(monkeypatch, first, _cause("second", 0.55, "D001")) == ["first", "second"]


def test_what_explains_something_else_is_no_consequence(monkeypatch: pytest.MonkeyPatch) -> None:
    certain = _cause("first", 0.95, "D001")
    assert _ranked(monkeypatch, certain, _cause("second", 0.3, "D002")) == ["first", "second"]
    assert _ranked(monkeypatch, certain, _cause("second", 0.3, "D001", "D002")) == [
        "first",
        "second",
    ]


def test_nobody_is_accused_below_the_floor(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _ranked(monkeypatch, _cause("first", 0.19, "D001")) == []
    assert _ranked(monkeypatch, _cause("first", 0.2, "D001")) == ["first"]


# The window


def _steps(values: Sequence[float], name: str = TRAINING_RETURN) -> list[Step]:
    return [Step(n, n, 0.0, {name: value}) for n, value in enumerate(values, 1)]


def _watched(steps: Sequence[Step]) -> Window:
    window = Window(1000)
    for step in steps:
        window.append(step)
    return window


def test_where_a_long_return_began_is_remembered() -> None:
    window = _watched(_steps(np.arange(3.0 * SPAN).tolist()))
    spaced = returns_of(window, TRAINING_RETURN)
    assert spaced[:2].tolist() == [2.0, 2.0]  # the median of 0, 1, 2, 3, 4
    assert spaced[2] > 2 * SPAN
    assert spaced[-1] == 3 * SPAN - 1


def test_a_return_that_is_remembered_whole_keeps_its_own_first_values() -> None:
    spaced = returns_of(_watched(_steps(np.arange(float(SPAN)).tolist())), TRAINING_RETURN)
    assert spaced[0] == 0.0
    assert spaced[1] > 2.0


@pytest.mark.parametrize("count", [1, 4, SPAN, SPAN + 3, 3 * SPAN])
def test_a_window_from_columns_is_the_one_a_live_run_has(count: int) -> None:
    generator = np.random.default_rng(count)
    steps = []
    for n in range(1, count + 1):
        signals = {"a": float(generator.normal()), "b": math.nan if n % 3 else float(n)}
        if n % 5 == 0:
            signals["rare"] = float(generator.normal())
        steps.append(Step(n, 7 * n, 0.5 * n, signals))
    columns = columns_of(step.to_json() for step in steps)
    assert columns is not None
    window, live = Window.at_end_of(columns, 1000), _watched(steps)
    assert window.step is not None
    assert window.step.index == count
    assert window.progress == live.progress
    for name in ("a", "b", "rare", "never"):
        assert window.count(name) == live.count(name)
        assert window.fresh(name) == live.fresh(name)
        np.testing.assert_array_equal(window.last(name), live.last(name))
        for look in (Window.first, Window.lowest, Window.highest, Window.latest):
            np.testing.assert_equal(look(window, name), look(live, name))
        for part, same in zip(window.split(name, 300), live.split(name, 300), strict=True):
            np.testing.assert_array_equal(part, same)
        assert window.last_raised(name) == live.last_raised(name)


# Enough to see


def test_a_rule_has_seen_as_much_as_the_rarest_signal_it_needs() -> None:
    window = _watched(trace()[:7])
    rule = next(rule for rule in DEFAULT if rule.id == "D002")  # reads one, and any of four
    assert values_seen(rule, window) == 7
    window = _watched(_steps([1.0] * 9, "train.updates"))
    assert values_seen(rule, window) == 0


def test_settings_and_the_machine_alone_say_nothing_of_training() -> None:
    alone = [
        Step(n, n, 0.0, {"setting.entropy_weight": 0.1, "time.rate": 1.0})
        for n in range(1, 2 * ENOUGH)
    ]
    (doubt,) = doubts(_watched(alone), DEFAULT)
    assert "nothing was recorded" in doubt
    assert doubts(_watched(trace()), DEFAULT) == []


def test_episodes_of_no_steps_are_no_way_out() -> None:
    monitor = Monitor(config_of("ddpg"))
    lengths, ends = [100.0] * 5 + [0.0], 1.0
    for step in trace(rollout__length_mean=lengths, rollout__terminated_share=ends):
        monitor.observe(step)
    assert "D010" not in [finding.rule for finding in monitor.findings]
