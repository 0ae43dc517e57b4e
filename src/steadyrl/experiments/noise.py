"""How noisy are a learner's gradients, and what does that say about its batch?

Measured on a run's newest checkpoint, with weights and experience as they stand there: the critic
and the actor apart, batches drawn as training draws them and as stretches in time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from steadyrl.algorithms.common.training import Training, prepare
from steadyrl.core.errors import ConfigError
from steadyrl.core.records import without_nan
from steadyrl.core.seeding import derived_seed
from steadyrl.maths.noise_scale import (
    FEWEST,
    Advice,
    NoiseScale,
    advise,
    moments,
    noise_scale,
    variance_ratio,
)
from steadyrl.store.reader import RunReader

STRETCH = 32  # samples of one micro-batch, long enough for neighbours to resemble each other


@dataclass(frozen=True)
class PartNoise:
    """Noise of one part (critic, actor) under one way of drawing."""

    part: str
    scheme: str
    noise: NoiseScale
    advice: Advice | None


@dataclass(frozen=True)
class BatchVariance:
    """Variance of one part's batch gradient at one batch size."""

    part: str
    batch_size: int
    variance: float
    low: float
    high: float


@dataclass(frozen=True)
class VarianceRatio:
    """Variance at the smaller size over that at the larger; i.i.d. draws make it the sizes'."""

    part: str
    smaller: int
    larger: int
    ratio: float
    low: float
    high: float

    @property
    def expected(self) -> float:
        """What 1/N predicts."""
        return self.larger / self.smaller


@dataclass(frozen=True)
class NoiseReport:
    """Everything `steadyrl noise` tells."""

    run: str
    taken: int
    unit: str  # that it counts in
    content: int  # samples to draw from
    batch_size: int
    parts: Sequence[PartNoise]
    variances: Sequence[BatchVariance]
    ratios: Sequence[VarianceRatio]

    def to_json(self) -> dict[str, Any]:
        """As strict JSON: what could not be measured is null."""
        record: dict[str, Any] = without_nan(asdict(self))
        return record


def measure_noise(
    path: Path,
    batch_sizes: Sequence[int],
    *,
    micro_batches: int = 200,
    draws: int = 100,
    say: Callable[[str], None] = lambda _line: None,
) -> NoiseReport:
    """Noise of a run's gradients at its newest checkpoint."""
    if micro_batches < FEWEST or draws < FEWEST:
        raise ConfigError(
            f"micro_batches = {micro_batches}, draws = {draws}: use at least {FEWEST} of both, or "
            "there is no interval. 50 is the least that makes a useful one."
        )
    with at_newest_checkpoint(path) as training:
        return _measure(training, path, batch_sizes, micro_batches, draws, say)


def _measure(
    training: Training,
    path: Path,
    batch_sizes: Sequence[int],
    micro_batches: int,
    draws: int,
    say: Callable[[str], None],
) -> NoiseReport:
    config = training.live.now
    generator = np.random.default_rng(derived_seed(config.seed, "noise"))
    batch = config.samples_per_gradient
    parts = []
    for scheme in training.schemes:
        say(f"{micro_batches} micro-batches of {STRETCH}, {scheme}")
        for part, noise in noise_at(training, scheme, STRETCH, micro_batches, generator).items():
            advice = advise(batch, noise.scale) if noise.measurable and batch else None
            parts.append(PartNoise(part, scheme, noise, advice))
    at_size = {}
    for size in sorted(set(batch_sizes)):
        say(f"{draws} batches of {size:,}")
        at_size[size] = noise_at(training, "drawn", size, draws, generator)
    return NoiseReport(
        run=str(path),
        taken=training.world.steps_taken,
        unit=config.unit.many,
        content=training.experience(),
        batch_size=batch,
        parts=parts,
        variances=[
            _variance(part, size, n) for size, by in at_size.items() for part, n in by.items()
        ],
        ratios=_ratios(at_size),
    )


@contextmanager
def at_newest_checkpoint(path: Path) -> Iterator[Training]:
    """A run's learner as it stands on disk, with something to draw from."""
    store = RunReader.open(path)
    step, state, _ = store.checkpoints.load_latest()
    training = prepare(store.config)
    with closing(training.world):
        training.load_state_dict(state)
        if not training.experience():
            raise ConfigError(f"{path}: nothing has been experienced yet at Step {step}.")
        yield training


def noise_at(
    training: Training, scheme: str, size: int, count: int, generator: np.random.Generator
) -> dict[str, NoiseScale]:
    """The noise of each part's gradient, from `count` batches of `size`."""
    found: dict[str, list[Any]] = {}
    for _ in range(count):
        drawn = training.gradients(scheme=scheme, size=size, generator=generator)
        for part, gradient in drawn.items():
            found.setdefault(part, []).append(gradient)
    return {part: noise_scale(moments(vectors, size)) for part, vectors in found.items()}


def _variance(part: str, size: int, noise: NoiseScale) -> BatchVariance:
    return BatchVariance(
        part, size, noise.noise / size, noise.noise_low / size, noise.noise_high / size
    )


def _ratios(at_size: dict[int, dict[str, NoiseScale]]) -> list[VarianceRatio]:
    sizes = sorted(at_size)
    ratios = []
    for smaller, larger in pairwise(sizes):
        for part, noise in at_size[smaller].items():
            # Noise is per sample: of a batch, it is divided by the batch's size.
            factor = larger / smaller
            value, low, high = variance_ratio(noise, at_size[larger][part])
            ratios.append(
                VarianceRatio(part, smaller, larger, value * factor, low * factor, high * factor)
            )
    return ratios
