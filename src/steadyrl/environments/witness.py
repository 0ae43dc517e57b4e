"""What transitions that pass by say of the world: do actions reach it, when, and is reward noise?

Nothing is played again here: whoever steps an environment lets its transitions pass. What follows a
step is fitted by what was seen before it (with squares and products), and by the actions of that
step and of the steps before: the share of what is left that an action explains is its effect. How
much of the reward is noise is told by neighbours: transitions that are nearly alike should earn
nearly the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

KEPT = 2048  # transitions that are looked at
ENOUGH = 1000  # before anything is said
FEWEST = 400  # of them far enough from an episode's beginning
LAGS = 9  # an action's effect is looked for so many steps later, from 0 on
WIDEST = 64  # components of an observation
MOST_ACTIONS = 8  # numbers, or choices, of an action
PRODUCTS_UP_TO = 8  # components: of more, only squares are fitted
LEAST_EFFECT = 0.02  # of what is left to explain: less is chance
RIVALS = 0.2  # of the largest effect: the first lag with so much is when an action arrives
NEIGHBOURS = 1024  # transitions among which the nearest is looked for
REPEATED = 1e-12
VARIES = 1e-6  # of an action's size: less is rounding


@dataclass(frozen=True, slots=True)
class Account:
    """What has passed by; NaN where it could not be told."""

    transitions: int
    effect: float  # largest share of what is left to explain that an action explains
    lag: float  # steps until it shows; NaN if it never does
    noise: float  # share of the reward's variance that like transitions do not share

    @property
    def signals(self) -> dict[str, float]:
        """As signals of a Step."""
        found = {
            "environment.action_effect": self.effect,
            "environment.action_lag": self.lag,
            "environment.reward_noise": self.noise,
        }
        return {name: value for name, value in found.items() if not math.isnan(value)}


class Witness:
    """Takes transitions, of copies side by side, until it is asked."""

    def __init__(self, choices: int | None = None) -> None:
        """Watch; `choices` is the number of discrete actions, None where actions are numbers."""
        self._choices = choices
        self._rows: list[tuple[Any, Any, Any, Any]] = []
        self._blind = False  # observations or actions that cannot be fitted
        self._held = 0

    def add(self, observations: Any, actions: Any, rewards: Any, over: Any) -> None:
        """One step of every copy: what was seen before it, done, earned, and whether it ended."""
        if self._blind or self._held >= KEPT:
            return
        seen, done = np.array(observations), np.array(actions)  # whose owner may write into them
        if not (self._like_the_first(seen, done) if self._rows else self._fits(seen, done)):
            self._blind = True
            return
        self._rows.append((seen, done, np.array(rewards), np.array(over)))
        self._held += len(seen)

    def _like_the_first(self, seen: Any, done: Any) -> bool:
        first, its_action, *_ = self._rows[0]
        return bool(seen.shape == first.shape and done.shape == its_action.shape)

    def _fits(self, seen: Any, done: Any) -> bool:
        vectors = seen.ndim == 2 and seen.dtype.kind == "f" and 0 < seen.shape[1] <= WIDEST
        numbers = math.prod(done.shape[1:]) if done.ndim else 0  # of one copy's action
        width = numbers if self._choices is None else self._choices
        one = self._choices is None or numbers == 1
        return vectors and one and 0 < width <= MOST_ACTIONS and done.dtype.kind in "fiu"

    def ask(self) -> Account | None:
        """What has passed since it was last asked; None if that is too little."""
        if self._held < ENOUGH or len(self._rows) <= LAGS + 1:
            return None
        columns = [np.array(part) for part in zip(*self._rows, strict=True)]
        self._rows, self._held = [], 0
        seen, done, earned, ended = columns
        earned, ended = earned.astype(float), ended.astype(bool)
        acts = self._numbers(done.reshape(*ended.shape, -1))
        if not (np.isfinite(seen).all() and np.isfinite(earned).all()):
            return None
        now, later, acts, rewards = _aligned(seen, acts, earned, ended)
        if len(now) < FEWEST:
            return None
        effects = _effects(now, np.column_stack([later - now, rewards]), acts)
        if float(effects.max()) < LEAST_EFFECT:  # nothing moves by an action; it may yet be paid
            effects[0] = max(effects[0], _on_reward(now, later, acts[:, 0], rewards))
        effect = float(effects.max())
        arrives = np.flatnonzero(effects >= max(LEAST_EFFECT, RIVALS * effect))
        return Account(
            transitions=len(now),
            effect=effect,
            lag=float(arrives[0]) if len(arrives) else math.nan,
            noise=_noise(now, later, acts[:, 0], rewards),
        )

    def _numbers(self, done: Any) -> Floats:
        """Actions as columns of numbers; of choices one for each but the first."""
        if self._choices is None:
            return np.asarray(done, dtype=np.float64)
        chosen = done[..., 0].astype(int)
        return np.asarray(chosen[..., None] == np.arange(1, self._choices), dtype=np.float64)


def _aligned(
    seen: Any, acts: Floats, earned: Floats, ended: NDArray[np.bool_]
) -> tuple[Floats, Floats, Floats, Floats]:
    """Rows of (before, after, actions by lag, reward), none of which crosses an episode's end."""
    steps = np.arange(LAGS - 1, len(seen) - 1)
    rows = [(t, copy) for copy in range(seen.shape[1]) for t in steps.tolist()]
    whole = [(t, c) for t, c in rows if not ended[t - LAGS + 1 : t + 1, c].any()]
    if not whole:  # episodes shorter than the longest lag
        return (np.empty((0, 1)),) * 2 + (np.empty((0, 1, 1)), np.empty(0))
    at, copies = (np.array(part) for part in zip(*whole, strict=True))
    by_lag = np.stack([acts[at - lag, copies] for lag in range(LAGS)], axis=1)
    now = np.asarray(seen[at, copies], dtype=np.float64)
    later = np.asarray(seen[at + 1, copies], dtype=np.float64)
    return now, later, by_lag, earned[at, copies]


