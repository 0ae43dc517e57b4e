"""Completions and what they teach, as an update goes over them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from steadyrl.environments.language.completions import Completions


@dataclass(frozen=True)
class Age:
    """What the rows of a batch count, where some are old."""

    fresh: Tensor  # (sequences,), bool
    policy: Tensor  # (sequences, completion): for an uneven draw and a policy that has moved on
    draws: Tensor  # (sequences, 1): for an uneven draw


@dataclass(frozen=True)
class Batch:
    """Completions and what they teach; arrays are (sequences, completion)."""

    completions: Completions
    old_log_probs: Tensor  # of the policy as it stood, by the pass that trains
    old_values: Tensor | None
    reference: Tensor | None
    merits: Tensor  # (sequences,): scores above the mean of their prompt, or of the batch
    advantages: Tensor = field(default_factory=Tensor)
    returns: Tensor | None = None
    worths: Tensor = field(default_factory=Tensor)  # (sequences,): mean |advantage| or |TD error|
    age: Age | None = None  # None: all are fresh and count alike

    def __len__(self) -> int:
        return len(self.completions)

    def rows(self, chosen: Tensor) -> Batch:
        """Some of the rows in this order; prompts and their samples must stay whole."""

        def of(values: Tensor | None) -> Tensor | None:
            return None if values is None else values[chosen]

        age = self.age
        return Batch(
            self.completions.rows(chosen),
            self.old_log_probs[chosen],
            of(self.old_values),
            of(self.reference),
            self.merits[chosen],
            self.advantages[chosen],
            of(self.returns),
            self.worths[chosen],
            age and Age(age.fresh[chosen], age.policy[chosen], age.draws[chosen]),
        )

    def fresh_tokens(self, rows: slice) -> float:
        """How many tokens of the rows are of completions that are not old."""
        mask = self.completions.mask[rows]
        return float(mask.sum() if self.age is None else mask[self.age.fresh[rows]].sum())

    def minibatches(self, size: int, generator: np.random.Generator) -> list[slice]:
        """So many rows at a time, in random order; completions of one prompt stay together."""
        starts = np.arange(0, len(self), size)
        if size % self.completions.samples_per_prompt == 0 or len(starts) == 1:
            starts = generator.permutation(starts)
        return [slice(int(start), min(int(start) + size, len(self))) for start in starts]

    def teaching(self, rows: slice, group: int, *, least: int) -> Batch:
        """Those of the rows whose prompt has completions of unequal merit; some prompts at least.

        Where all earned the same, all advantages are 0 and so is the gradient: to go through them
        would change nothing but the time it takes.
        """
        some = self.advantages[rows].abs().amax(dim=1).view(-1, group).amax(dim=1) > 0
        if int(some.sum()) < least:
            some[:least] = True
        chosen = some.nonzero() * group + torch.arange(group, device=some.device)
        return self.rows(chosen.flatten() + rows.start)
