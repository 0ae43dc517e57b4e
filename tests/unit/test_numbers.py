"""Numbers in sentences are written as people write them."""

from __future__ import annotations

import pytest

from steadyrl.core.numbers import amount


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (-36412.7, "-36,410"),
        (1_043_000.4, "1,043,000"),
        (9999.96, "10,000"),
        (1234.5, "1,234"),
        (99.996, "100"),
        (0.064512, "0.06451"),
        (0.0, "0"),
        (-194.44, "-194.4"),
        (3.0e-6, "3e-06"),
        (4.2e12, "4.2e+12"),
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
    ],
)
def test_powers_of_ten_are_left_to_the_very_large_and_the_very_small(
    value: float, text: str
) -> None:
    assert amount(value) == text


def test_fewer_digits_are_asked_for_by_number() -> None:
    assert amount(1213.0, 3) == "1,210"
    assert amount(0.123456, 2) == "0.12"
