"""Addition of whole numbers: a task whose every answer can be checked and none looked up."""

from __future__ import annotations

import numpy as np

from steadyrl.core.errors import ConfigError
from steadyrl.core.seeding import derived_seed
from steadyrl.environments.language.scorers import exact
from steadyrl.environments.language.tasks import Problem, ProblemSet, split

Pair = tuple[int, int]


def addition(
    digits: int = 2,
    *,
    easiest: int = 1,
    reverse: bool = False,
    spaced: bool = False,
    shots: int = 0,
    held_out_share: float = 0.1,
    pairs_per_level: int = 10_000,
    seed: int = 0,
) -> ProblemSet:
    """Sums like 12+34=46; a problem's level is the number of digits of its larger operand.

    Levels run from `easiest` to `digits`; those with more than `pairs_per_level` pairs are drawn
    from. 12+34 and 34+12 fall on the same side of the split. `reverse` writes the answer's last
    digit first, the order in which a sum is worked out: easier for a small model. `spaced` writes
    12 + 34 = 46, which a pretrained model finds three times as easy as 12+34=46. `shots` solved
    examples, drawn from the training pairs and then left out of them, stand before each prompt for
    a model that has never seen the task; a completion then ends at the end of its line.
    """
    if not 1 <= easiest <= digits:
        raise ConfigError(
            f"addition from {easiest} to {digits} digits is empty: use 1 <= easiest <= digits."
        )
    generator = np.random.default_rng(derived_seed(seed, "addition"))
    problems = [
        _problem(pair, level, reverse=reverse, spaced=spaced)
        for level in range(easiest, digits + 1)
        for pair in _pairs(level, pairs_per_level, generator)
    ]
    train, held_out = split(
        [problems[i] for i in generator.permutation(len(problems))], held_out_share, seed
    )
    return with_shots(ProblemSet("addition", train, held_out, exact), shots)


def with_shots(task: ProblemSet, shots: int) -> ProblemSet:
    """The same task with solved training problems before each prompt, one a line."""
    if shots == 0:
        return task
    hardest = max(problem.level for problem in task.train)
    shown = [problem for problem in task.train if problem.level == hardest][:shots]
    examples = "".join(f"{problem.prompt}{problem.answer}\n" for problem in shown)
    hidden = {problem.key for problem in shown}

    def prepared(problems: list[Problem]) -> list[Problem]:
        return [
            Problem(examples + problem.prompt, problem.answer, problem.key, problem.level)
            for problem in problems
            if problem.key not in hidden
        ]

    return ProblemSet(
        task.name,
        prepared(list(task.train)),
        prepared(list(task.held_out)),
        task.scorer,
        task.scorer_name,
        stop="\n",
        preamble=examples,
    )


def _problem(pair: Pair, level: int, *, reverse: bool, spaced: bool) -> Problem:
    answer = str(sum(pair))
    key = f"{min(pair)}+{max(pair)}"
    prompt = f"{pair[0]} + {pair[1]} = " if spaced else f"{pair[0]}+{pair[1]}="
    return Problem(prompt, answer[::-1] if reverse else answer, key, level)


def _pairs(level: int, count: int, generator: np.random.Generator) -> list[Pair]:
    """All pairs whose larger operand has `level` digits, or `count` different ones of them."""
    low, high = (0, 10) if level == 1 else (10 ** (level - 1), 10**level)
    if high**2 - low**2 <= count:
        return [(a, b) for a in range(high) for b in range(high) if max(a, b) >= low]
    found: dict[Pair, None] = {}
    while len(found) < count:
        for a, b in generator.integers(high, size=(count, 2)).tolist():
            if max(a, b) >= low and len(found) < count:
                found[a, b] = None
    return list(found)
