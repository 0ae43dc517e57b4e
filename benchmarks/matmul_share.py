"""Seconds per DDPG update's matrix products alone, on the shapes of our Pendulum benchmark.

What the libraries need for every product of the five passes and nothing else: MKL, or oneDNN where
that is faster on this processor.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from itertools import pairwise

import torch

OBSERVATION, ACTION, HIDDEN = 3, 1, 256

Product = tuple[torch.Tensor, torch.Tensor, torch.Tensor]  # left, right, out
Way = Callable[[Product], object]


def products(rows: int) -> list[Product]:
    """(left, right, out) of every product in one update of actor and critic."""

    def network(inputs: int) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        sizes = [inputs, HIDDEN, HIDDEN, 1]
        weights = [torch.randn(o, i) for i, o in pairwise(sizes)]
        return weights, [torch.randn(rows, size) for size in sizes]

    def forward(weights: list[torch.Tensor], layers: list[torch.Tensor]) -> None:
        for weight, below, above in zip(weights, layers, layers[1:], strict=False):
            work.append((below, weight.t(), torch.empty_like(above)))

    def backward(
        weights: list[torch.Tensor], layers: list[torch.Tensor], own: bool, inputs: bool
    ) -> None:
        for index in (2, 1, 0):
            if own:
                gradient = torch.empty_like(weights[index])
                work.append((layers[index + 1].t(), layers[index], gradient))
            if index or inputs:
                work.append((layers[index + 1], weights[index], torch.empty_like(layers[index])))

    work: list[Product] = []
    actor, critic = network(OBSERVATION), network(OBSERVATION + ACTION)
    forward(*actor)  # target policy
    forward(*critic)  # target value
    forward(*critic)
    backward(*critic, own=True, inputs=False)
    forward(*actor)
    forward(*critic)
    backward(*critic, own=False, inputs=True)
    backward(*actor, own=True, inputs=False)
    return work


def peak(size: int = 2048, repeats: int = 7) -> float:
    """Billions of operations per second in a large square product, at the median."""
    left = torch.randn(size, size)
    return 2e-9 * size**3 / seconds([(left, left, torch.empty(size, size))], repeats)


def seconds(work: Sequence[Product], repeats: int) -> float:
    """For all of it at the median, each product by the library that is faster at it."""
    ways: list[Way] = [lambda product: torch.mm(product[0], product[1], out=product[2])]
    if hasattr(torch.ops.mkldnn, "_linear_pointwise"):
        by_onednn = torch.ops.mkldnn._linear_pointwise
        ways.append(lambda product: by_onednn(product[0], product[1].t(), None, "none", [], ""))
    chosen = [(min(ways, key=lambda way: _median([(way, one)], repeats)), one) for one in work]
    return _median(chosen, repeats)


def _median(work: Sequence[tuple[Way, Product]], repeats: int) -> float:
    times = []
    for _ in range(1 + repeats):
        started = time.perf_counter()
        for way, product in work:
            way(product)
        times.append(time.perf_counter() - started)
    return sorted(times[1:])[repeats // 2]


def main() -> None:
    """Median seconds per update's products."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--repeats", type=int, default=60)
    parser.add_argument("--peak", action="store_true", help="rate of one large product instead")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.peak:
        sys.stdout.write(json.dumps({"gigaflops": peak()}) + "\n")
        return
    found = seconds(products(arguments.batch_size), arguments.repeats)
    sys.stdout.write(json.dumps({"seconds": found}) + "\n")


main()
