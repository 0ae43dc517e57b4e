"""One side of `replay_speed.py`: SIDE SIZE REPEATS, prints microseconds and megabytes as JSON."""

from __future__ import annotations

import json
import resource
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np

WIDTH, DRAWN, ALPHA, BETA = 8, 256, 0.6, 0.4


def ours(size: int) -> Callable[[], None]:
    """Without replacement, with counts of uses and ages, which the others do not keep."""
    from steadyrl.experience.aged import AgedExperience, Limits

    generator = np.random.default_rng(0)
    buffer = AgedExperience(size, alpha=ALPHA, beta=BETA)
    rows = generator.random((size, WIDTH), dtype=np.float32)
    buffer.add({"row": rows}, born=0, worths=generator.random(size))
    limits = Limits(size, 1 << 40, 1 << 40)

    def once() -> None:
        drawn = buffer.draw(DRAWN, now=1, limits=limits, generator=generator)
        buffer.learn(drawn.slots, generator.random(DRAWN))

    return once


def cpprb(size: int) -> Callable[[], None]:
    """Its C++ segment tree."""
    from cpprb import PrioritizedReplayBuffer

    generator = np.random.default_rng(0)
    buffer = PrioritizedReplayBuffer(size, {"row": {"shape": WIDTH}}, alpha=ALPHA)
    rows = generator.random((size, WIDTH), dtype=np.float32)
    buffer.add(row=rows, priorities=generator.random(size))

    def once() -> None:
        drawn = buffer.sample(DRAWN, BETA)
        buffer.update_priorities(drawn["indexes"], generator.random(DRAWN))

    return once


def torchrl(size: int) -> Callable[[], None]:
    """Its C++ segment tree behind a tensor storage."""
    import torch
    from torchrl.data import LazyTensorStorage, PrioritizedReplayBuffer

    generator = np.random.default_rng(0)
    buffer = PrioritizedReplayBuffer(
        alpha=ALPHA, beta=BETA, storage=LazyTensorStorage(size), batch_size=DRAWN
    )
    indices = buffer.extend(torch.from_numpy(generator.random((size, WIDTH), dtype=np.float32)))
    buffer.update_priority(indices, torch.from_numpy(generator.random(size)))

    def once() -> None:
        _, info = buffer.sample(return_info=True)
        buffer.update_priority(info["index"], torch.from_numpy(generator.random(DRAWN)))

    return once


SIDES: dict[str, Callable[[int], Callable[[], None]]] = {
    "ours": ours,
    "cpprb": cpprb,
    "torchrl": torchrl,
}


def megabytes() -> float:
    """The most memory this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def main() -> None:
    """Fill, warm up, and time draws in ten stretches."""
    side, size, repeats = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    SIDES[side](1_000)()  # so that imports are not counted as the buffer's memory
    before = megabytes()
    once = SIDES[side](size)
    for _ in range(20):
        once()
    times = []
    for _ in range(10):
        started = time.perf_counter()
        for _ in range(repeats):
            once()
        times.append((time.perf_counter() - started) / repeats * 1e6)
    found = {"microseconds": statistics.median(times), "megabytes": megabytes() - before}
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
