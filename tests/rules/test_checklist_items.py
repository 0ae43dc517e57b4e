"""Where each item of a checklist passes and where it fails."""

from __future__ import annotations

from typing import Any

import pytest

from steadyrl.core.presets import load_config, parse_config
from steadyrl.core.records import Finding, Step
from steadyrl.core.run_config import RunConfig
from steadyrl.stability.check import check_config
from steadyrl.stability.checklists import ITEMS, Line, go_through
from steadyrl.stability.language_checklist import LANGUAGE_ITEMS
from tests.rules.traces import TOTAL_ENV_STEPS, columns, trace, trace_of


def _config(**changes: Any) -> RunConfig:
    return parse_config(
        {
            "algorithm": "ppo",
            "environment": {"id": "X-v0"},
            "total_env_steps": TOTAL_ENV_STEPS,
            **changes,
        }
    )


def _asked(config: RunConfig, steps: Any, *findings: Finding) -> dict[tuple[str, str], bool | None]:
    lines = go_through(config, columns(steps), findings)
    return {(line.phase, line.statement): line.passed for line in lines}


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
    lines = go_through(_config(**config), columns(steps), [])
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
        rule="D009", name="x", severity="severe", step=1, taken=at, message="", evidence={}
    )
    lines = go_through(config, columns([step]), [finding])
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
        ((6.0, 4.0, 5.0, 2.0, 3.0, 1.0), True),  # p = 0.06: it may be chance
        ((1.0, 1.5, 2.0, 2.5, 3.0), True),
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
        ((1.0, 5.0, 3.0), (0.0, 0.0, 0.0, 4.0, 9.0), True),  # the median of the last three
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
        ((0.0, 0.0, 10.0, 10.0, 10.0), (0.0, 8.0, 8.0, 0.0), True),  # the median of three
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
    shares = (-5.0, -5.0, -5.0, -5.0, -1.0, 0.2, 0.3)
    steps = _stretch(*({"value.explained_variance": share} for share in shares))
    line = _line("early", "The values begin to explain the returns", steps)
    assert line is not None
    assert (line.passed, line.seen) == (True, "-5.00 to 0.20")


@pytest.mark.parametrize("phase", ["early", "middle", "late"])
def test_a_phase_that_lies_ahead_is_not_reached_item_by_item(phase: str) -> None:
    lines = [line for line in go_through(_config(), None, []) if line.phase == phase]
    others = set(LANGUAGE_ITEMS)
    statements = [i.statement for i in ITEMS if i.phase == phase and i not in others]
    assert [line.statement for line in lines] == statements
    assert {(line.passed, line.seen) for line in lines} == {(None, "not reached")}


def test_a_signal_that_a_run_does_not_have_is_no_item_of_its_later_phases() -> None:
    steps = _stretch({"policy.kl": 0.01})
    assert _line("early", "The policy has not committed yet", steps) is None
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
    config = parse_config({"algorithm": algorithm, "environment": {"id": "X-v0"}, **settings})
    lines = {line.statement: line.passed for line in go_through(config, None, [])}
    assert lines.get(statement) is passed


def test_what_lies_on_the_border_of_two_phases_belongs_to_the_first() -> None:
    at = round(0.15 * TOTAL_ENV_STEPS)
    finding = Finding(
        rule="D009", name="x", severity="severe", step=1, taken=at, message="", evidence={}
    )
    found = _asked(_config(), trace(), finding)
    assert found["early", "Nothing severe"] is False
    assert found["middle", "Nothing severe"] is True
    risen = [*_evaluated(1.0, first=15), *_evaluated(2.0, 2.0, 2.0, first=16)]
    assert _asked(_config(), risen)["middle", "The return has risen"] is True


def test_only_what_is_severe_disturbs_the_calm() -> None:
    finding = Finding(
        rule="D009", name="x", severity="warning", step=1, taken=100, message="", evidence={}
    )
    lines = go_through(_config(), columns(trace()), [finding])
    calm = [(x.passed, x.seen) for x in lines if x.statement == "Nothing severe"]
    assert calm == [(True, "none")] * 3


def test_a_mere_note_of_a_static_check_is_no_objection() -> None:
    config = load_config("ddpg/pendulum")
    assert all(concern.severity == "note" for concern in check_config(config))
    first = go_through(config, None, [])[0]
    assert (first.statement, first.passed, first.seen) == ("No static check objects", True, "none")
