"""Completions and what they teach, as an update goes over them."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Tensor

from steadyrl.environments.language.generation import Completions


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
