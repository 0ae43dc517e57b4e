"""The gradient noise scale (McCandlish et al., 2018) from micro-batches, with an honest interval.

From n gradients g_i of micro-batches of b samples, with S = mean |g_i|^2 and L = |mean g_i|^2:

    |G|^2   = (n L - S) / (n - 1)          squared norm of the true gradient, unbiased
    tr(V)   = b n / (n - 1) (S - L)        variance of one sample's gradient, unbiased
    B_noise = tr(V) / |G|^2                where noise and signal are equally strong

Both hold for any L of N samples with n = N / b, which need not be a whole number. The interval is a
jackknife over micro-batches, joined by Fieller's theorem for the ratio. If |G|^2 cannot be told
from zero there is no measurable signal, and no number is given.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

NORMAL_975 = 1.959963984540054
FEWEST = 8  # micro-batches; below, the interval itself cannot be trusted


@dataclass(frozen=True, slots=True)
class Moments:
    """What the estimators need of n micro-batch gradients: no gradient itself."""

    squares: Floats  # |g_i|^2
    products: Floats  # g_i . mean g
    mean_square: float  # |mean g|^2
    size: int  # samples per micro-batch


@dataclass(frozen=True, slots=True)
class NoiseScale:
    """Signal, noise and their ratio, each with a 95 % interval."""

    signal: float  # |G|^2
    signal_low: float
    signal_high: float
    noise: float  # tr(V) of one sample
    noise_low: float
    noise_high: float
    scale: float  # NaN where there is no measurable signal
    scale_low: float
    scale_high: float
    micro_batches: int

    @property
    def measurable(self) -> bool:
        """Whether the gradient can be told from zero."""
        return self.signal_low > 0


def moments(gradients: Sequence[Floats], size: int) -> Moments:
    """Of micro-batch gradients as vectors."""
    stacked = np.stack([np.asarray(gradient, dtype=np.float64) for gradient in gradients])
    mean = stacked.mean(axis=0)
    squares = np.einsum("ij,ij->i", stacked, stacked)
    return Moments(squares, stacked @ mean, float(mean @ mean), size)


def noise_scale(data: Moments) -> NoiseScale:
    """Estimate with interval; see the top of this file."""
    count = len(data.squares)
    if count < FEWEST:
        raise ValueError(f"{count} micro-batches: at least {FEWEST} are needed for an interval")
    signal, noise = _estimates(data.mean_square, float(data.squares.mean()), count, data.size)
    rest = count - 1
    others_square = (
        count**2 * data.mean_square - 2 * count * data.products + data.squares
    ) / rest**2
    others_mean = (data.squares.sum() - data.squares) / rest
    signals, noises = _estimates(others_square, others_mean, rest, data.size)
    covariance = (rest**2 / count) * np.cov(signals, noises)
    t = student_975(rest)
    signal_half, noise_half = t * math.sqrt(covariance[0, 0]), t * math.sqrt(covariance[1, 1])
    scale, low, high = math.nan, math.nan, math.nan
    if signal - signal_half > 0:
        scale = noise / signal
        low, high = _fieller(noise, signal, covariance, t)
    return NoiseScale(
        signal=signal,
        signal_low=signal - signal_half,
        signal_high=signal + signal_half,
        noise=noise,
        noise_low=max(0.0, noise - noise_half),
        noise_high=noise + noise_half,
        scale=scale,
        scale_low=max(0.0, low),
        scale_high=high,
        micro_batches=count,
    )


def _estimates(mean_square: Any, square_mean: Any, count: float, size: int) -> tuple[Any, Any]:
    """(|G|^2, tr V), where the whole holds `count` times `size` samples; also for arrays."""
    signal = (count * mean_square - square_mean) / (count - 1)
    noise = size * count / (count - 1) * (square_mean - mean_square)
    return signal, noise


def variance_ratio(first: NoiseScale, second: NoiseScale) -> tuple[float, float, float]:
    """Noise of the first over that of the second (independent), with its interval.

    NaN if the second has none; without an upper end if it cannot be told from none.
    """
    if second.noise <= 0:
        return math.nan, math.nan, math.nan
    if second.noise_low <= 0:
        return first.noise / second.noise, 0.0, math.inf
    t = student_975(min(first.micro_batches, second.micro_batches) - 1)
    spreads = [(part.noise_high - part.noise) / t for part in (second, first)]
    covariance = np.diag(np.square(spreads))
    low, high = _fieller(first.noise, second.noise, covariance, t)
    return first.noise / second.noise, low, high


def _fieller(top: float, bottom: float, covariance: Floats, t: float) -> tuple[float, float]:
    """Interval of top / bottom, given that bottom is clear of zero; covariance is (bottom, top)."""
    a = bottom**2 - t**2 * covariance[0, 0]
    b = top * bottom - t**2 * covariance[0, 1]
    c = top**2 - t**2 * covariance[1, 1]
    root = math.sqrt(max(0.0, b * b - a * c))
    return (b - root) / a, (b + root) / a


def student_975(freedom: int) -> float:
    """97.5 % point of Student's t (Cornish-Fisher; within 0.3 % from 7 degrees of freedom on)."""
    z = NORMAL_975
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / freedom + second / freedom**2 + third / freedom**3


