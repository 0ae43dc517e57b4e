"""Sorting the digits of short strings: a second task whose answers can be checked."""

from __future__ import annotations

import numpy as np

from steadyrl.core.errors import ConfigError
from steadyrl.core.seeding import derived_seed
from steadyrl.environments.language.addition import with_shots
from steadyrl.environments.language.scorers import exact
from steadyrl.environments.language.tasks import Problem, ProblemSet, split


def sorting(
    longest: int = 5,
    *,
    shortest: int = 2,
    shots: int = 0,
    held_out_share: float = 0.1,
    strings_per_level: int = 5_000,
    seed: int = 0,
) -> ProblemSet:
    """Strings like 3142>1234; a problem's level is its length.

    Strings of the same digits fall on the same side of the split: no held-out answer was ever an
    answer in training.
    """
    if not 1 <= shortest <= longest:
        raise ConfigError(
            f"sorting from {shortest} to {longest} digits is empty: use 1 <= shortest <= longest."
        )
    generator = np.random.default_rng(derived_seed(seed, "sorting"))
    problems = [
        Problem(f"{text}>", "".join(sorted(text)), "".join(sorted(text)), length)
        for length in range(shortest, longest + 1)
        for text in _strings(length, strings_per_level, generator)
    ]
    train, held_out = split(
        [problems[i] for i in generator.permutation(len(problems))], held_out_share, seed
    )
    return with_shots(ProblemSet("sorting", train, held_out, exact), shots)


def _strings(length: int, count: int, generator: np.random.Generator) -> list[str]:
    """All digit strings of a length, or `count` different ones of them."""
    if 10**length <= count:
        return [f"{number:0{length}d}" for number in range(10**length)]
    numbers = generator.choice(10**length, size=count, replace=False)
    return [f"{number:0{length}d}" for number in numbers.tolist()]
