"""The weight of an entropy bonus, worked out from a loss and the parts it is the sum of.

Stable-Baselines3 logs the whole loss beside its parts, and hardly anybody logs the weights. The
whole is that of the last minibatch and the parts are means over all of them, so this is about
right, not exact; it is told only where it stands out far from its error.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from steadyrl.store.foreign.series import Floats, Series

FEWEST = 20  # rows
CLEAR = 8.0  # standard errors
OUTLYING = 1.5  # deviations beyond which a row counts less (Huber)
ROUNDS = 10


def entropy_weight(named: Mapping[str, Series], parts: Mapping[str, str]) -> float | None:
    """About the weight; None where the losses do not tell, or it is none."""
    wanted = [parts.get(name, "") for name in ("whole", "policy", "entropy", "value")]
    if not all(name in named for name in wanted):
        return None
    length = min(len(named[name]) for name in wanted)
    whole, policy, entropy, value = (named[name].values[:length] for name in wanted)
    rest, kept = whole - policy, np.isfinite(whole + policy + entropy + value)
    if kept.sum() < FEWEST or not np.any(entropy[kept]):
        return None
    weight, error = _fitted(rest[kept], entropy[kept], value[kept])
    return float(f"{weight:.2g}") if weight > CLEAR * error else None


def _fitted(rest: Floats, entropy: Floats, value: Floats) -> tuple[float, float]:
    """What the entropy is multiplied with, and how far that is off by chance."""
    # The noise of a minibatch's value loss grows with the loss.
    size = np.abs(value)
    trust = 1.0 / (size + 0.01 * float(np.median(size)) + 1e-12)
    parts, wanted = np.column_stack([entropy, value]) * trust[:, None], rest * trust
    counts = np.ones(len(wanted))
    for _ in range(ROUNDS):
        found, *_ = np.linalg.lstsq(parts * counts[:, None], wanted * counts, rcond=None)
        left = np.abs(wanted - parts @ found)
        usual = 1.4826 * float(np.median(left)) + 1e-12
        counts = np.sqrt(np.minimum(1.0, OUTLYING * usual / np.maximum(left, 1e-12)))
    counted = parts * counts[:, None]
    spread = np.linalg.pinv(counted.T @ counted) * float(((left * counts) ** 2).sum())
    return float(found[0]), float(np.sqrt(spread[0, 0] / max(len(wanted) - 2, 1)))