def _scaled(values: Floats) -> Floats:
    """Columns with a deviation of one; those that never change are left out."""
    spread = values.std(axis=0)
    # Equal numbers may have a deviation of rounding's size.
    moving = spread > 1e-9 * (np.abs(values).max(axis=0) + 1e-300)
    return np.asarray((values[:, moving] - values[:, moving].mean(axis=0)) / spread[moving])


def _features(now: Floats) -> Floats:
    """What was seen, with squares, and products where there are few components."""
    scaled = _scaled(now)
    columns = [np.ones((len(now), 1)), scaled]
    width = scaled.shape[1]
    if width <= PRODUCTS_UP_TO:
        columns += [scaled[:, [i]] * scaled[:, i:] for i in range(width)]
    else:
        columns.append(scaled**2)
    return np.column_stack(columns)


def _left(target: Floats, by: Floats) -> Floats:
    """What a least-squares fit leaves of each column."""
    solution, *_ = np.linalg.lstsq(by, target, rcond=None)
    return np.asarray(target - by @ solution)


def _effects(now: Floats, outcome: Floats, acts: Floats) -> Floats:
    """By lag: the largest share of an outcome's rest that the action then taken explains."""
    features = _features(now)
    outcome = _left(_scaled(outcome), features)
    # What the state explains to rounding has no rest that anything could explain.
    outcome = outcome[:, outcome.std(axis=0) > 1e-6]
    blocks = [_left(acts[:, lag], features) for lag in range(LAGS)]
    if not max(float(block.std(axis=0).max()) for block in blocks) > VARIES * np.abs(acts).max():
        return np.full(LAGS, math.nan)  # always the same, or the state's: no effect could be seen
    everything = np.column_stack(blocks)
    if not outcome.shape[1]:
        return np.zeros(LAGS)
    # Where all is explained, what is left is rounding: shares of it would mean nothing.
    rounding = 1e-6 * (outcome**2).sum(axis=0)
    rest = (_left(outcome, everything) ** 2).sum(axis=0) + rounding
    free = len(outcome) - features.shape[1] - everything.shape[1]
    found = np.zeros(LAGS)
    for lag, block in enumerate(blocks):
        others = np.column_stack([b for at, b in enumerate(blocks) if at != lag])
        share = 1.0 - rest / ((_left(outcome, others) ** 2).sum(axis=0) + rounding)
        chance = _by_chance(block.shape[1], LAGS * outcome.shape[1]) / max(free, 1)
        found[lag] = max(0.0, float((share - chance).max()))
    return found


def _by_chance(columns: int, looks: int) -> float:
    """What the largest of so many chi-square values hardly exceeds (Laurent and Massart)."""
    rare = math.log(looks) + 1.0
    return columns + 2.0 * math.sqrt(columns * rare) + 2.0 * rare


def _on_reward(now: Floats, later: Floats, acts: Floats, rewards: Floats) -> float:
    """What an action explains of the reward together with what was seen, before and after.

    A position that is paid by how a price moves has no effect of its own, only such a joint one.
    """
    seen = np.column_stack([_scaled(now), _scaled(later - now)])
    joint = [acts, *(acts[:, [i]] * seen for i in range(acts.shape[1]))]
    both = np.column_stack([_features(now), seen[:, _scaled(now).shape[1] :]])
    more = np.column_stack([both, *joint])
    free = len(rewards) - more.shape[1]
    paid = _scaled(rewards[:, None])
    if not paid.shape[1] or free < len(rewards) // 2:
        return 0.0
    without = float((_left(paid, both) ** 2).sum())
    if without < 1e-9 * len(paid):
        return 0.0
    share = 1.0 - float((_left(paid, more) ** 2).sum()) / without
    chance = _by_chance(more.shape[1] - both.shape[1], 1) / float(free)
    return max(0.0, float(share) - chance)


def _noise(now: Floats, later: Floats, acts: Floats, rewards: Floats) -> float:
    """Share of the reward's variance that neither its neighbours nor a fit account for."""
    spread = float(np.var(rewards))
    if not spread > REPEATED * (float(np.abs(rewards).max()) ** 2 + 1e-300):
        return math.nan
    chosen = np.linspace(0, len(now) - 1, min(len(now), NEIGHBOURS)).astype(int)
    places, paid = _scaled(np.column_stack([now, acts, later])[chosen]), rewards[chosen]
    squares = (places**2).sum(axis=1)
    distances = squares[:, None] + squares[None] - 2.0 * places @ places.T
    np.fill_diagonal(distances, np.inf)
    nearest = distances.argmin(axis=1)
    near = float(np.mean((paid - paid[nearest]) ** 2)) / 2.0
    fit = np.column_stack([_features(now), _scaled(later), acts])
    rest = _left(rewards[:, None], fit)
    free = max(len(rewards) - fit.shape[1], 1)
    return min(near, float((rest**2).sum()) / float(free)) / spread