class NoiseMeter:
    """The online version, where micro-batches exist anyway: their norms, smoothed.

    Numerator and denominator are averaged apart and divided last: the ratio of two noisy numbers
    has no useful mean. What it gives is a signal to watch, not a measurement with an interval.
    """

    def __init__(self, decay: float = 0.95) -> None:
        self._decay = decay
        self._signal = self._noise = 0.0

    def add(self, squares: Sequence[float], mean_square: float, *, size: int, total: int) -> None:
        """One update: squared norms of micro-batches of `size`, and of all its `total` samples."""
        if not squares or total <= size:
            return
        signal, noise = _estimates(mean_square, float(np.mean(squares)), total / size, size)
        keep = self._decay
        self._signal = keep * self._signal + (1 - keep) * signal
        self._noise = keep * self._noise + (1 - keep) * noise

    @property
    def scale(self) -> float:
        """The smoothed ratio; NaN while the signal is not above zero."""
        return self._noise / self._signal if self._signal > 0 else math.nan

    def state_dict(self) -> dict[str, float]:
        """The running averages."""
        return {"signal": self._signal, "noise": self._noise}

    def load_state_dict(self, state: dict[str, float]) -> None:
        """Back to recorded averages."""
        self._signal, self._noise = state["signal"], state["noise"]


@dataclass(frozen=True, slots=True)
class Advice:
    """What a noise scale says about a batch size."""

    verdict: str  # "small", "fine", "large"
    sentence: str
    data_cost: float  # samples needed, over those of a tiny batch
    step_cost: float  # updates needed, over those of an infinite batch


def advise(batch: int, scale: float) -> Advice:
    """Where a batch stands between wasting updates and wasting samples."""
    data_cost = 1 + batch / scale if scale > 0 else math.inf
    step_cost = 1 + scale / batch
    if batch > 10 * scale:
        smaller = max(1, round(scale))
        said = (
            f"batch {batch:,} is far above the noise scale {scale:,.0f}: samples are wasted. "
            f"Near {smaller:,} it would learn as much per update."
        )
        return Advice("large", said, data_cost, step_cost)
    if batch < scale / 10:
        factor = math.sqrt(scale / batch)
        said = (
            f"batch {batch:,} is far below the noise scale {scale:,.0f}: updates are mostly noise. "
            f"Near {scale:,.0f}, with Adam's learning rate up to {factor:.1f} times higher, each "
            "would count."
        )
        return Advice("small", said, data_cost, step_cost)
    said = f"batch {batch:,} is of the order of the noise scale {scale:,.0f}: fine."
    return Advice("fine", said, data_cost, step_cost)
