"""Where each detector begins to speak: one step, one value beyond what it allows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pytest

from steadyrl.core.records import Finding, Step
from steadyrl.core.signals import CATALOGUE
from steadyrl.stability.detectors import DEFAULT, OPTIONAL
from steadyrl.stability.monitor import Monitor
from tests.rules.language_limits import CASES as LANGUAGE_CASES
from tests.rules.limits import CASES, Signals
from tests.rules.limits_met import GAINED, MET_CASES
from tests.rules.limits_of_policies import LEAP, POLICY_CASES
from tests.rules.replay import LIMITS as REPLAY_LIMITS
from tests.rules.test_rules import algorithm_with, config_of

RULES = {rule.id: rule for rule in (*DEFAULT, *OPTIONAL)}
TOTAL = 6000  # environment steps; a Step takes 100, so 60 Steps are all


def findings(rule: str, signals: Signals, length: int, per_step: int = 100) -> list[Finding]:
    """What one rule says of a run that has these signals and no others; None: not recorded."""
    detector = RULES[rule]
    monitor = Monitor(
        config_of(algorithm_with(detector.traits)),
        detectors=[detector],
    )
    for at in range(length):
        values = {
            name: value[min(at, len(value) - 1)] if isinstance(value, Sequence) else value
            for name, value in signals.items()
        }
        known = {name: value for name, value in values.items() if value is not None}
        monitor.observe(Step(at + 1, per_step * (at + 1), 0.0, known))
    return monitor.findings


def longest(signals: Signals) -> int:
    return max((len(v) for v in signals.values() if isinstance(v, Sequence)), default=60)


@pytest.mark.parametrize(
    "case",
    CASES + POLICY_CASES + LANGUAGE_CASES + MET_CASES + REPLAY_LIMITS,
    ids=lambda case: f"{case.rule} {case.about}",
)
def test_a_rule_speaks_from_its_limit_on_and_not_before(case: Any) -> None:
    length = case.at or longest(case.signals)
    found = findings(case.rule, case.signals, length, case.per_step)
    assert [finding.step for finding in found] == ([case.at] if case.at else [])
    for name, value in (case.evidence or {}).items():
        assert found[0].evidence[name] == pytest.approx(value, nan_ok=True), name


class Row(NamedTuple):
    """A rule that looks at one signal's newest values: the first value it minds, the last not."""

    rule: str
    signal: str
    steps: int
    bad: float
    good: float
    which: str  # of the newest values have to be bad: all of them, most, or their mean
    newest: bool = False  # whether the very newest one has to be, too


ROWS = [
    Row("D005", "q.bound_ratio", 3, 1.21, 1.2, "all"),
    Row("D008", "action.saturation", 15, 0.9, 0.89, "most", newest=True),
    Row("D014", "action.noise", 5, 0.01, 0.011, "all"),
    Row("D015", "action.noise", 10, 0.4, 0.39, "most", newest=True),
    Row("D016", "observation.scale_ratio", 5, 100.0, 99.0, "most", newest=True),
    Row("D017", "observation.constant_share", 3, 0.5, 0.49, "all"),
    Row("D018", "td.terminal_error", 2, 1.1e-6, 1e-6, "all"),
    Row("D020", "replay.misaligned_share", 2, 0.001, 0.0, "all"),
    Row("D022", "replay.duplicate_share", 15, 0.2, 0.19, "most", newest=True),
    Row("D023", "td.fresh_ratio", 15, 4.0, 3.9, "most", newest=True),
    Row("D032", "machine.swap_mb_per_second", 5, 1.0, 0.99, "all"),
    Row("D101", "policy.first_ratio_error", 2, 1.1e-3, 1e-3, "all"),
    Row("D102", "policy.kl", 3, 0.16, 0.15, "most", newest=True),
    Row("D103", "policy.clip_fraction", 5, 0.46, 0.45, "mean"),
    Row("D107", "policy.kl", 10, 9.9e-6, 1e-5, "all"),
    Row("D109", "trpo.line_search_success", 10, 0.69, 0.7, "mean"),
    Row("D110", "trpo.cg_residual", 5, 0.91, 0.9, "most"),
    Row("D111", "trpo.kl_share", 10, 0.09, 0.1, "most"),
    Row("D140", "language.equal_groups_share", 5, 0.71, 0.7, "mean"),
    Row("D141", "language.cut_share", 5, 0.81, 0.8, "mean"),
    Row("D151", "language.mask_error", 2, 1e-4, 0.0, "all"),
    Row("D149", "language.sampler_gap", 3, 0.051, 0.05, "all"),
    Row("D149", "language.sampling_gap", 3, 0.051, 0.05, "all"),
]


