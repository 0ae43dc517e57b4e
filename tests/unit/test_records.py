"""Plain values for strict JSON."""

from __future__ import annotations

import json
import math

from steadyrl.core.records import without_nan


def test_what_is_not_finite_becomes_null_at_any_depth() -> None:
    value = {"a": math.nan, "b": [1.0, math.inf, (2.0, -math.inf)], "c": {"d": "nan"}, "e": 3}
    plain = without_nan(value)
    assert plain == {"a": None, "b": [1.0, None, [2.0, None]], "c": {"d": "nan"}, "e": 3}
    json.dumps(plain, allow_nan=False)
