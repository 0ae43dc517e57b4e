"""Which rules look, when they speak, and what a monitor says it could not see."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from steadyrl.core.presets import parse_config
from steadyrl.core.records import Evidence, Severity, Step
from steadyrl.core.run_config import RunConfig
from steadyrl.core.traits import Trait
from steadyrl.stability import monitor as monitor_module
from steadyrl.stability.monitor import Monitor
from steadyrl.stability.rules import Case, Detector, Sighting, concerned
from steadyrl.stability.window import Window
from tests.rules.test_rules import config_of
from tests.rules.traces import trace

LEVELS: Mapping[float, Severity] = {1.0: "note", 2.0: "warning", 3.0: "severe"}


def level(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Sees what the signal says: 0 nothing, then a note, a warning, something severe."""
    value = window.latest("x")
    return Sighting("seen", {"x": value}, LEVELS.get(value)) if value else None


def rule(identity: str = "D900", **changes: Any) -> Detector:
    texts = dict.fromkeys(("symptom", "why", "false_alarms", "calibrated_on"), "text")
    settings: dict[str, Any] = {"severity": "warning", "reads": ("x",), "limits": {}, **texts}
    return Detector(id=identity, name="rule", **{**settings, "detect": level, **changes})


def foreign(family: str, **settings: Any) -> RunConfig:
    return parse_config({"algorithm": "foreign", "family": family, **settings})


def spoken(monitor: Monitor, *values: float, signal: str = "x") -> list[tuple[str, int, str]]:
    steps = [Step(i + 1, 10 * (i + 1), 0.0, {signal: v}) for i, v in enumerate(values)]
    return [(f.rule, f.step, f.severity) for step in steps for f in monitor.observe(step)]


def test_a_rule_speaks_again_only_when_it_gets_worse() -> None:
    monitor = Monitor(detectors=[rule()])
    found = spoken(monitor, 0.0, 1.0, 1.0, 3.0, 2.0, 3.0)
    assert found == [("D900", 2, "note"), ("D900", 4, "severe")]
    assert [(f.rule, f.taken) for f in monitor.findings] == [("D900", 20), ("D900", 40)]


def test_a_sighting_without_a_severity_has_that_of_its_rule() -> None:
    assert spoken(Monitor(detectors=[rule()]), 7.0, 3.0) == [
        ("D900", 1, "warning"),
        ("D900", 2, "severe"),
    ]


def test_a_rule_that_said_the_worst_is_not_asked_again() -> None:
    asked = []

    def note(window: Window, limits: Mapping[str, float]) -> Sighting | None:
        asked.append(window.count("x"))
        return level(window, limits)

    spoken(Monitor(detectors=[rule(detect=note)]), 0.0, 2.0, 3.0, 3.0)
    assert asked == [1, 2, 3]


def test_a_silent_rule_does_not_silence_those_after_it() -> None:
    silent = [
        rule("D901", reads=("missing",)),
        rule("D902", reads=("x",), any_of=("missing", "too")),
        rule("D903", detect=lambda window, limits: None),
        rule("D904", severity="severe", detect=lambda window, limits: Sighting("always", {})),
    ]
    found = spoken(Monitor(detectors=[*silent, rule()]), 0.0, 1.0, 3.0)
    assert [name for name, *_ in found] == ["D904", "D900", "D900"]


def test_a_rule_repeated_at_its_own_severity_does_not_silence_those_after_it() -> None:
    always = rule("D904", detect=lambda window, limits: Sighting("always", {}))
    found = spoken(Monitor(detectors=[always, rule()]), 0.0, 1.0)
    assert [name for name, *_ in found] == ["D904", "D900"]


def test_a_rule_looks_as_soon_as_its_first_signal_is_there() -> None:
    assert spoken(Monitor(detectors=[rule(reads=("x", "y"))]), 3.0) == [("D900", 1, "severe")]


def test_what_was_seen_otherwise_is_a_finding_and_is_not_said_again() -> None:
    severe = rule(severity="severe")
    monitor = Monitor(detectors=[severe])
    told = monitor.tell(severe, "it raised", Step(4, 40, 0.0, {}))
    assert (told.rule, told.step, told.severity, told.message) == ("D900", 4, "severe", "it raised")
    assert monitor.findings == [told]
    assert spoken(monitor, 3.0) == []


