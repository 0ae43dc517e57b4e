"""What charts shade is what rules decide by: the two cannot disagree."""

from __future__ import annotations

import math

import pytest

from steadyrl.core.signals import CATALOGUE
from steadyrl.stability.bands import Band
from steadyrl.stability.detectors import DEFAULT, OPTIONAL
from steadyrl.stability.rules import Detector
from steadyrl.stability.window import Window
from tests.rules.traces import TOTAL_ENV_STEPS, TRACES

BANDED = [rule for rule in (*DEFAULT, *OPTIONAL) if rule.bands]


@pytest.mark.parametrize("rule", BANDED, ids=lambda rule: f"{rule.id}-{rule.name}")
def test_a_rule_speaks_only_where_a_signal_has_left_its_band(rule: Detector) -> None:
    window = Window(TOTAL_ENV_STEPS)
    assert rule.bands is not None
    spoken = 0
    for step in TRACES[rule.id][0]:
        window.append(step)
        if window.missing(rule.reads[:1]) or rule.detect(window, rule.limits) is None:
            continue
        spoken += 1
        bands = rule.bands(window, rule.limits)
        assert any(
            band.left_by(value) for name, band in bands.items() for value in window.last(name, 15)
        )
    assert spoken


@pytest.mark.parametrize("rule", BANDED, ids=lambda rule: rule.id)
def test_bands_are_of_signals_that_the_catalogue_knows(rule: Detector) -> None:
    window = Window(TOTAL_ENV_STEPS)
    for step in TRACES[rule.id][0]:
        window.append(step)
    assert rule.bands is not None
    assert rule.bands(window, rule.limits).keys() <= CATALOGUE.keys()


def test_what_is_no_number_is_outside_every_band() -> None:
    assert Band().left_by(math.nan)
    assert not Band().left_by(1e9)
    assert Band(low=0.0).left_by(-1.0)
    assert Band(high=0.0).left_by(1.0)
