"""Runs that meet a limit exactly, or have one value fewer than a detector needs."""

from __future__ import annotations

from tests.rules.limits import LOADED, MISFIT, Case, gone
from tests.rules.limits_of_policies import FALLING

MET_CASES = [
    Case("D122", "not before twenty values",
         {"bc.validation_mse": [1.0] * 10 + [1.6] * 10, "bc.full_mse": FALLING}, 20),
    Case("D031", "four loads", {**LOADED, "machine.load_per_core": [*gone(1), *[1.6] * 4]}),
    Case("D006", "half the variance at last", {**MISFIT, "critic.loss": [60.0] * 14 + [50.0]}),
    Case("D006", "half the variance until now", {**MISFIT, "critic.loss": [50.0] * 14 + [60.0]}),
    Case("D121", "at its limit at last", {"bc.log_std_min": [-3.0] + [-5.0] * 3 + [-4.6]}),
    Case("D121", "the middle one is at its limit",
         {"bc.log_std_min": [-3.0] + [-4.6] * 2 + [-5.0] * 2}),
    Case("D121", "fallen just far enough", {"bc.log_std_min": [-4.5] + [-5.0] * 4}, 5),
]  # fmt: skip
