"""Why a rung failed: the usual suspects of large batches, each with what was measured."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from steadyrl.core.records import Step

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
    return [f"{called}: {start:.3g} at first, {top:.3g} at most: {verdict} ({factor:.1f} times)"]


def _largest(steps: Sequence[Step], name: str) -> float:
    return max((step.signals[name] for step in steps if name in step.signals), default=math.nan)
