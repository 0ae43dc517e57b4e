"""The checklist of language models: where each item passes and where it fails."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from steadyrl.core.presets import load_config, parse_config
from steadyrl.core.records import Step
from steadyrl.core.run_config import RunConfig
from steadyrl.stability.checklists import Line, go_through
from tests.rules.traces import columns

TOTAL = 10_000
# What a pilot looked like: half of the entropy left, a reward that doubles, a distance that grows.
HEALTHY: Mapping[str, Any] = {
    "rollout.return_mean": lambda at: min(0.6, 0.25 + 0.006 * at),
    "language.reward_error": 0.02,
    "language.reward_std": 0.5,
    "language.reference_kl": lambda at: min(0.6, 0.02 * at),
    "policy.entropy": lambda at: 0.7 * 0.985**at,
    "policy.kl": 0.02,
    "policy.first_ratio_error": 1e-6,
    "policy.clip_fraction": 0.05,
    "value.loss": 0.26,
    "value.explained_variance": -0.03,
    "eval.return_mean": 0.84,
    "eval.return_std": 0.02,
}


def _config(**settings: Any) -> RunConfig:
    return load_config("language/tiny", {"total_samples": TOTAL, **settings})


def _steps(changes: Mapping[str, Any] | None = None, count: int = 100) -> list[Step]:
    """Updates of a hundredth of the budget each."""
    signals = {**HEALTHY, **(changes or {})}
    return [
        Step(at + 1, (at + 1) * TOTAL // 100, 0.0,
             {n: float(v(at)) if callable(v) else v for n, v in signals.items() if v is not None})
        for at in range(count)
    ]  # fmt: skip


def _line(lines: list[Line], phase: str, statement: str) -> Line:
    (found,) = [x for x in lines if (x.phase, x.statement) == (phase, statement)]
    return found


def test_a_run_like_the_best_pilots_passes_everything() -> None:
    lines = go_through(_config(), columns(_steps()), [])
    assert [line for line in lines if line.passed is not True] == []
    assert {line.phase for line in lines} == {"before", "early", "middle", "late"}
    assert [line.phase for line in lines] == sorted(
        (line.phase for line in lines), key=["before", "early", "middle", "late"].index
    )


def test_a_run_of_another_kind_is_not_asked() -> None:
    ours = {line.statement for line in go_through(_config(), None, [])}
    config = parse_config({"algorithm": "ppo", "environment": {"id": "X-v0"}})
    theirs = {line.statement for line in go_through(config, None, [])}
    assert {"What is sampled is what is trained", "Half of the entropy is kept"} <= ours
    assert not {"What is sampled is what is trained", "Half of the entropy is kept"} & theirs
    assert "The values explain the returns" in theirs - ours


def _after(index: int, before: float, then: float) -> Callable[[int], float]:
    return lambda at: before if at < index else then


SETTINGS: list[tuple[str, dict[str, Any], bool]] = [
    ("An update rests on 256 completions or more", {"prompts_per_update": 512}, True),
    ("An update rests on 256 completions or more",
     {"prompts_per_update": 255, "minibatch_size": None}, False),
    ("What is sampled is what is trained", {"temperature": 0.9}, False),
    ("What is sampled is what is trained", {"top_p": 0.9}, False),
    ("Evaluation is on", {"evaluation.episodes": 0}, False),
    ("Gradients are clipped", {"gradient_clip": None}, False),
]  # fmt: skip


@pytest.mark.parametrize(("statement", "settings", "passed"), SETTINGS)
def test_settings_are_asked_before_anything_runs(
    statement: str, settings: dict[str, Any], passed: bool
) -> None:
    assert _line(go_through(_config(**settings), None, []), "before", statement).passed is passed


# Phases end at 15 % and 60 % of the budget.
ITEMS: list[tuple[str, str, dict[str, Any], bool]] = [
    ("early", "The reference is where training begins", {"language.reference_kl": 0.02}, True),
    ("early", "The reference is where training begins", {"language.reference_kl": 0.021}, False),
    ("early", "Half of the entropy is kept", {"policy.entropy": _after(8, 1.0, 0.5)}, True),
    ("early", "Half of the entropy is kept", {"policy.entropy": _after(8, 1.0, 0.49)}, False),
    ("early", "The reward does not fall", {"rollout.return_mean": lambda at: 1 - 0.01 * at}, False),
    ("early", "The reward does not fall", {"rollout.return_mean": 0.3}, True),
    ("early", "Values err no more than rewards vary", {"value.loss": 0.375}, True),
    ("early", "Values err no more than rewards vary", {"value.loss": 0.376}, False),
    ("middle", "The reward has risen", {"rollout.return_mean": _after(15, 0.25, 0.291)}, True),
    ("middle", "The reward has risen", {"rollout.return_mean": _after(15, 0.25, 0.289)}, False),
    ("middle", "Entropy falls smoothly", {"policy.entropy": _after(30, 1.0, 0.51)}, True),
    ("middle", "Entropy falls smoothly", {"policy.entropy": _after(30, 1.0, 0.5)}, False),
    ("middle", "The reward does not leap", {"rollout.return_mean": _after(30, 0.3, 0.449)}, True),
    ("middle", "The reward does not leap", {"rollout.return_mean": _after(30, 0.3, 0.46)}, False),
    ("middle", "The reward does not leap", {"rollout.return_mean": _after(30, 0.9, 0.79)}, True),
    ("middle", "Held-out answers keep up", {"eval.return_mean": _after(15, 0.8, 0.761)}, True),
    ("middle", "Held-out answers keep up", {"eval.return_mean": _after(15, 0.8, 0.759)}, False),
    ("late", "Held-out answers keep up", {"eval.return_mean": _after(60, 0.8, 0.759)}, False),
    ("late", "The reward does not fall", {"rollout.return_mean": lambda at: 1 - 0.01 * at}, False),
    ("late", "Entropy settles", {"policy.entropy": _after(80, 1.0, 0.3)}, True),
    ("late", "Entropy settles", {"policy.entropy": _after(80, 1.0, 0.29)}, False),
    ("late", "The distance from the reference settles",
     {"language.reference_kl": _after(80, 0.3, 0.6)}, True),
    ("late", "The distance from the reference settles",
     {"language.reference_kl": _after(80, 0.3, 0.61)}, False),
    ("late", "The distance from the reference settles",
     {"language.reference_kl": _after(80, 0.001, 0.05)}, True),
]  # fmt: skip


@pytest.mark.parametrize(("phase", "statement", "changes", "passed"), ITEMS)
def test_an_item_allows_its_bound_and_nothing_beyond(
    phase: str, statement: str, changes: dict[str, Any], passed: bool
) -> None:
    line = _line(go_through(_config(), columns(_steps(changes)), []), phase, statement)
    assert line.passed is passed, line.seen


def test_what_is_ahead_or_too_little_is_neither_passed_nor_failed() -> None:
    lines = go_through(_config(), columns(_steps(count=3)), [])
    assert _line(lines, "early", "The reward does not fall").seen == "3 updates: too few to tell"
    assert _line(lines, "late", "Entropy settles").seen == "not reached"
    assert {line.passed for line in lines if line.phase in ("middle", "late")} == {None}


def test_what_a_run_does_not_measure_is_left_out() -> None:
    without = {"language.reference_kl": None, "value.loss": None, "value.explained_variance": None}
    statements = {line.statement for line in go_through(_config(), columns(_steps(without)), [])}
    assert "The distance from the reference settles" not in statements
    assert "Values err no more than rewards vary" not in statements


BANDS: list[tuple[str, str, dict[str, float], dict[str, float]]] = [
    ("early", "Entropy lies between 1.5 and 2 nats", {"policy.entropy": 1.5},
     {"policy.entropy": 1.49}),
    ("middle", "Entropy lies between 1 and 1.5 nats", {"policy.entropy": 1.5},
     {"policy.entropy": 1.51}),
    ("late", "Entropy lies between 0.8 and 1.2 nats", {"policy.entropy": 0.8},
     {"policy.entropy": 0.79}),
    ("early", "The reference is nearer than 0.1", {"language.reference_kl": 0.1},
     {"language.reference_kl": 0.11}),
    ("late", "The reference is nearer than 0.1", {"language.reference_kl": 0.1},
     {"language.reference_kl": 0.11}),
]  # fmt: skip


@pytest.mark.parametrize(("phase", "statement", "within", "beyond"), BANDS)
def test_the_documents_bands_are_asked_if_its_limits_are(
    phase: str, statement: str, within: dict[str, float], beyond: dict[str, float]
) -> None:
    config = _config(limits="document")
    for changes, passed in ((within, True), (beyond, False)):
        line = _line(go_through(config, columns(_steps(changes)), []), phase, statement)
        assert line.passed is passed
    assert statement not in {
        line.statement for line in go_through(_config(), columns(_steps()), [])
    }
