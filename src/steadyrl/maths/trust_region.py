"""The mathematics of a trust-region step: conjugate gradients and a line search. Pure.

Nothing here knows of policies: the caller gives a curvature product and an evaluation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

Failure = Literal[
    "", "no gradient", "negative curvature", "not finite", "divergence", "no improvement"
]


REAL = 0.01  # of a damped curvature, at the least


@dataclass(frozen=True, slots=True)
class Solution:
    """An approximate solution of F x = g."""

    direction: Tensor
    residual: float  # |F x - g| / |g|
    curvature: float  # x . F x
    iterations: int


def conjugate_gradient(
    product: Callable[[Tensor], Tensor],
    target: Tensor,
    *,
    iterations: int,
    tolerance: float = 1e-10,
) -> Solution:
    """Solve F x = g from x = 0, for a positive definite F that is only known by its products.

    Stops when |F x - g|^2 falls to `tolerance` times |g|^2, and at once where F shows negative
    curvature: from there on the direction would mean nothing.
    """
    direction = torch.zeros_like(target)
    residual = target.clone()
    search = residual.clone()
    square = float(residual @ residual)
    enough = tolerance * square
    done, bend = 0, 0.0
    for _ in range(iterations):
        if square <= enough:
            break
        curved = product(search)
        bend = float(search @ curved)
        if not bend > 0:
            break
        step = square / bend
        direction.add_(search, alpha=step)
        residual.sub_(curved, alpha=step)
        before, square = square, float(residual @ residual)
        search.mul_(square / before).add_(residual)
        done += 1
    # The curvature along x needs no product of its own: F x = g - residual.
    curvature = float(direction @ (target - residual)) if math.isfinite(bend) else math.nan
    size = float(torch.linalg.vector_norm(target))
    return Solution(direction, math.sqrt(square) / size if size else 0.0, curvature, done)


def full_step(solution: Solution, max_kl: float, *, damping: float) -> Tensor:
    """The direction, as long as a quadratic KL of `max_kl` allows.

    `damping` is what the solution's curvature owes to it and the KL does not: a KL knows only the
    rest. Of a curvature that is nearly all damping a hundredth is taken for real, so that the step
    is at most ten times as long: what is left of such a difference is mostly rounding.
    """
    held = damping * float(solution.direction @ solution.direction)
    curvature = max(solution.curvature - held, REAL * solution.curvature)
    return solution.direction * math.sqrt(2.0 * max_kl / curvature)


def no_direction(target: Tensor, solution: Solution) -> Failure:
    """Why there is nowhere to go, before any length is tried; "" if there is a direction."""
    square = float(target @ target)
    if not (math.isfinite(square) and math.isfinite(solution.curvature)):
        return "not finite"
    if square == 0.0:
        return "no gradient"
    return "" if solution.curvature > 0 else "negative curvature"


@dataclass(frozen=True, slots=True)
class SearchResult:
    """How a line search ended. After a failure the KL is NaN: no new policy exists to have one."""

    fraction: float  # of the full step; 0 on failure
    iterations: int
    objective: float  # gained over the start; 0 on failure
    kl: float
    failure: Failure

    @property
    def success(self) -> bool:
        """Whether a step was accepted."""
        return not self.failure


def line_search(
    evaluate: Callable[[float], tuple[float, float]],
    *,
    start: float,
    max_kl: float,
    shrink: float,
    tries: int,
) -> SearchResult:
    """The largest of 1, shrink, shrink^2, ... that improves the objective within the trust region.

    `evaluate(fraction)` gives objective and KL of that share of the step. The reason of a failure
    is that of the last try: the shortest step is the one that ought to have worked.
    """
    failure: Failure = "no improvement"
    for number in range(tries):
        fraction = shrink**number
        objective, kl = evaluate(fraction)
        if not (math.isfinite(objective) and math.isfinite(kl)):
            failure = "not finite"
        elif kl > max_kl:
            failure = "divergence"
        elif objective <= start:
            failure = "no improvement"
        else:
            return SearchResult(fraction, number + 1, objective - start, kl, "")
    return SearchResult(0.0, tries, 0.0, math.nan, failure)
