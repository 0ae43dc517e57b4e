"""A Step that cannot be finished leaves nothing behind, and out of memory says what would fit."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

import torch

from steadyrl.algorithms.common.clock import Clock
from steadyrl.algorithms.language.config import LanguageConfig
from steadyrl.algorithms.language.learner import LanguageLearner
from steadyrl.algorithms.language.reading import READ_AT_ONCE
from steadyrl.core.config import LiveConfig
from steadyrl.core.errors import OutOfMemory, SteadyError
from steadyrl.core.records import Step
from steadyrl.environments.language import generation

# What allocators of torch and of the libraries below it say; not all have a class of their own.
_WORDS = re.compile(r"out of memory|can(?:'|no)t allocate memory|ALLOC_FAILED", re.IGNORECASE)
_WANTED = re.compile(r"tried to allocate ([\d.]+ ?\w+)", re.IGNORECASE)


def whole_steps(
    steps: Iterator[Step], live: LiveConfig[LanguageConfig], clock: Clock, learner: LanguageLearner
) -> Iterator[Step]:
    """The same Steps; one that fails is undone, if no weight has been moved by then."""
    while True:
        # Activations are computed again only in the mode that trains; there is no dropout in any.
        learner.policy.checkpointing = live.now.model.recompute
        learner.policy.train(live.now.model.recompute)
        with _whole_or_undone(live.now, clock, learner):
            step = next(steps, None)
        if step is None:
            return
        yield step


@contextmanager
def _whole_or_undone(
    config: LanguageConfig, clock: Clock, learner: LanguageLearner
) -> Iterator[None]:
    generators, taken = learner.generators.state_dict(), clock.state_dict()
    counters = {name: getattr(learner, name) for name in learner.counters}
    moves = learner.optimizer.moves
    try:
        yield
    except (SteadyError, MemoryError, RuntimeError) as error:
        failure = error if isinstance(error, SteadyError) else out_of_memory(error, config)
        if failure is None:
            raise
        learner.optimizer.zero()
        if learner.optimizer.moves == moves:
            learner.generators.load_state_dict(generators)
            clock.load_state_dict(taken)
            for name, value in counters.items():
                setattr(learner, name, value)
            failure.step_undone = True
        if failure is error:
            raise
        # The frames hold the very arrays that there was no room for.
        traceback.clear_frames(error.__traceback__)
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        raise failure from None


def out_of_memory(error: MemoryError | RuntimeError, config: LanguageConfig) -> OutOfMemory | None:
    """The error in our words with what would fit, or None if it is another one."""
    known = isinstance(error, MemoryError | torch.OutOfMemoryError)
    if not known and not _WORDS.search(str(error)):
        return None
    wanted = _WANTED.search(str(error))
    sampling = _within(error.__traceback__, generation.__name__)
    doing = "while completions were sampled" if sampling else "in an update"
    amount = f" (it wanted {wanted[1]} more)" if wanted else ""
    fits = what_fits(config, sampling=sampling)
    if not fits:
        return OutOfMemory(
            f"out of memory {doing}{amount}, with as little at once as can be. A lower "
            "problems.max_new_tokens, fewer samples_per_prompt or a smaller model would fit."
        )
    (name, value, now), *others = fits
    rest = "".join(f", or {other} = {_text(value)} ({_text(now)})" for other, value, now in others)
    failure = OutOfMemory(
        f"out of memory {doing}{amount}. {name} = {_text(value)} ({_text(now)} now) would fit "
        f"better{rest}; what is learned does not depend on it."
    )
    failure.resume_with = f"--{name.replace('_', '-')} {_text(value)}"
    return failure


def what_fits(config: LanguageConfig, *, sampling: bool) -> list[tuple[str, object, object]]:
    """(setting, smaller value, value in force), the most helpful one first."""
    found: list[tuple[str, object, object]] = []
    if sampling:
        at_once = config.sample_at_once
        if at_once > config.samples_per_prompt:
            found.append(("sample_at_once", max(at_once // 2, config.samples_per_prompt), at_once))
        return found
    micro = config.micro_batch_size or min(config.samples_per_gradient, READ_AT_ONCE)
    if micro > 1:
        now = "all" if config.micro_batch_size is None else micro
        found.append(("micro_batch_size", micro // 2, now))
    if not config.model.recompute:
        found.append(("model.recompute", True, False))
    if config.model.chunk > 1:
        found.append(("model.chunk", config.model.chunk // 2, config.model.chunk))
    return found


def _within(place: TracebackType | None, module: str) -> bool:
    """Whether the error came up through a module."""
    while place is not None:
        if place.tb_frame.f_globals.get("__name__") == module:
            return True
        place = place.tb_next
    return False


def _text(value: object) -> str:
    return str(value).lower()
