"""Runs that meet a limit exactly, or have one value fewer than a detector needs."""

from __future__ import annotations

from tests.rules.limits import (
    LOADED,
    MISFIT,
    SHORT,
    SMALL,
    Case,
    evaluations,
    gone,
    restarted,
    spiked,
)
from tests.rules.limits_of_policies import FALLING

MET_CASES = [
    Case("D122", "not before twenty values",
         {"bc.validation_mse": [1.0] * 10 + [1.6] * 10, "bc.full_mse": FALLING}, 20),
    Case("D031", "four loads", {**LOADED, "machine.load_per_core": [*gone(1), *[1.6] * 4]}),
    Case("D006", "half the variance at last", {**MISFIT, "critic.loss": [60.0] * 14 + [50.0]}),
    Case("D006", "half the variance until now", {**MISFIT, "critic.loss": [50.0] * 14 + [60.0]}),
    Case("D024", "three fifths once", {"critic.dormant_share": [0.1] * 5 + [0.6] + [0.7] * 4}),
    Case("D028", "three tenths of the gain from ten on",
         restarted([10.0] * 5 + [100.0] * 5, [72.0] * 3), 13),
    Case("D010", "nine lengths",
         {**SHORT, "rollout.length_mean": [*gone(2), *[100.0] * 3, *[50.0] * 6]}),
    Case("D010", "ten lengths", {**SHORT, "rollout.length_mean": [100.0] * 3 + [50.0] * 8,
         "rollout.reward_mean": [-1.0] * 3 + [-1.02] * 8}, 10),
    Case("D004", "twenty are the usual", spiked([1.2, *[1.0, 1.2] * 10, 56.0]), 22),
    Case("D004", "below one", spiked([*[0.5, 0.6] * 10, 30.0]), 21),
    Case("D004", "just fifty times", spiked([0.5, *[1.0] * 19, 50.0])),
    Case("D027", "it grew four sizes ago",
         {**SMALL, "replay.size": [100.0] * 7 + [200.0] * 5}, 12),
    Case("D027", "it grew at last", {**SMALL, "replay.size": [100.0] * 9 + [200.0] * 5}, 14),
    Case("D011", "it rose and fell",
         evaluations(0.0, 0.0, 0.0, 9.0, 9.0, 9.0, 9.0, 9.0, 0.0, 0.0), 36),
    Case("D011", "the best in the end, time after time",
         evaluations(4.0, 5.0, 3.0, 4.0, 5.0, 5.0, 5.0, spread=10.0)),
    Case("D011", "the same in the end, but not the best",
         evaluations(4.0, 5.0, 9.0, 5.0, 5.0, 5.0, spread=10.0), 36),
    Case("D121", "at its limit at last", {"bc.log_std_min": [-3.0] + [-5.0] * 3 + [-4.6]}),
    Case("D121", "the middle one is at its limit",
         {"bc.log_std_min": [-3.0] + [-4.6] * 2 + [-5.0] * 2}),
    Case("D121", "fallen just far enough", {"bc.log_std_min": [-4.5] + [-5.0] * 4}, 5),
]  # fmt: skip
