"""What a run is judged by: its score, what that is called, how far chance moves it."""

from __future__ import annotations

import numpy as np

from steadyrl.maths.robust import median
from steadyrl.stability.course import FEWEST, WANDERS
from steadyrl.stability.rings import SPAN
from steadyrl.stability.window import EPISODES, SCORES, TRAINING_RETURN, Floats, Window

APART = 40  # values of training episodes that are looked at


def objective(window: Window) -> str:
    """The evaluation signal to judge progress by: what training optimises, if it is measured.

    The plain return may fall while the discounted one rises (living long in a costly world).
    Other programs' runs often have no evaluations; then training episodes stand in for them.
    """
    for name in ("eval.discounted_mean", "eval.return_mean"):
        if window.has(name):
            return name
    return TRAINING_RETURN if window.has(TRAINING_RETURN) else "eval.return_mean"


def score_of(window: Window) -> str | None:
    """What a whole run is judged by: evaluations, if there are enough of them, else episodes."""
    counts = {name: window.count(name) for name in SCORES if window.has(name)}
    enough = [name for name, count in counts.items() if count >= FEWEST]
    preferred = objective(window)
    if preferred in enough and preferred != TRAINING_RETURN:
        return preferred
    return next(iter(enough), None) or max(counts, key=lambda name: counts[name], default=None)


def few_episodes(window: Window) -> bool:
    """Whether the running mean, however many rows of it there are, is of hardly any episodes.

    By its values as well: where rows are counted in updates, episodes cannot be counted so.
    """
    length, course = window.first("rollout.length_mean"), window.course(TRAINING_RETURN)
    if window.step is None or course is None or not window.step.taken < FEWEST * length:
        return False
    return len(np.unique(course.means)) < FEWEST


def called(window: Window, name: str) -> str:
    """What people call an evaluation signal."""
    if name in (TRAINING_RETURN, EPISODES):
        return "mean reward" if window.has_any("language.") else "return of training episodes"
    if "success" in name:
        return "success rate"
    return "discounted return" if "discounted" in name else "return"


def returns_of(window: Window, name: str) -> Floats:
    """Evaluations as they are; of training episodes a few values far apart: neighbours overlap."""
    values = window.last(name)
    if name != TRAINING_RETURN or len(values) <= APART:
        return values
    chosen = np.linspace(0, len(values) - 1, APART).astype(int)
    spaced: Floats = values[chosen]
    if window.count(name) > SPAN:
        spaced[:2] = window.first(name)
    return spaced


def evaluation_noise(window: Window, name: str | None = None) -> float:
    """How much evaluations vary by chance: their recorded spread, or else between neighbours."""
    name = name or objective(window)
    spreads = window.last(name.replace("mean", "std"))
    if len(spreads):
        return median(spreads)
    steps = np.abs(np.diff(returns_of(window, name)))
    apart = WANDERS if name == TRAINING_RETURN else 1.0
    return apart * median(steps) if len(steps) else 0.0