def spoken(row: Row, *values: float) -> list[int]:
    return [f.step for f in findings(row.rule, {row.signal: values}, len(values))]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.rule)
def test_a_rule_needs_so_many_values_beyond_its_limit(row: Row) -> None:
    assert spoken(row, *[row.bad] * row.steps) == [row.steps]
    assert spoken(row, *[row.bad] * (row.steps - 1)) == []
    assert spoken(row, *[row.good] * 3 * row.steps) == []


@pytest.mark.parametrize("row", [row for row in ROWS if row.which != "mean"], ids=lambda r: r.rule)
def test_a_rule_bears_with_as_many_better_values_as_it_says(row: Row) -> None:
    if row.which == "all":
        assert spoken(row, row.good, *[row.bad] * (row.steps - 1)) == []
        assert spoken(row, row.good, *[row.bad] * row.steps) == [row.steps + 1]
        assert spoken(row, *[row.bad] * (row.steps - 1), row.good) == []
        return
    few = (row.steps - 1) // 2
    many = row.steps // 2 + 1
    assert spoken(row, *[row.good] * few, *[row.bad] * (row.steps - few)) == [row.steps]
    assert spoken(row, *[row.good] * many, *[row.bad] * (row.steps - many)) == []
    last = [] if row.newest else [row.steps]
    assert spoken(row, *[row.bad] * (row.steps - 1), row.good) == last


# The severity that the newest finding has.
LEVELS: list[tuple[str, Signals, str | None]] = [
    ("D010", {"rollout.terminated_share": 1.0, "eval.length_mean": 200.0,
              "rollout.length_mean": [*[100.0] * 5, *[70.0] * 20],
              "rollout.reward_mean": [*[-1.0] * 5, *[-1.02] * 20]}, "severe"),
    ("D009", {"eval.return_mean": [*GAINED, 40.0, 40.0, 39.0, 39.0, 39.0]}, "warning"),
    ("D009", {"eval.return_mean": [*GAINED, 90.0, 90.0, 39.0, 39.0, 39.0]}, "warning"),
    ("D017", {"observation.constant_share": 1.0}, "severe"),
    ("D017", {"observation.constant_share": 0.99}, "warning"),
    ("D033", {"machine.disk_free_gb": 1.0}, None),
    ("D033", {"machine.disk_free_gb": 0.99}, "warning"),
    ("D033", {"machine.disk_free_gb": 0.1}, "warning"),
    ("D033", {"machine.disk_free_gb": 0.09}, "severe"),
    ("D034", {"machine.memory_free_share": 0.03}, None),
    ("D034", {"machine.memory_free_share": 0.029}, "warning"),
    ("D034", {"machine.memory_free_share": 0.01}, "warning"),
    ("D034", {"machine.memory_free_share": 0.009}, "severe"),
    ("D035", {"machine.writing_share": 0.19}, None),
    ("D035", {"machine.writing_share": 0.2}, "warning"),
    ("D102", {"policy.kl": 1.0}, "warning"),
    ("D102", {"policy.kl": 1.1}, "severe"),
    ("D120", {**LEAP, "bc.nll_max": [*[-20.0] * 14, 0.0]}, "warning"),
    ("D120", {**LEAP, "bc.nll_max": [*[-20.0] * 14, 0.1]}, "severe"),
    ("D140", {"language.equal_groups_share": 0.95}, "warning"),
    ("D140", {"language.equal_groups_share": 0.96}, "severe"),
    ("D142", {"language.reference_kl": 5.0}, None),
    ("D142", {"language.reference_kl": 5.1}, "severe"),
    ("D149", {"language.sampler_gap": 0.2}, "warning"),
    ("D149", {"language.sampler_gap": 0.21}, "severe"),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "signals", "severity"), LEVELS)
def test_a_finding_is_as_severe_as_what_was_seen(
    rule: str, signals: Signals, severity: str | None
) -> None:
    found = findings(rule, signals, longest(signals))
    assert [finding.severity for finding in found][-1:] == ([severity] if severity else [])


