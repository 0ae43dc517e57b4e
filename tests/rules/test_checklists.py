"""Checklists: what passes, what fails, and what cannot be told."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from steadyrl.cli.main import main
from steadyrl.core.configs import load_config, parse_config
from steadyrl.core.configs.run import RunConfig
from steadyrl.core.records import Finding, Step
from steadyrl.run import train
from steadyrl.stability.check import check_config
from steadyrl.stability.checklists import Line, go_through
from tests.rules.traces import TOTAL_ENV_STEPS, trace, trace_of


def _config(**changes: Any) -> RunConfig:
    return parse_config({"algorithm": "ppo", "total_env_steps": TOTAL_ENV_STEPS, **changes})


def _asked(config: RunConfig, steps: Any, *findings: Finding) -> dict[tuple[str, str], bool | None]:
    lines = go_through(config, steps, findings)
    return {(line.phase, line.statement): line.passed for line in lines}


def test_a_healthy_run_passes_everything_that_was_measured() -> None:
    found = _asked(_config(), trace())
    assert False not in found.values()
    assert {phase for phase, _ in found} == {"before", "early", "middle", "late"}
    assert found["late", "What was gained is kept"] is True


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"policy__kl": 0.5}, ("early", "KL per update stays below 0.1")),
        ({"policy__first_ratio_error": 0.1},
         ("early", "Before the first gradient step every ratio is one")),
        ({"policy__entropy_share": 0.01}, ("early", "The policy has not committed yet")),
        ({"policy__clip_fraction": 0.7}, ("middle", "Fewer than 45 % are clipped")),
        ({"trpo__line_search_success": 0.0}, ("middle", "Line searches succeed")),
        (
            {"trpo__line_search_success": lambda i: float(i % 5 < 3)},
            ("middle", "Line searches succeed"),
        ),
        ({"value__explained_variance": -0.5}, ("middle", "The values explain the returns")),
        ({"eval__return_mean": lambda i: -100.0 - i}, ("middle", "The return has risen")),
        ({"eval__return_mean": lambda i: 2.0 * i if i < 45 else 3.0},
         ("late", "What was gained is kept")),
    ],
)  # fmt: skip
def test_an_item_fails_on_what_it_is_about(changes: Any, line: tuple[str, str]) -> None:
    assert _asked(_config(), trace(**changes))[line] is False


# The signal lies exactly on the bound that an item still allows, or just beyond it.
BOUNDS: list[tuple[str, float, float, tuple[str, ...], str]] = [
    ("policy.kl", 0.1, 0.101, ("early", "middle", "late"), "KL per update stays below 0.1"),
    ("policy.first_ratio_error", 1e-3, 1.1e-3, ("early",),
     "Before the first gradient step every ratio is one"),
    ("policy.entropy_share", 0.3, 0.29, ("early",), "The policy has not committed yet"),
    ("policy.clip_fraction", 0.45, 0.46, ("middle",), "Fewer than 45 % are clipped"),
    ("value.explained_variance", 0.0, -0.01, ("middle",), "The values explain the returns"),
    ("value.explained_variance", 0.01, 0.0, ("early",), "The values begin to explain the returns"),
    ("q.bound_ratio", 1.2, 1.25, ("middle", "late"), "|Q| stays within its bound"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "good", "bad", "phases", "statement"), BOUNDS)
def test_an_item_allows_its_bound_and_nothing_beyond(
    name: str, good: float, bad: float, phases: tuple[str, ...], statement: str
) -> None:
    for value, passed in ((good, True), (bad, False)):
        found = _asked(_config(), trace_of({name: value}))
        assert [found[phase, statement] for phase in phases] == [passed] * len(phases)


def _stretch(
    *signals: dict[str, float], first: int = 1, total: int = TOTAL_ENV_STEPS
) -> list[Step]:
    """Steps of 1 % of the budget each, from the `first` hundredth on."""
    return [
        Step(at, at * total // 100, 0.0, dict(found))
        for at, found in enumerate(signals, start=first)
    ]


def _evaluated(*values: float, first: int) -> list[Step]:
    return _stretch(*({"eval.return_mean": value} for value in values), first=first)


def _line(phase: str, statement: str, steps: list[Step], **config: Any) -> Line | None:
    lines = go_through(_config(**config), steps, [])
    return next((x for x in lines if (x.phase, x.statement) == (phase, statement)), None)


@pytest.mark.parametrize(
    ("share", "phase"),
    [
        (0.15, "early"),
        (0.1501, "middle"),
        (0.6, "middle"),
        (0.6001, "late"),
        (1.7, "late"),
    ],
)
def test_a_phase_includes_its_end_and_the_last_has_none(share: float, phase: str) -> None:
    config, at = _config(total_env_steps=10_000), round(10_000 * share)
    step = Step(1, at, 0.0, {"policy.kl": 0.01})
    finding = Finding(
        rule="D009", name="x", severity="severe", step=1, env_steps=at, message="", evidence={}
    )
    lines = go_through(config, [step], [finding])
    told = {x.phase for x in lines if x.statement == "KL per update stays below 0.1" and x.passed}
    assert told == {phase}
    calm = {str(x.phase): (x.passed, x.seen) for x in lines if x.statement == "Nothing severe"}
    assert calm.pop(phase) == (False, "D009 x")
    assert set(calm.values()) == {(None, "not reached")}


@pytest.mark.parametrize(("share", "passed"), [(0.7, True), (0.69, False)])
def test_seven_searches_in_ten_are_enough(share: float, passed: bool) -> None:
    outcomes = [{"trpo.line_search_success": float(n < 100 * share)} for n in range(100)]
    steps = [Step(n + 1, 1000 + n, 0.0, outcomes[n]) for n in range(100)]
    line = _line("middle", "Line searches succeed", steps)
    assert line is not None
    assert (line.passed, line.seen) == (passed, f"{share:.0%} of them")


@pytest.mark.parametrize(
    ("values", "passed"),
    [
        ((5.0, 4.0, 3.0, 2.0, 1.0), False),  # p = 0.03
        ((4.0, 3.0, 2.0, 1.0), True),  # p = 0.09: it may be chance
        ((1.0, 2.0, 3.0, 4.0, 5.0), True),
        ((5.0, 5.0, 5.0), True),
        ((5.0, 1.0), None),
    ],
)
def test_the_return_falls_if_that_is_no_chance(
    values: tuple[float, ...], passed: bool | None
) -> None:
    line = _line("early", "The return does not fall", _evaluated(*values, first=1))
    assert line is not None
    assert line.passed is passed
    assert (line.seen == "2 evaluations: too few to tell") is (passed is None)


@pytest.mark.parametrize(
    ("before", "within", "passed"),
    [
        ((1.0, 5.0, 3.0), (0.0, 0.0, 4.0, 9.0, 4.0), True),  # the median of the last three
        ((1.0, 5.0, 3.0), (9.0, 3.0, 9.0, 3.0, 3.0), False),  # as before is not risen
        ((1.0,), (2.0, 2.0), None),
        ((), (2.0, 2.0, 2.0), None),
        ((1.0,), (2.0, 2.0, 2.0), True),
    ],
)
def test_the_return_has_risen_if_the_phase_ends_above_the_one_before(
    before: tuple[float, ...], within: tuple[float, ...], passed: bool | None
) -> None:
    steps = [*_evaluated(*before, first=1), *_evaluated(*within, first=16)]
    line = _line("middle", "The return has risen", steps)
    assert line is not None
    assert line.passed is passed


@pytest.mark.parametrize(
    ("before", "within", "passed"),
    [
        ((0.0, 0.0, 10.0, 10.0, 10.0), (8.0, 8.0, 8.0), True),  # 80 % of what was gained
        ((0.0, 0.0, 10.0, 10.0, 10.0), (7.9, 7.9, 7.9), False),
        ((0.0, 0.0, 1.0, 99.0, 1.0), (0.9, 0.9, 0.9), True),  # one lucky evaluation is no level
        ((0.0, 2.0, 2.0, 2.0), (10.0, 10.0, 10.0, 5.0, 5.0, 5.0), False),  # gained late, then lost
        ((5.0, 5.0, 1.0), (5.0, 5.0, 5.0), True),  # nothing was gained, nothing is lost
        ((0.0, 4.0, 6.0, 6.0, 6.0), (5.3, 5.3, 5.3), True),  # it began at the median of two
        ((0.0, 0.0, 10.0, 10.0, 10.0), (10.0, 10.0), None),
        ((0.0, 0.0), (1.0, 1.0, 1.0), None),
        ((0.0, 0.0, 10.0), (1.0, 1.0, 1.0), True),
    ],
)
def test_what_was_gained_is_kept_down_to_four_fifths(
    before: tuple[float, ...], within: tuple[float, ...], passed: bool | None
) -> None:
    steps = [*_evaluated(*before, first=1), *_evaluated(*within, first=61)]
    line = _line("late", "What was gained is kept", steps)
    assert line is not None
    assert line.passed is passed


def test_the_last_values_say_whether_the_critic_begins_to_learn() -> None:
    shares = (-5.0, -5.0, -5.0, -1.0, 0.2, 0.3)
    steps = _stretch(*({"value.explained_variance": share} for share in shares))
    line = _line("early", "The values begin to explain the returns", steps)
    assert line is not None
    assert (line.passed, line.seen) == (True, "-5.00 to 0.20")


@pytest.mark.parametrize("phase", ["early", "middle", "late"])
def test_a_phase_that_lies_ahead_is_not_reached_item_by_item(phase: str) -> None:
    lines = [line for line in go_through(_config(), [], []) if line.phase == phase]
    assert len(lines) >= 4
    assert {(line.passed, line.seen) for line in lines} == {(None, "not reached")}


def test_a_signal_that_a_run_does_not_have_is_no_item_of_its_later_phases() -> None:
    steps = _stretch({"policy.kl": 0.01})
    assert _line("early", "KL per update stays below 0.1", steps) is not None
    assert _line("middle", "KL per update stays below 0.1", steps) is not None  # it will come
    assert _line("middle", "|Q| stays within its bound", steps) is None
    assert _line("middle", "Line searches succeed", steps) is None


@pytest.mark.parametrize(
    ("algorithm", "settings", "statement", "passed"),
    [
        ("ppo", {"evaluation": {"episodes": 0}}, "Evaluation is on", False),
        ("ppo", {"evaluation": {"episodes": 1}}, "Evaluation is on", True),
        ("bc", {}, "Evaluation is on", None),  # cloning needs no environment
        ("ppo", {"gradient_clip": 0.5}, "Gradients are clipped", True),
        ("ddpg", {}, "Gradients are clipped", None),
        ("trpo", {}, "Gradients are clipped", None),
    ],
)
def test_settings_are_asked_where_they_matter(
    algorithm: str, settings: dict[str, Any], statement: str, passed: bool | None
) -> None:
    config = parse_config({"algorithm": algorithm, **settings})
    lines = {line.statement: line.passed for line in go_through(config, [], [])}
    assert lines.get(statement) is passed


def test_a_mere_note_of_a_static_check_is_no_objection() -> None:
    config = load_config("ddpg/pendulum")
    assert all(concern.severity == "note" for concern in check_config(config))
    first = go_through(config, [], [])[0]
    assert (first.statement, first.passed, first.seen) == ("No static check objects", True, "none")


def test_a_severe_finding_fails_its_phase_only() -> None:
    finding = Finding(
        rule="D009",
        name="x",
        severity="severe",
        step=50,
        env_steps=TOTAL_ENV_STEPS - 100,
        message="m",
        evidence={},
    )
    found = _asked(_config(), trace(), finding)
    assert found["late", "Nothing severe"] is False
    assert found["early", "Nothing severe"] is True


def test_what_was_not_reached_or_not_measured_is_neither() -> None:
    found = _asked(_config(), trace()[:5])
    assert found["late", "Nothing severe"] is None
    assert found["middle", "The return has risen"] is None


def test_failed_searches_without_a_kl_are_not_counted() -> None:
    steps = trace(policy__kl=lambda i: math.nan if i % 2 else 0.01)
    assert _asked(_config(), steps)["early", "KL per update stays below 0.1"] is True


def test_settings_are_asked_before_anything_runs() -> None:
    found = _asked(_config(gradient_clip=None, learning_rate=0.5), [])
    assert found["before", "Gradients are clipped"] is False
    assert found["before", "No static check objects"] is False


def test_the_command_prints_the_phases_and_fails_if_asked_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = parse_config(
        {
            "algorithm": "ppo",
            "total_env_steps": 1024,
            "rollout_length": 128,
            "gradient_clip": None,
            "environment": {"id": "CartPole-v1", "count": 2},
            "evaluation": {"every_env_steps": 256, "episodes": 2},
        }
    )
    train(config, tmp_path / "run")
    assert main(["checklist", str(tmp_path / "run")]) == 0
    text = capsys.readouterr().out
    assert "Gradients are clipped" in text
    assert "gradient_clip is None" in text
    assert main(["checklist", str(tmp_path / "run"), "--strict", "--json"]) == 1
    lines = json.loads(capsys.readouterr().out)
    assert {"phase", "statement", "passed", "seen"} == lines[0].keys()
