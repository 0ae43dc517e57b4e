"""What steps down the gradient left behind, made into signals an epoch at a time.

A reduction right after a matrix product takes several times as long as one after its like, so steps
keep what they computed anyway, and it is looked at together.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from steadyrl.algorithms.on_policy.signals import entropy_share
from steadyrl.maths.losses import describe_ratios
from steadyrl.maths.policies import Policy

Floats = NDArray[np.float32]


class Pass(NamedTuple):
    """One pass over some samples; tensors of its own, which nothing overwrites."""

    outputs: Tensor
    extra: Tensor
    log_ratios: Tensor
    advantages: Tensor
    errors: Tensor  # of the values
    fresh: Tensor | None  # which samples are; None: all

    def tensors(self) -> Pass:
        """Itself."""
        return self

    @staticmethod
    def joined(parts: Sequence[Pass]) -> Pass:
        """Parts of one minibatch as a whole."""
        outputs, extras, logs, advantages, errors, fresh = zip(*parts, strict=True)
        return Pass(
            torch.cat(outputs),
            extras[0],
            torch.cat(logs),
            torch.cat(advantages),
            torch.cat(errors),
            None if fresh[0] is None else torch.cat(fresh),
        )


class ArrayPass(NamedTuple):
    """One pass over fresh samples in NumPy."""

    outputs: Floats
    extra: Floats
    log_ratios: Floats
    advantages: Floats
    errors: Floats

    def tensors(self) -> Pass:
        """The same memory, as tensors."""
        outputs, extra, logs, advantages, errors = map(torch.from_numpy, self)
        return Pass(outputs, extra, logs, advantages, errors, None)


class Descent(NamedTuple):
    """One step: what was seen on the way, and how steep it was before clipping."""

    seen: Pass | ArrayPass
    norms: tuple[float, ...]  # of the policy's gradient and the value's; of one network's, its own


def describe(
    descents: Sequence[Descent], policy: Policy, clip_range: float
) -> dict[str, list[float]]:
    """Losses, ratios, entropy and gradients, step by step.

    How far probabilities have moved is told of fresh samples, which begin at a ratio of 1; a step
    on old samples alone has no such signals.
    """
    seen = [one.seen.tensors() for one in descents]
    norms, *value_norms = map(list, zip(*(one.norms for one in descents), strict=True))
    entropies = _entropies(seen, policy)
    signals = {
        "policy.entropy": entropies,
        "value.loss": squares([one.errors for one in seen]),
        "policy.gradient_norm": norms,
        "policy.gradient_norm_max": norms,
    }
    if value_norms:
        signals["value.gradient_norm"] = value_norms[0]
    for entropy in entropies:
        for name, share in entropy_share(policy, entropy).items():
            signals.setdefault(name, []).append(share)
    for alike in _alike(seen):
        for name, values in _ratios(alike, clip_range).items():
            signals[name] = [*signals.get(name, []), *values]
    return signals


def squares(errors: Sequence[Tensor]) -> list[float]:
    """Mean squared error of each."""
    groups = ((rows * rows).mean(dim=1).tolist() for rows in _stacked(errors))
    return list(chain.from_iterable(groups))


def _entropies(seen: Sequence[Pass], policy: Policy) -> list[float]:
    if policy.extra:  # the same in every state, and other after every step
        return [float(policy.entropy(one.outputs[:1], one.extra)) for one in seen]
    lengths = [one.outputs.shape[0] for one in seen]
    every = policy.entropy(torch.cat([one.outputs for one in seen]), seen[0].extra)
    rows = (group.mean(dim=1).tolist() for group in _stacked(torch.split(every, lengths)))
    return list(chain.from_iterable(rows))


def _ratios(seen: Sequence[Pass], clip_range: float) -> dict[str, list[float]]:
    """Of steps of one size; fresh and old samples apart."""
    logs = torch.stack([one.log_ratios for one in seen])
    advantages = torch.stack([one.advantages for one in seen])
    if seen[0].fresh is None:
        return describe_ratios(logs, advantages, clip_range)
    fresh = torch.stack([one.fresh for one in seen if one.fresh is not None])
    some, old = fresh.any(dim=1), ~fresh.all(dim=1)
    found = describe_ratios(logs[some], advantages[some], clip_range, fresh[some])
    aged = describe_ratios(logs[old], advantages[old], clip_range, ~fresh[old])
    return {**found, "aged.clip_fraction": aged["policy.clip_fraction"]}


def _stacked(columns: Sequence[Tensor]) -> list[Tensor]:
    """As rows, where they are of one length: all but the last may be."""
    whole = len(columns) - (columns[-1].shape[0] != columns[0].shape[0])
    parts = (columns[:whole], columns[whole:])
    return [torch.stack(tuple(part)) for part in parts if part]


def _alike(seen: Sequence[Pass]) -> list[Sequence[Pass]]:
    whole = len(seen) - (seen[-1].errors.shape[0] != seen[0].errors.shape[0])
    return [part for part in (seen[:whole], seen[whole:]) if part]
