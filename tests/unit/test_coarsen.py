"""Merging Steps must reduce each signal exactly as measuring them in one Step would."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import pytest

from steadyrl.core.coarsen import Columns, coarsen, columns_of
from steadyrl.core.records import Step
from steadyrl.core.signals import CATALOGUE, Meter


def _steps(count: int) -> list[Step]:
    generator = np.random.default_rng(1)
    steps = []
    for index in range(1, count + 1):
        signals = {name: float(generator.normal()) for name in list(CATALOGUE)[:12]}
        if index % 3:  # not every Step carries every signal
            del signals["eval.return_mean"]
        steps.append(Step(index, 100 * index, 0.5 * index, signals))
    return steps


def _columns(steps: Iterable[Step]) -> Columns:
    columns = columns_of(step.to_json() for step in steps)
    assert columns is not None
    return columns


@pytest.mark.parametrize("size", [1, 4, 7, 100])
def test_a_block_is_reduced_as_the_catalogue_declares(size: int) -> None:
    steps = _steps(30)
    merged = coarsen(_columns(steps), size)
    for number, block in enumerate(merged):
        part = steps[number * size : (number + 1) * size]
        meter = Meter()
        for step in part:
            meter.add(step.signals)
        assert dict(block.signals) == pytest.approx(meter.read())
        assert (block.index, block.taken) == (part[-1].index, part[-1].taken)
    assert len(merged) == math.ceil(30 / size)


def test_a_number_that_is_not_finite_survives_merging() -> None:
    steps = _steps(4)
    bad = Step(2, 200, 1.0, {**steps[1].signals, "critic.loss": math.nan})
    merged = coarsen(_columns((steps[0], bad, *steps[2:])), 4)
    assert math.isnan(merged[0].signals["critic.loss"])


def test_signals_nobody_declared_are_averaged() -> None:
    steps = [Step(n, n, 0.0, {"other.loss": float(n)}) for n in (1, 2)]
    assert dict(coarsen(_columns(steps), 2)[0].signals) == {"other.loss": 1.5}


def test_of_no_steps_there_are_no_columns() -> None:
    assert columns_of([]) is None
