"""Tasks with checkable answers: problems to train on, others held out, and a score.

A task is made of `Problem`s that share nothing with those held out: problems with the same `key`
always fall on the same side.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from steadyrl.core.errors import ConfigError, EnvironmentFault
from steadyrl.environments.language.scorers import Scorer, find_scorer


@dataclass(frozen=True, slots=True)
class Problem:
    """A prompt and its right answer."""

    prompt: str
    answer: str
    key: str  # two wordings of one problem have the same key
    level: int = 1  # difficulty, where a task knows degrees of it


class Task(Protocol):
    """What training and evaluation ask of a task."""

    @property
    def name(self) -> str:
        """How reports call it."""

    @property
    def stop(self) -> str | None:
        """A completion ends where this text begins (and at the model's end of text)."""

    @property
    def preamble(self) -> str:
        """What stands before the question itself in every prompt; mostly nothing."""

    @property
    def train(self) -> Sequence[Problem]:
        """Problems to learn from, in random order."""

    @property
    def held_out(self) -> Sequence[Problem]:
        """Problems that are never trained on, in random order."""

    def score(self, completion: str, answer: str) -> float:
        """How good the completion is: 1 if right and 0 if wrong, unless the task says otherwise."""


@dataclass(frozen=True)
class ProblemSet:
    """A task given by its problems and a scorer."""

    name: str
    train: Sequence[Problem]
    held_out: Sequence[Problem]
    scorer: Scorer
    scorer_name: str = "exact"
    stop: str | None = None
    preamble: str = ""

    def score(self, completion: str, answer: str) -> float:
        """The scorer's number; a scorer that raises, or returns none, is named with its inputs."""
        texts = f"completion {_short(completion)} (answer {_short(answer)})"
        where = f"scorer '{self.scorer_name}' on {texts}"
        try:
            found: Any = self.scorer(completion, answer)
        except Exception as error:
            raise EnvironmentFault(
                f"{where} raised {type(error).__name__}: {' '.join(str(error).split())}. A scorer "
                "must return a number for every text, also for an empty one."
            ) from error
        try:
            score = float(found)
        except (TypeError, ValueError):
            score = math.nan
        if not math.isfinite(score):
            raise EnvironmentFault(
                f"{where} returned {found!r}. A scorer must return a finite number."
            )
        return score


def jsonl_task(
    path: Path,
    *,
    held_out: Path | None = None,
    held_out_share: float = 0.1,
    scorer: str = "exact",
    stop: str | None = None,
    seed: int = 0,
) -> ProblemSet:
    """A task from a file of lines like {"prompt": ..., "answer": ...}.

    Without a file of held-out problems a share of them is set apart by a hash of the prompt, which
    no other line and no order of lines changes.
    """
    problems = read_problems(path)
    if held_out is not None:
        train, apart = problems, read_problems(held_out)
        shared = {problem.key for problem in train} & {problem.key for problem in apart}
        if shared:
            raise ConfigError(
                f"'{held_out}' holds {len(shared)} of the problems of '{path}', for example "
                f"{_short(min(shared))}: held-out problems must not be trained on. Remove them "
                "from one of the files."
            )
    else:
        train, apart = split(problems, held_out_share, seed)
        if not train or not apart:
            raise ConfigError(
                f"'{path}' holds {len(problems)} problems, too few to set {held_out_share:g} of "
                "them apart. Give a file of held-out problems or more lines."
            )
    task = ProblemSet(path.stem, train, apart, find_scorer(scorer), scorer, stop)
    for text in ("", train[0].answer):  # a scorer that cannot work is found out before any training
        task.score(text, train[0].answer)
    return task


def read_problems(path: Path) -> list[Problem]:
    """The problems of a JSONL file; a line that is none is named."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text in UTF-8"
        raise ConfigError(f"problems cannot be read from '{path}': {reason}.") from None
    problems = [
        _problem(line, f"'{path}', line {number}")
        for number, line in enumerate(lines, start=1)
        if line.strip()
    ]
    if not problems:
        raise ConfigError(
            f"'{path}' holds no problems. Write one a line, like "
            '{"prompt": "2+3=", "answer": "5"}.'
        )
    return problems


def _problem(line: str, where: str) -> Problem:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{where} is no JSON: {error}.") from None
    if not isinstance(entry, dict):
        raise ConfigError(f'{where} is no object like {{"prompt": ..., "answer": ...}}.')
    texts = []
    for name in ("prompt", "answer"):
        value = entry.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            value = str(value)
        if not isinstance(value, str) or not value:
            given = f"has {name} = {value!r}" if name in entry else f"has no {name}"
            raise ConfigError(
                f"{where} {given}: every problem needs a prompt and an answer as text."
            )
        texts.append(value)
    return Problem(texts[0], texts[1], key=str(entry.get("key", texts[0])))


def split(
    problems: Iterable[Problem], held_out_share: float, seed: int
) -> tuple[list[Problem], list[Problem]]:
    """(train, held out) by a hash of seed and key: no other problem has a say in it."""
    train: list[Problem] = []
    held_out: list[Problem] = []
    for problem in problems:
        apart = _fraction(f"{seed}:{problem.key}") < held_out_share
        (held_out if apart else train).append(problem)
    return train, held_out


def alphabet(task: Task) -> str:
    """Every character of the task's prompts and answers, sorted."""
    problems = (*task.train, *task.held_out)
    return "".join(
        sorted(set().union(*(p.prompt + p.answer + (task.stop or "") for p in problems)))
    )


def _fraction(text: str) -> float:
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest) / 2.0**64


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")
