"""How often comparisons call chance clear, and how large an effect must be to be seen.

Simulated, seconds to minutes. `before` is what decided until 2026-11-16: a percentile bootstrap of
the differences' interquartile mean, every look at a stricter level.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from common import conclude

from steadyrl.experiments.compare import planned_test
from steadyrl.experiments.gates import LOOKS, interval
from steadyrl.maths.statistics import ERROR_RATE, Floats, iqm, rank_p

Draw = Callable[[np.random.Generator, int], Floats]

NULLS: dict[str, Draw] = {
    "normal": lambda generator, count: generator.normal(size=count),
    "heavy-tailed (t, 1.5)": lambda generator, count: generator.standard_t(1.5, size=count),
    "two-valued": lambda generator, count: generator.choice([-400.0, 400.0], size=count),
}
SEEDS = (3, 4, 5, 6, 7, 8, 10, 12, 16, 20)
EFFECTS = (0.5, 1.0, 1.5, 2.0, 3.0)  # mean difference over its standard deviation


def main() -> None:
    """False alarms of comparisons, gates and proofs, and the power of what decides now."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the trials")
    arguments = parser.parse_args()
    trials = 200 if arguments.quick else 1000
    result = {
        "trials": trials,
        "false_clear": {
            name: [_comparison_errors(draw, seeds, trials) for seeds in SEEDS]
            for name, draw in NULLS.items()
        },
        "power": [_comparison_power(seeds, trials // 2) for seeds in SEEDS if seeds > 5],
        "gate_errors": {name: _gate_errors(draw, trials) for name, draw in NULLS.items()},
        "proof_errors": {name: _proof(draw, 0.0, trials // 4) for name, draw in NULLS.items()},
        "proof_power": {f"{d:g}": _proof(NULLS["normal"], d, trials // 4) for d in EFFECTS},
    }
    conclude("error_rates", result, keep=not arguments.quick)


def _comparison_errors(draw: Draw, seeds: int, trials: int) -> dict[str, Any]:
    """Share of null comparisons called clear: before and now, with one look and with several."""
    generator = np.random.default_rng(seeds)
    once = planned_test(seeds, contrasts=1, stop_early=False)
    early = planned_test(seeds, contrasts=1, stop_early=True)
    counts = dict.fromkeys(("before", "before, early looks", "now", "now, early looks"), 0)
    for trial in range(trials):
        differences = draw(generator, seeds)
        counts["now"] += bool(once.called(differences)[0])
        counts["now, early looks"] += bool(early.called(differences)[0])
        if trial < trials // 10:  # slow, and far off the mark
            counts["before"] += 10 * _bootstrap_clear(differences, [seeds], 0.95)
            looks = list(range(min(3, seeds), seeds + 1))
            counts["before, early looks"] += 10 * _bootstrap_clear(
                differences, looks, 1 - 0.05 / len(looks)
            )
    sys.stderr.write(f"{seeds} seeds\n")
    return {"seeds": seeds, **{name: round(count / trials, 4) for name, count in counts.items()}}


def _bootstrap_clear(differences: Floats, looks: list[int], level: float) -> bool:
    generator = np.random.default_rng(0)
    for look in looks:
        drawn = generator.integers(look, size=(500, look))
        means = np.apply_along_axis(iqm, 1, differences[:look][drawn])
        low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
        if low > 0 or high < 0:
            return True
    return False


def _comparison_power(seeds: int, trials: int) -> dict[str, Any]:
    """Share of true effects that become clear, and the seeds that takes with early looks."""
    generator = np.random.default_rng(100 + seeds)
    once = planned_test(seeds, contrasts=1, stop_early=False)
    early = planned_test(seeds, contrasts=1, stop_early=True)
    found: dict[str, Any] = {"seeds": seeds}
    for effect in EFFECTS:
        clear, clear_early, used = 0, 0, 0
        for _ in range(trials):
            differences = generator.normal(effect, 1.0, size=seeds)
            clear += once.clear(differences)
            stop = next((n for n in early.looks if early.clear(differences[:n])), None)
            clear_early += stop is not None
            used += stop or seeds
        found[f"{effect:g}"] = {
            "clear": round(clear / trials, 3),
            "clear, early looks": round(clear_early / trials, 3),
            "seeds used": round(used / trials, 1),
        }
    sys.stderr.write(f"power at {seeds} seeds\n")
    return found


def _gate_errors(draw: Draw, trials: int) -> float:
    """How often a gate is answered in one direction where the median lies on its bound."""
    generator = np.random.default_rng(1)
    wrong = 0
    for _ in range(trials):
        values = draw(generator, 10)
        first, both = interval(values[:5].tolist()), interval(values.tolist(), len(LOOKS) - 1)
        wrong += first.low > 0 or both.low > 0
    return round(wrong / trials, 4)


def _proof(draw: Draw, effect: float, trials: int) -> dict[str, float]:
    """How often permuted labels set two groups apart."""
    generator = np.random.default_rng(2)
    found = {}
    for seeds in (3, 4, 5, 6):
        hits = 0
        for _ in range(trials):
            ours, theirs = draw(generator, seeds) + effect, draw(generator, seeds)
            hits += rank_p(ours.tolist(), theirs.tolist()) <= ERROR_RATE
        found[str(seeds)] = round(hits / trials, 3)
    return found


if __name__ == "__main__":
    main()
