"""The map from the weight of evidence to how often it was right."""

from __future__ import annotations

import numpy as np

from steadyrl.stability.confidence import Reliability, fingerprint, frequency, reliability


def test_the_map_in_force_rises_from_nothing_and_stays_a_share() -> None:
    weights = np.linspace(0.0, 1.0, 101)
    shares = np.array([frequency(weight) for weight in weights])
    assert shares[0] == 0.0
    assert (np.diff(shares) >= 0).all()
    assert shares.max() <= 1.0
    assert reliability().fitted_on


def test_a_map_says_whether_the_rules_are_those_it_was_fitted_for() -> None:
    assert Reliability((0.0,), (0.0,), "", fingerprint()).current
    assert not Reliability((0.0,), (0.0,), "", "other rules").current