def test_probes_are_part_of_the_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monitor_module, "explain_findings", lambda case: list(case.probes))
    answer = Evidence("Q501", "said", {})
    assert list[Any](Monitor().diagnose({"Q501": answer})) == ["Q501"]
    assert Monitor().diagnose() == []


def test_a_rule_looks_once_its_first_signal_and_one_of_its_alternatives_are_there() -> None:
    always = rule(detect=lambda window, limits: Sighting("always", {}), any_of=("a", "b"))
    assert spoken(Monitor(detectors=[always]), 1.0) == []
    monitor = Monitor(detectors=[always])
    assert spoken(monitor, 1.0, signal="b") == []
    assert spoken(monitor, 1.0) == [("D900", 1, "warning")]


@pytest.mark.parametrize(
    ("traits", "family", "asked"),
    [
        ((), "ppo", True),
        (("on_policy",), "ppo", True),
        (("on_policy",), "ddpg", False),
        (("off_policy", "climbs_values"), "td3", True),
        (("off_policy", "climbs_values"), "dqn", False),
        (("off_policy",), "unknown", True),
    ],
)
def test_a_rule_is_asked_where_its_algorithm_may_be_at_work(
    traits: tuple[Trait, ...], family: str, asked: bool
) -> None:
    assert concerned(traits, foreign(family)) is asked
    assert concerned(traits, None)
    monitor = Monitor(foreign(family), detectors=[rule(traits=traits)])
    assert bool(spoken(monitor, 3.0)) is asked


def test_the_budget_is_the_configs_if_it_knows_one() -> None:
    assert Monitor(foreign("ppo", total_env_steps=50)).window.budget == 50
    assert Monitor(foreign("ppo")).window.budget is None
    assert Monitor().window.budget is None


def test_what_rules_lacked_is_said_signal_by_signal() -> None:
    rules = [
        rule("D901", reads=("x", "y")),
        rule("D902", any_of=("a", "b")),
        rule("D903", reads=("y",), any_of=("a", "b")),
        rule("D904", any_of=("x", "b")),
    ]
    monitor = Monitor(detectors=rules)
    spoken(monitor, 0.0)
    assert monitor.unmeasured() == {
        "D901": ["y"],
        "D902": ["a", "b"],
        "D903": ["y", "a", "b"],
    }


@pytest.mark.parametrize(("family", "said"), [("unknown", ["D902"]), ("ppo", ["D901", "D902"])])
def test_of_an_unknown_algorithm_only_what_every_run_should_have_is_missed(
    family: str, said: list[str]
) -> None:
    rules = [rule("D901", reads=("y",), traits=("clipped",)), rule("D902", reads=("y",))]
    monitor = Monitor(foreign(family), detectors=rules)
    spoken(monitor, 0.0)
    assert list(monitor.unmeasured()) == said


def test_a_case_answers_what_causes_ask() -> None:
    monitor = Monitor(detectors=[rule("D901"), rule("D902")])
    spoken(monitor, 3.0)
    monitor.observe(Step(2, 20, 0.0, {"setting.tau": 0.5, "setting.gamma": 0.9}))
    probes = {"Q501": Evidence("Q501", "said", {"now": 4.0})}
    config = foreign("ppo", known={"tau": 0.25})
    case = Case(findings=monitor.findings, window=monitor.window, config=config, probes=probes)
    found = case.found("D902", "D901")
    assert found is not None
    assert found.rule == "D901"  # the earlier one
    assert case.found("D903") is None
    assert case.asked("Q501", "now") == 4.0
    assert case.asked("Q501", "then") != case.asked("Q501", "then")  # NaN
    assert case.asked("Q502", "now") != case.asked("Q502", "now")
    assert case.setting("tau") == 0.25  # the config goes before the log
    assert case.setting("gamma") == 0.9
    assert case.setting("batch_size") is None
    unknown = Case(findings=[], window=monitor.window, config=None)
    assert unknown.setting("tau") == 0.5


def test_looking_back_twice_says_the_same_twice() -> None:
    flat = trace(eval__return_mean=lambda i: -100.0 + 4.0 * (i % 2))[:30]  # half of the budget
    monitor = Monitor(config_of("a2c"))
    for step in flat:
        monitor.observe(step)
    live = list(monitor.findings)
    monitor.window.budget = flat[-1].taken
    monitor.look_back()
    first = [finding.rule for finding in monitor.findings]
    assert "D011" in first
    monitor.findings = live
    monitor.look_back()
    assert [finding.rule for finding in monitor.findings] == first
