"""What can be told of an environment from what random actions have shown."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from steadyrl.core.numbers import amount
from steadyrl.maths.robust import median
from steadyrl.stability.rules import Sighting

Floats = NDArray[np.float64]

FEW_EPISODES = 5
NOISY = 0.5  # share of the reward's variance that the same actions do not repeat
ALIKE = 0.8  # the same, told by neighbours: rewards may also depend on what is not observed
NO_EFFECT = 0.01  # of what the state leaves open: so little is chance
SCALES = 100.0  # between the most and the least varying component
LARGE = 100.0  # rewards
EQUAL = 1e-9
BOTH = 0.5  # of the episodes: a task may end by itself in the very step of its time limit


@dataclass(frozen=True)
class Examined:
    """What random actions, and the same actions once more, or whatever passed by have shown."""

    rewards: Floats  # of every step
    lengths: Floats  # of whole episodes
    returns: Floats
    terminated: Floats  # 1 where an episode ended by itself, 0 where it was cut
    observations: Floats | None = None  # a row each, where they are vectors
    faults: Mapping[str, str] = field(default_factory=dict)  # promises that were broken
    both_flags: int = 0  # episodes that ended as terminated and truncated at once
    denied: int = 0  # ends of which info says otherwise than the flags
    repeats: int = 0  # episodes played twice with the same seed and actions
    observation_gap: float = 0.0  # largest difference between the two
    reward_gap: Floats = field(default_factory=lambda: np.empty(0))  # differences of rewards
    # Of episodes played again with one action changed: the lag at which anything differs first.
    lags: Floats = field(default_factory=lambda: np.empty(0))  # infinite: never
    # As transitions that pass by show it, without playing anything again; NaN: not known.
    effect: float = math.nan  # share of what the state leaves open that an action explains
    lag: float = math.nan  # steps until it shows
    noise: float = math.nan  # share of the reward's variance that like transitions do not share

    @property
    def intervened(self) -> bool:
        """Whether an episode can be repeated and was played again with an action changed."""
        return bool(len(self.lags)) and not self.observation_gap > EQUAL


def broken_promise(seen: Examined) -> Sighting | None:
    """What the spaces promise and the environment does not keep."""
    broken = {kind: said for kind, said in seen.faults.items() if kind not in _SUSPICIONS}
    if not broken:
        return None
    first = next(iter(broken.values()))
    more = f" (and {len(broken) - 1} more kinds)" if len(broken) > 1 else ""
    return Sighting(first + more, {"kinds": float(len(broken))})


_SUSPICIONS = ("observation-frozen", "time-limit-as-termination", "action")


def time_limit(seen: Examined) -> Sighting | None:
    """Episodes that all terminate after the same number of steps."""
    said = seen.faults.get("time-limit-as-termination")
    return Sighting(said) if said else None


def contradiction(seen: Examined) -> Sighting | None:
    """Ends that are two kinds at once, nearly always, or that info denies."""
    episodes = len(seen.returns)
    if seen.denied:
        return Sighting(
            f"info says of {seen.denied} ends that they are time limits, and truncated is False",
            {"denied": float(seen.denied)},
        )
    if episodes < FEW_EPISODES or seen.both_flags < BOTH * episodes:
        return None
    return Sighting(
        f"{seen.both_flags} of {episodes} episodes ended as terminated and truncated at once",
        {"both": float(seen.both_flags)},
    )


def not_reproducible(seen: Examined) -> Sighting | None:
    """Another course for the same seed and actions."""
    if not seen.repeats or seen.observation_gap <= EQUAL:
        return None
    return Sighting(
        f"the same seed and actions led to observations that differ by {seen.observation_gap:.3g}",
        {"gap": seen.observation_gap},
    )


def no_effect(seen: Examined) -> Sighting | None:
    """A changed action after which everything is as before."""
    if not seen.intervened:
        if not seen.effect < NO_EFFECT:
            return None
        return Sighting(
            f"actions explain {seen.effect:.1%} of what the state leaves open of the next one",
            {"effect": seen.effect},
        )
    if np.isfinite(seen.lags).any():
        return None
    return Sighting(
        f"in {len(seen.lags)} episodes one action was changed, and nothing else did",
        {"episodes": float(len(seen.lags))},
    )


def late(seen: Examined) -> Sighting | None:
    """A changed action that never shows at once."""
    known = seen.lags[np.isfinite(seen.lags)] if seen.intervened else np.array([seen.lag])
    if not len(known) or not float(known.min()) >= 1:
        return None
    lag = median(known)
    return Sighting(
        f"a changed action shows {lag:.0f} steps later at first, never at once", {"lag": lag}
    )


def noisy_reward(seen: Examined) -> Sighting | None:
    """Rewards that the same seed and actions do not repeat."""
    if len(seen.reward_gap) < FEW_EPISODES or len(seen.rewards) < FEW_EPISODES:
        if not seen.noise > ALIKE:
            return None
        return Sighting(
            f"{min(seen.noise, 1.0):.0%} of the reward's variance is not shared by transitions "
            "that are nearly alike",
            {"share": seen.noise},
        )
    total = float(np.var(seen.rewards))
    noise = float(np.mean(seen.reward_gap**2)) / 2.0  # a difference has twice the variance
    if not total > 0 or noise / total <= NOISY:
        return None
    share = min(noise / total, 1.0)
    return Sighting(
        f"{share:.0%} of the reward's variance is not repeated by the same seed and actions",
        {"share": share},
    )


def early_end(seen: Examined) -> Sighting | None:
    """Returns that fall with the length of an episode."""
    ended = seen.terminated > 0
    if int(ended.sum()) < FEW_EPISODES or np.ptp(seen.lengths) == 0 or np.ptp(seen.returns) == 0:
        return None
    together = float(np.corrcoef(seen.lengths, seen.returns)[0, 1])
    step = float(seen.returns.sum() / seen.lengths.sum())
    if not (step < 0 and together < -0.7):
        return None
    return Sighting(
        f"a step earns {step:.3g} on average, and the sooner an episode ends by itself the higher "
        f"is its return (correlation {together:.2f})",
        {"correlation": together, "reward_per_step": step},
    )


def _moving(observations: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    moving = (observations != observations[:1]).any(axis=0)
    return observations[:, moving].std(axis=0), moving


def scales(seen: Examined) -> Sighting | None:
    """Components that vary by far more than others."""
    if seen.observations is None:
        return None
    spreads, _ = _moving(seen.observations)
    if len(spreads) < 2 or spreads.max() / max(spreads.min(), 1e-300) <= SCALES:
        return None
    ratio = float(spreads.max() / spreads.min())
    return Sighting(f"one component varies {ratio:,.0f} times as much as another", {"ratio": ratio})


def constant(seen: Examined) -> Sighting | None:
    """Components that never change."""
    if seen.observations is None:
        return None
    _, moving = _moving(seen.observations)
    still = np.flatnonzero(~moving)
    if not len(still):
        return None
    some = ", ".join(map(str, still[:5].tolist()))
    return Sighting(
        f"{len(still)} of {len(moving)} components never change (component {some})",
        {"constant": float(len(still))},
    )


def duplicated(seen: Examined) -> Sighting | None:
    """Two components that are always equal."""
    if seen.observations is None:
        return None
    _, moving = _moving(seen.observations)
    columns: dict[bytes, int] = {}
    for number in np.flatnonzero(moving).tolist():
        twin = columns.setdefault(seen.observations[:, number].tobytes(), number)
        if twin != number:
            return Sighting(
                f"components {twin} and {number} are always equal", {"first": float(twin)}
            )
    return None


def no_reward(seen: Examined) -> Sighting | None:
    """Rewards and returns that never differ."""
    if not len(seen.rewards) or float(np.ptp(seen.rewards)) > 0 or float(np.ptp(seen.returns)) > 0:
        return None
    return Sighting(
        f"every one of {len(seen.rewards):,} rewards is {float(seen.rewards[0]):g}",
        {"rewards": float(len(seen.rewards))},
    )


def large_reward(seen: Examined) -> Sighting | None:
    """Rewards of hundreds."""
    largest = float(np.abs(seen.rewards).max()) if len(seen.rewards) else 0.0
    if not math.isfinite(largest) or largest <= LARGE:
        return None
    return Sighting(f"rewards reach {amount(largest)} in size", {"largest": largest})
