"""What a gate answers, and what it looks at."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from steadyrl.core.errors import ConfigError
from steadyrl.core.records import Step
from steadyrl.experiments.gates import Gate, GateSet, Measured, gate_sets, interval, load_gates
from steadyrl.maths.statistics import Estimate


def gate(**bounds: Any) -> Gate:
    return Gate.parse({"measure": "severe findings", **bounds}, source="test")


BELOW = {"continue_below": 10.0, "retreat_above": 20.0}
ABOVE = {"continue_above": 10.0, "retreat_below": 5.0}


@pytest.mark.parametrize(
    ("bounds", "low", "high", "answer"),
    [
        (BELOW, 8.0, 9.9, "continue"),
        (BELOW, 8.0, 10.0, "open"),
        (BELOW, 11.0, 19.0, "open"),
        (BELOW, 20.0, 30.0, "open"),
        (BELOW, 20.1, 30.0, "retreat"),
        (ABOVE, 10.1, 12.0, "continue"),
        (ABOVE, 10.0, 12.0, "open"),
        (ABOVE, 5.0, 12.0, "open"),
        (ABOVE, 1.0, 5.0, "open"),
        (ABOVE, 1.0, 4.9, "retreat"),
        ({"continue_above": 1.0, "continue_below": 2.0}, 1.1, 1.9, "continue"),
        ({"continue_above": 1.0, "continue_below": 2.0}, 1.1, 2.1, "open"),
        ({"continue_above": 1.0, "continue_below": 2.0}, 0.9, 1.9, "open"),
        ({}, 1.0, 2.0, "continue"),
    ],
)
def test_the_whole_interval_has_to_say_so(
    bounds: dict[str, Any], low: float, high: float, answer: str
) -> None:
    assert gate(**bounds).answer(Estimate((low + high) / 2, low, high)) == answer


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_was_not_measured_is_no_answer(value: float) -> None:
    assert gate(**BELOW).answer(Estimate(value, value, value)) == "not measured"


def test_gates_are_asked_on_their_rungs() -> None:
    gates = [
        {"measure": "misfit", "rungs": rungs, "continue_below": 1.0}
        for rungs in ("all", "first", "later")
    ]
    asked = GateSet.parse({"gates": gates}, source="test")
    assert [gate.rungs for gate in asked.on(first=True)] == ["all", "first"]
    assert [gate.rungs for gate in asked.on(first=False)] == ["all", "later"]


def measured(severe: int = 0, **signals: list[float]) -> Measured:
    named = {name.replace("__", "."): values for name, values in signals.items()}
    length = max((len(values) for values in named.values()), default=0)
    steps = [
        Step(at, at, 0.0, {n: v[at] for n, v in named.items() if at < len(v)})
        for at in range(length)
    ]
    return Measured(steps, severe)


LOSS = [8.0, 1.0, 3.0, 2.0, 4.0, 6.0, -5.0]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("final critic.loss", 5.0 / 3.0),  # of the last three
        ("largest critic.loss", 8.0),
        ("smallest critic.loss", -5.0),
        ("gain critic.loss", 5.0 / 3.0 - 4.0),
        ("largest |critic.loss|", 8.0),
        ("smallest |critic.loss|", 1.0),
        ("final |critic.loss|", 5.0),
        ("severe findings", 2.0),
    ],
)
def test_a_measure_is_what_its_words_say(text: str, value: float) -> None:
    assert measured(2, critic__loss=LOSS).measure(text) == pytest.approx(value)


@pytest.mark.parametrize("text", ["final q.mean", "gain q.mean", "largest |q.mean|", "misfit"])
def test_what_a_run_does_not_have_is_not_measured(text: str) -> None:
    assert math.isnan(measured(critic__loss=LOSS).measure(text))


def test_the_end_is_a_tenth_and_at_least_three_values() -> None:
    forty = [float(n) for n in range(40)]
    assert measured(q__mean=forty).final("q.mean") == 37.5  # of four
    assert measured(q__mean=forty).start("q.mean") == 1.5
    assert measured(q__mean=forty[:20]).final("q.mean") == 18.0  # of three
    assert measured(q__mean=forty[:2]).final("q.mean") == 0.5
    assert measured(q__mean=[7.0]).start("q.mean") == 7.0
    assert math.isnan(measured().final("q.mean"))
    assert math.isnan(measured().start("q.mean"))


def test_misfit_is_the_loss_over_the_variance_of_targets() -> None:
    assert measured(critic__loss=[8.0], td__target_std=[4.0]).measure("misfit") == 0.5
    assert math.isnan(measured(critic__loss=[8.0], td__target_std=[0.0]).measure("misfit"))


def test_seeds_that_lack_a_measure_do_not_count() -> None:
    assert interval([2.0, math.nan, 2.0]).value == 2.0
    assert math.isnan(interval([math.nan]).value)
    assert math.isnan(interval([]).low)


@pytest.mark.parametrize("name", gate_sets())
def test_a_gate_set_of_the_package_is_loaded_by_its_name(name: str) -> None:
    assert load_gates(name).gates


def test_a_gate_set_of_ones_own_is_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("gates:\n- {measure: final |q.mean|, continue_below: 3.0}\n")
    assert load_gates(str(file)).gates[0].continue_below == 3.0


@pytest.mark.parametrize(
    "measure",
    ["final q.maen", "last q.mean", "q.mean", "final", "misfits", "severe findings q.mean"],
)
def test_a_measure_that_nobody_knows_is_refused(tmp_path: Path, measure: str) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(f"gates:\n- {{measure: '{measure}', continue_below: 3.0}}\n")
    with pytest.raises(ConfigError, match="is not known"):
        load_gates(str(file))


def test_a_name_that_is_nearly_right_is_answered_with_the_right_one() -> None:
    with pytest.raises(ConfigError, match=r"Did you mean 'relative'\?"):
        load_gates("relativ")
    with pytest.raises(ConfigError) as error:
        load_gates("something else")
    assert "Did you mean" not in str(error.value)
