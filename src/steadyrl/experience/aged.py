"""Experience that is used again: how old each item is, how often it was used, what is drawn next.

An item is a row of several arrays: a stretch of a rollout, or a prompt with its completions. This
file knows nothing of what they mean. A buffer that keeps nothing is an ordinary rollout.

Three promises, kept by construction: what is drawn is never older than the staleness limit, never
used more often than the reuse limit, and no item comes twice in one draw.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyrl.experience.sum_tree import SumTree
from steadyrl.maths.off_policy import effective_share, sampling_weights

Array = NDArray[Any]
Indices = NDArray[np.int64]
Floats = NDArray[np.float64]
TRIES = 8  # to find others where items came twice, before those that came make way
SMALLEST_WORTH = 1e-6  # an item that taught nothing once may still be drawn again


@dataclass(frozen=True)
class Limits:
    """What may be drawn."""

    capacity: int  # the newest so many
    staleness: int  # made at most so many updates ago
    reuse: int  # drawn less often than this before


@dataclass(frozen=True)
class Drawn:
    """Items that were drawn, and what is known of them."""

    slots: Indices
    items: dict[str, Array]
    weights: Floats  # (N p)^-beta, over the largest
    ages: Indices  # updates since they were made
    uses: Indices  # how often each was drawn, this time included


class AgedExperience:
    """A ring of items; the oldest leave first, the stale and the worn out before that."""

    counters = (
        "added",
        "drawn",
        "most_at_once",
        "dropped_stale",
        "dropped_worn",
        "dropped_for_room",
    )

    def __init__(self, capacity: int, *, alpha: float, beta: float) -> None:
        self.capacity, self.alpha, self.beta = capacity, alpha, beta
        self.added = self.drawn = 0
        self.most_at_once = 0  # items that came together, at most
        self.dropped_stale = self.dropped_worn = self.dropped_for_room = 0
        self._first = 0  # the oldest that may still be there; items are numbered as they come
        self._fields: dict[str, Array] = {}
        self._make_room()

    def _make_room(self) -> None:
        self._size = 0
        self._reuse_limit = np.iinfo(np.int64).max  # nothing that is left was used so often
        self._births = np.zeros(self.capacity, dtype=np.int64)
        self._uses = np.zeros(self.capacity, dtype=np.int64)
        self._worths = np.zeros(self.capacity)
        self._there = np.zeros(self.capacity, dtype=bool)
        self._tree = SumTree(self.capacity)

    def __len__(self) -> int:
        return self._size

    def add(self, items: Mapping[str, Array], *, born: int, worths: Array) -> None:
        """Take items that were made in update number `born`; those they replace are gone."""
        count = len(worths)
        if not self._fields:
            self._fields = {
                name: np.zeros((self.capacity, *rows.shape[1:]), dtype=rows.dtype)
                for name, rows in items.items()
            }
        kept = slice(max(0, count - self.capacity), count)
        self.added += count
        self.most_at_once = max(self.most_at_once, count)
        self._leave(self.added - self.capacity, "dropped_for_room")
        slots = np.arange(self.added - (count - kept.start), self.added) % self.capacity
        for name, rows in items.items():
            self._fields[name][slots] = rows[kept]
        self._births[slots], self._uses[slots], self._there[slots] = born, 0, True
        self._size += len(slots)
        self.learn(slots, worths[kept])

    def draw(
        self, count: int, *, now: int, limits: Limits, generator: np.random.Generator
    ) -> Drawn:
        """Different items by priority, fewer if there are not so many that may be drawn."""
        self.retire(now, limits)
        count = min(count, len(self))
        slots = self._choose(count, generator)
        shares = self._tree[slots] / self._tree.total if count else np.zeros(0)
        weights = sampling_weights(shares, len(self), self.beta) if count else shares
        uses = self._uses[slots] + 1
        self._uses[slots] = uses
        self.drawn += count
        drawn = Drawn(
            slots=slots,
            items={name: rows[slots] for name, rows in self._fields.items()},
            weights=weights,
            ages=now - self._births[slots],
            uses=uses,
        )
        worn = uses >= limits.reuse
        if worn.any():
            self._drop(slots[worn], "dropped_worn")
        return drawn

    def learn(self, slots: Indices, worths: Array) -> None:
        """Items are drawn in proportion to worth^alpha from now on; those that left stay away."""
        there = self._there[slots]
        if not there.all():
            slots, worths = slots[there], worths[there]
        if len(slots):
            worths = np.abs(worths, dtype=np.float64)
            self._worths[slots] = worths
            self._tree.set(slots, self._priorities(worths))

    def set_alpha(self, alpha: float) -> None:
        """How far priorities count from now on, for the items that are there too."""
        if alpha != self.alpha:
            self.alpha = alpha
            self._set_priorities(np.flatnonzero(self._there))

    def forget_others(self, mask: tuple[int, ...]) -> int:
        """Let items go whose mask is of another shape; returns how many were there."""
        if not self._fields or self._fields["mask"].shape[1:] == mask:
            return 0
        count = len(self)
        self._leave(self.added, "dropped_for_room")
        self._fields = {}
        return count

    def mispriced(self, slots: Indices, worths: Array) -> float:
        """The share of these items, as far as they are there, that another priority holds for."""
        there = self._there[slots]
        wanted = self._priorities(np.abs(worths[there]).astype(np.float64))
        wrong = ~np.isclose(self._tree[slots[there]], wanted, rtol=1e-9, atol=0.0)
        return float(wrong.mean()) if there.any() else 0.0

    def grow_beta(self, growth: float) -> None:
        """Correct uneven draws a little more, at most wholly."""
        self.beta = min(1.0, self.beta + growth)

    def retire(self, now: int, limits: Limits) -> None:
        """Let go of what may not be drawn any more."""
        self._leave(self.added - limits.capacity, "dropped_for_room")
        alive, oldest = range(self._first, self.added), now - limits.staleness
        if alive and self._born(alive[0]) < oldest:
            self._leave(alive[bisect_left(alive, oldest, key=self._born) - 1] + 1, "dropped_stale")
        if limits.reuse < self._reuse_limit:
            self._drop(np.flatnonzero(self._there & (self._uses >= limits.reuse)), "dropped_worn")
        self._reuse_limit = limits.reuse

    def statistics(self, now: int) -> dict[str, float]:
        """What is in the buffer; of an empty one only that it is empty."""
        found = {"aged.size": float(len(self))}
        if not len(self):
            return found
        ages, uses = now - self._births[self._there], self._uses[self._there]
        together = int(np.unique(ages, return_counts=True)[1].max())
        return found | {
            "aged.birth_crowding": together / self.most_at_once,
            "aged.age_mean": float(ages.mean()),
            "aged.age_max": float(ages.max()),
            "aged.uses_mean": float(uses.mean()),
            "aged.uses_max": float(uses.max()),
            "aged.priority_spread": effective_share(self._tree[np.flatnonzero(self._there)]),
        }

    def bytes_of(self, items: Mapping[str, Array]) -> int:
        """How much memory items of this shape take when the buffer is full."""
        return sum(rows[:1].nbytes for rows in items.values()) * self.capacity

    def _choose(self, count: int, generator: np.random.Generator) -> Indices:
        """By priority, without repeating any: what came twice is drawn again among the others."""
        chosen = _different(self._tree.draw(count, generator)) if count else np.zeros(0, np.int64)
        for _ in range(TRIES):
            if len(chosen) == count:
                break
            chosen = np.union1d(chosen, self._tree.draw(count - len(chosen), generator))
        else:  # few are left beside those that were chosen: these make way
            while len(chosen) < count:
                self._tree.set(chosen, np.zeros(len(chosen)))
                chosen = np.union1d(chosen, self._tree.draw(count - len(chosen), generator))
            self._set_priorities(chosen)
        return chosen

    def _set_priorities(self, slots: Indices) -> None:
        self._tree.set(slots, self._priorities(self._worths[slots]))

    def _priorities(self, worths: Array) -> Array:
        return (worths + SMALLEST_WORTH) ** self.alpha

    def _born(self, item: int) -> int:
        return int(self._births[item % self.capacity])

    def _leave(self, until: int, reason: str) -> None:
        """Items numbered below `until` are gone."""
        if until > self._first:
            stop = min(until, self.added)
            slots = np.arange(max(self._first, stop - self.capacity), stop) % self.capacity
            self._drop(slots, reason)
            self._first = until

    def _drop(self, slots: Indices, reason: str) -> None:
        slots = slots[self._there[slots]]
        if not len(slots):
            return
        self._there[slots] = False
        self._tree.set(slots, np.zeros(len(slots)))
        self._size -= len(slots)
        setattr(self, reason, getattr(self, reason) + len(slots))

    def state_dict(self) -> dict[str, Any]:
        """All that is there, oldest first, and the counts."""
        numbers = np.arange(max(self._first, self.added - self.capacity), self.added)
        numbers = numbers[self._there[numbers % self.capacity]]
        slots = numbers % self.capacity
        return {
            "numbers": numbers,
            "births": self._births[slots],
            "uses": self._uses[slots],
            "worths": self._worths[slots],
            "fields": {name: rows[slots] for name, rows in self._fields.items()},
            "beta": self.beta,
            "counts": {name: getattr(self, name) for name in self.counters},
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Back to a recorded state; of more than fit the newest are kept."""
        self._make_room()
        self._fields, self.beta = {}, float(state["beta"])
        for name, value in state["counts"].items():
            setattr(self, name, int(value))
        numbers = np.asarray(state["numbers"])
        fits = numbers >= self.added - self.capacity
        numbers = numbers[fits]
        self._first = int(numbers[0]) if len(numbers) else self.added
        slots = numbers % self.capacity
        for name, rows in state["fields"].items():
            kept = np.asarray(rows)[fits]
            self._fields[name] = np.zeros((self.capacity, *kept.shape[1:]), dtype=kept.dtype)
            self._fields[name][slots] = kept
        self._births[slots] = np.asarray(state["births"])[fits]
        self._uses[slots] = np.asarray(state["uses"])[fits]
        self._there[slots] = True
        self._size = len(slots)
        self.learn(slots, np.asarray(state["worths"])[fits])


def _different(ascending: Indices) -> Indices:
    """Without repetitions."""
    kept = np.empty(len(ascending), dtype=bool)
    kept[:1] = True
    np.not_equal(ascending[1:], ascending[:-1], out=kept[1:])
    return ascending[kept]
