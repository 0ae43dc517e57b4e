"""What a rung shows: its speed, and the usual suspects of large batches, each measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from steadyrl.core.numbers import amount
from steadyrl.core.records import Step
from steadyrl.core.run_config import RunConfig
from steadyrl.experiments.gates import Measured

GROWTH = 10.0  # times its beginning: worth calling growth


def evidence(steps: Sequence[Step]) -> list[str]:
    """One sentence for each explanation people give, whether it held or not."""
    steps = [step for step in steps if "critic.loss" in step.signals]  # since learning began
    said = []
    share, repeated = (
        _largest(steps, "replay.batch_share"),
        _largest(steps, "replay.duplicate_share"),
    )
    if math.isfinite(share) and math.isfinite(repeated):
        said.append(
            f"a batch was at most {share:.0%} of the buffer, and at most {repeated:.0%} of it "
            "repeated itself"
        )
    said += _growth(steps, "critic.gradient_norm", "gradient norm")
    said += _growth(steps, "critic.loss", "critic loss")
    said += _growth(steps, "q.abs_max", "largest |Q|")
    ratio = _largest(steps, "q.bound_ratio")
    if math.isfinite(ratio):
        verdict = "it diverged" if ratio > 1 else "it did not diverge"
        said.append(f"|Q| reached {ratio:.2g} of what the rewards allow: {verdict}")
    drift = _largest(steps, "target.drift")
    if math.isfinite(drift):
        said.append(f"the target network lagged by at most {drift:.0%} of the critic's norm")
    return said


def _growth(steps: Sequence[Step], name: str, called: str) -> list[str]:
    values = [step.signals[name] for step in steps if name in step.signals]
    if len(values) < 6:
        return []
    start, top = float(np.median(values[:5])), max(values)
    factor = top / start if start else math.inf
    verdict = "grew" if factor > GROWTH else "did not explode"
    moved = f"{amount(start, 3)} at first, {amount(top, 3)} at most"
    return [f"{called}: {moved}: {verdict} ({factor:.1f} times)"]


def _largest(steps: Sequence[Step], name: str) -> float:
    return max((step.signals[name] for step in steps if name in step.signals), default=math.nan)


def speed(config: RunConfig, size: int, runs: Sequence[Measured]) -> dict[str, Any]:
    """Utilisation and throughput: medians over Steps, means over seeds."""

    def median(name: str) -> float:
        values = [value for run in runs for value in run.values(name)]
        return float(np.median(values)) if values else math.nan

    gpu = median("machine.gpu_share")
    share = median("machine.cpu_share") / config.compute.threads if math.isnan(gpu) else gpu
    learned, seconds = 0.0, 0.0
    for run in runs:
        trained = [step for step in run.steps if step.signals.get("train.updates", 0) > 0]
        if len(trained) > 1:
            first, last = trained[0], trained[-1]
            learned += last.signals["train.updates"] - first.signals["train.updates"]
            seconds += last.seconds - first.seconds
    total = sum(run.steps[-1].taken for run in runs if run.steps)
    elapsed = sum(run.steps[-1].seconds for run in runs if run.steps)
    rate = total / elapsed if elapsed else math.nan
    return {
        "utilisation": share,
        "device": "CPU" if math.isnan(gpu) else "GPU",
        "env_steps_per_second": rate,
        "samples_per_second": learned * size / seconds if seconds else math.nan,
        "minutes": config.budget / rate / 60,
    }