STILL: Signals = {"train.updates": [0.0, 1.0, 2.0, 3.0], "actor.update_ratio": 0.0}
SAID: list[tuple[str, Signals, str]] = [
    ("D002", {**STILL, "actor.gradient_norm": 0.0}, "its gradient is zero"),
    ("D002", {**STILL, "actor.gradient_norm": 1e-9}, "is as good as zero (1.0e-09)"),
    ("D002", {**STILL, "actor.gradient_norm": 1.1e-9}, "although it has a gradient"),
    ("D009", {"eval.return_mean": [*GAINED, 39.0, 38.0, 30.0]}, "to 30: 70% of the gain is lost"),
    ("D017", {"observation.constant_share": [1.0] * 3}, "the observation never changes"),
    ("D017", {"observation.constant_share": [0.7] * 3}, "70% of it never changes"),
    ("D019", {"replay.truncated_as_terminated": [0.5]}, "50% of the truncated transitions are"),
    ("D019", {"rollout.truncated_as_terminated": [0.5]}, "50% of the truncated states' worth"),
    ("D114", {"advantage.std": [2.0] * 5 + [0.02] * 2, "policy.kl": [0.01] * 6 + [0.2]}, "to 1.0%"),
    ("D026", {"critic.gradient_norm": [50.0] * 10, "setting.gradient_clip": 0.25}, "to 1/200 of"),
    ("D104", {"policy.entropy_share": [0.04, 0.03, 0.02, 0.03, 0.01], "eval.return_mean": 1.0},
     "has 1.0% of its possible entropy left"),
    ("D104", {"policy.std": [*[2.0] * 5, 0.1, 0.12, 0.14, 0.16, 0.18], "eval.return_mean": 1.0},
     "has 9.0% of its first standard deviation left"),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "signals", "said"), SAID)
def test_a_finding_says_what_its_evidence_comes_to(rule: str, signals: Signals, said: str) -> None:
    assert [said in f.message for f in findings(rule, signals, longest(signals))] == [True]


def test_worse_findings_of_one_rule_come_when_their_own_limits_are_passed() -> None:
    short: dict[str, Any] = {
        "rollout.terminated_share": 1.0,
        "rollout.length_mean": [*[100.0] * 5, *[50.0] * 40],
        "rollout.reward_mean": [*[-1.0] * 5, *[-1.02] * 40],
    }
    assert [(f.severity, f.step) for f in findings("D010", short, 45)] == [
        ("warning", 11),
        ("severe", 25),  # twenty in a row
    ]
    late: Mapping[str, Any] = {
        "rollout.terminated_share": 1.0,
        "rollout.length_mean": [*[100.0] * 40, *[50.0] * 20],
        "rollout.reward_mean": [*[-1.0] * 40, *[-1.02] * 20],
    }
    assert [(f.severity, f.step) for f in findings("D010", late, 60)] == [
        ("warning", 46),
        ("severe", 48),  # four fifths of the budget
    ]
    short_run: Signals = {
        "eval.return_mean": [0.0, 101.0, 100.0, *[0.0, 1.0] * 4],
        "eval.return_std": 1.0,
    }
    assert [(f.severity, f.step) for f in findings("D009", short_run, 11)] == [
        ("warning", 6),  # three and three before
        ("severe", 8),  # five and three before
    ]
    fallen = {"eval.return_mean": [0.0, 1.0] * 5 + [100.0, 101.0] * 5 + [39.0] * 5}
    assert [(f.severity, f.step) for f in findings("D009", fallen, 25)] == [
        ("warning", 23),
        ("severe", 25),
    ]


@pytest.mark.parametrize(
    ("name", "value", "broken"),
    [
        ("q.mean", math.nan, True),
        ("q.mean", -math.inf, True),
        ("never declared", math.nan, True),
        ("may be nan", math.nan, False),
        ("may be nan", math.inf, True),
    ],
)
def test_a_nan_is_broken_unless_the_catalogue_says_when_it_may_be_one(
    name: str, value: float, broken: bool
) -> None:
    if name == "may be nan":
        name = next(signal for signal, declared in CATALOGUE.items() if declared.nan_when)
    found = findings("D001", {"q.std": 1.0, name: value}, 1)
    assert [list(finding.evidence) for finding in found] == ([[name]] if broken else [])


@pytest.mark.parametrize(
    ("right", "severity"),
    [
        ([0.6] * 2, "warning"),
        ([0.6] * 5, "severe"),
        ([0.36] * 2, "warning"),
        ([0.34] * 2, "severe"),
    ],
)
def test_a_model_worse_than_its_start_is_lost_if_that_lasts_or_half_is_gone(
    right: list[float], severity: str
) -> None:
    signals: Signals = {
        "language.accuracy_warm": [0.7],
        "eval.return_std": 0.02,
        "language.accuracy": right,
    }
    assert findings("D156", signals, len(right))[-1].severity == severity
