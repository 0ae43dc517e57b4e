"""What looking at Stable-Baselines3 models needs everywhere: leave no trace, measure norms."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor

from steadyrl.integrations.about import LOWER

ENOUGH = 128  # samples to judge the observations' scales by


@contextmanager
def unseen(policy: Any) -> Iterator[None]:
    """Look at a policy without a trace: its mode and all random numbers are put back.

    In training mode dropout would draw numbers and batch normalisation would learn from the look.
    """
    state = np.random.get_state()  # noqa: NPY002 - Stable-Baselines3 draws from this one
    training = bool(policy.training)
    with torch.random.fork_rng(), torch.no_grad():
        policy.set_training_mode(False)
        try:
            yield
        finally:
            policy.set_training_mode(training)
            np.random.set_state(state)  # noqa: NPY002


def flat(parameters: Sequence[Tensor]) -> Tensor:
    """All parameters as one vector, a copy."""
    if not parameters:
        return torch.zeros(1)
    return torch.cat([parameter.detach().reshape(-1) for parameter in parameters])


Guard = Callable[[Callable[[], None]], None]  # does something whose errors stay ours


class Lengths:
    """How long gradients were; read when asked for, so that no device is waited for before."""

    def __init__(self) -> None:
        self._lengths: list[Tensor] = []

    def add(self, parameters: Sequence[Tensor]) -> None:
        """Take the gradients that lie at these parameters now."""
        present = [p.grad for p in parameters if p.grad is not None]
        if present:
            self._lengths.append(
                torch.linalg.vector_norm(torch.stack(torch._foreach_norm(present)))
            )

    def take(self) -> list[float]:
        """One length for each time, and begin afresh."""
        lengths, self._lengths = self._lengths, []
        return torch.stack(lengths).tolist() if lengths else []


def after_backward(parameter: Tensor, work: Callable[[], None]) -> Any:
    """Do something at the end of each backward pass that leaves a gradient at a parameter.

    Then all parameters have theirs, and nobody has clipped them yet. A hook at each of them costs
    a tenth of PPO on CartPole; and one that also fires within autograd.grad breaks TRPO.
    """
    queue = torch.autograd.Variable._execution_engine.queue_callback
    hold: Any = parameter.register_post_accumulate_grad_hook  # not typed
    return hold(lambda _: queue(work))


def observation_signals(rows: Any) -> dict[str, float]:
    """Scales of the inputs; only where an observation is a vector."""
    if rows.ndim != 2 or len(rows) < ENOUGH or not np.issubdtype(rows.dtype, np.floating):
        return {}
    # Compared, not measured: the deviation of equal numbers is not always 0 in float32.
    moving = (rows != rows[:1]).any(axis=0)
    varying = rows[:, moving].std(axis=0, dtype=np.float64)
    signals = {"observation.constant_share": 1.0 - len(varying) / len(moving)}
    if len(varying):
        signals["observation.scale_ratio"] = float(varying.max() / varying.min())
    return signals


class Slower:
    """A learning-rate schedule at a third of another; part of a saved model, hence a class."""

    def __init__(self, schedule: Callable[[float], float]) -> None:
        self.schedule = schedule

    def __call__(self, progress_remaining: float) -> float:
        """The rate at this point of the run."""
        return LOWER * float(self.schedule(progress_remaining))
