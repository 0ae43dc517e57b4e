"""What a file of demonstrations is like before anything is learned from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyrl.experience.demonstrations import Demonstrations

COMPARED = 2000  # transitions whose neighbours are looked for
CONFLICT = 1.0  # times the actions' deviation, between two actions of one state
OUTLYING = 2.0  # times the range of nearly all, beyond it
LEAP = 8.0  # times a usual step
BESIDE = 5  # steps; neighbours in time resemble each other
FEW_VALUES = 20
MANY = 20  # below so many nothing can be told
FEW = 1000
ADVISED = (0.1, 0.2)  # batch as a share of the data

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Inspection:
    """Counts and concerns. Row numbers are those of the file."""

    source: str
    transitions: int
    lengths: list[int]
    observation_shape: tuple[int, ...]
    action_low: list[float]
    action_high: list[float]
    action_std: list[float]
    dead_observations: list[int]
    dead_actions: list[int]
    whole_actions: str  # the values, if all are a few whole numbers of one component
    zero_actions: int
    duplicates: int
    outliers: list[int]
    gaps: list[int]
    conflicts: list[tuple[int, int]]
    conflict_share: float
    batch_advice: str
    concerns: list[str]


def inspect(data: Demonstrations, *, batch_size: int | None = None) -> Inspection:
    """Look at everything that a recording can suffer from."""
    # Of pictures only their copies are looked for: pixels have no ranges worth telling.
    flat = np.zeros((len(data), 1)) if data.images else data.observations.reshape(len(data), -1)
    seen = flat.astype(np.float64)
    acted = data.actions.astype(np.float64)
    ends = [*data.starts[1:].tolist(), len(data)]
    lengths = [end - start for start, end in zip(data.starts.tolist(), ends, strict=True)]
    zero = int((np.abs(acted).max(axis=1) <= 1e-8).sum())
    rows = zip(data.observations, data.actions, strict=True)
    duplicates = len(data) - len({(s.tobytes(), a.tobytes()) for s, a in rows})
    dead_observations = [] if data.images else np.flatnonzero(np.ptp(seen, axis=0) == 0).tolist()
    dead_actions = np.flatnonzero(np.ptp(acted, axis=0) == 0).tolist()
    outliers = _outliers(np.column_stack((seen, acted)) if not data.images else acted)
    gaps = np.zeros(0, dtype=np.int64) if data.images else _gaps(seen, data)
    conflicts, share = ([], 0.0) if data.images else _conflicts(seen, acted, data)
    found = Inspection(
        source=data.source,
        transitions=len(data),
        lengths=lengths,
        observation_shape=data.observations.shape[1:],
        action_low=acted.min(axis=0).tolist(),
        action_high=acted.max(axis=0).tolist(),
        action_std=acted.std(axis=0).tolist(),
        dead_observations=dead_observations,
        dead_actions=dead_actions,
        whole_actions=_whole(data.actions),
        zero_actions=zero,
        duplicates=duplicates,
        outliers=data.kept[outliers].tolist(),
        gaps=data.kept[gaps].tolist(),
        conflicts=[(int(data.kept[a]), int(data.kept[b])) for a, b in conflicts],
        conflict_share=share,
        batch_advice=_advice(len(data), batch_size),
        concerns=[],
    )
    found.concerns.extend(_concerns(found, batch_size))
    return found


def _whole(actions: NDArray[Any]) -> str:
    values = np.unique(actions)
    choices = actions.shape[1] == 1 and 1 < len(values) <= FEW_VALUES
    if not choices or not np.array_equal(values, np.round(values)) or values[0] < 0:
        return ""
    return ", ".join(f"{value:g}" for value in values)


def _continuous(values: Floats) -> NDArray[np.bool_]:
    """Components with many values: flags and grippers leap by nature."""
    return np.array([len(np.unique(column)) > FEW_VALUES for column in values.T])


def _outliers(values: Floats) -> NDArray[np.int64]:
    """Rows with a component several times farther out than nearly all others."""
    wide = _continuous(values)
    if not wide.any():
        return np.zeros(0, dtype=np.int64)
    low, high = np.quantile(values[:, wide], [0.01, 0.99], axis=0)
    reach = OUTLYING * (high - low) + 1e-9
    far = (values[:, wide] < low - reach) | (values[:, wide] > high + reach)
    rows: NDArray[np.int64] = np.flatnonzero(far.any(axis=1))
    return rows


def _gaps(seen: Floats, data: Demonstrations) -> NDArray[np.int64]:
    """Rows whose successor is much farther away than successors usually are: missing frames."""
    inner = np.diff(data.trajectory_of_rows()) == 0
    steps = _steps(seen)
    usual = steps[inner]
    if len(usual) < MANY:
        return np.zeros(0, dtype=np.int64)
    limit = max(float(np.quantile(usual, 0.95)) * LEAP, 1e-9)
    rows: NDArray[np.int64] = np.flatnonzero(inner & (steps > limit))
    return rows


def _steps(seen: Floats) -> Floats:
    """How far each observation lies from the next, over its continuous components."""
    wide = _continuous(seen)
    if not wide.any():
        return np.zeros(len(seen) - 1)
    scaled = seen[:, wide] / (seen[:, wide].std(axis=0) + 1e-9)
    found: Floats = np.linalg.norm(np.diff(scaled, axis=0), axis=1) / np.sqrt(wide.sum())
    return found


def _conflicts(
    seen: Floats, acted: Floats, data: Demonstrations
) -> tuple[list[tuple[int, int]], float]:
    """Pairs of nearly equal states with clearly different actions, and their share of all pairs.

    Nearly equal is: no farther apart than half a usual step, but not neighbours in time.
    """
    if len(seen) < MANY:
        return [], 0.0
    rows = np.arange(len(seen))
    if len(rows) > COMPARED:
        rows = np.sort(np.random.default_rng(0).choice(len(seen), COMPARED, replace=False))
    spread = seen.std(axis=0)
    moving = spread > 1e-6 * (np.abs(seen).max(axis=0) + 1e-9)
    states = (seen[rows] - seen.mean(axis=0))[:, moving] / spread[moving]
    states /= np.sqrt(max(1, moving.sum()))
    actions = acted[rows] / (np.linalg.norm(acted.std(axis=0)) + 1e-9)
    reach = 0.5 * float(np.median(_steps(seen)))
    squares, of = (states**2).sum(axis=1), data.trajectory_of_rows()[rows]
    pairs: list[tuple[int, int]] = []
    gaps: list[Floats] = []
    differ: list[NDArray[np.bool_]] = []
    for index in range(len(rows)):
        distances = squares[index] + squares - 2.0 * states @ states[index]
        distances[: index + 1] = np.inf
        beside = (of == of[index]) & (np.abs(rows - rows[index]) <= BESIDE)
        close = np.flatnonzero((distances < reach**2) & ~beside)
        if not len(close):
            continue
        apart = np.linalg.norm(actions[close] - actions[index], axis=1)
        bad = close[apart > CONFLICT]
        gaps.append(np.sqrt(np.maximum(distances[close], 0.0)))
        differ.append(apart > CONFLICT)
        pairs += [(int(rows[index]), int(rows[other])) for other in bad[:2]]
    return pairs[:50], _share_of_equals(gaps, differ)


def _share_of_equals(gaps: list[Floats], differ: list[NDArray[np.bool_]]) -> float:
    """The share of differing actions where states are equal, from a line through the near ones.

    A deterministic expert changes its mind somewhere: near that border alike states differ too,
    but the fewer the more alike they are. Where something is not observed, the share stays.
    """
    if sum(map(len, gaps)) < MANY:
        return 0.0
    apart, different = np.concatenate(gaps), np.concatenate(differ).astype(np.float64)
    spread = float(((apart - apart.mean()) ** 2).mean())
    slope = float(((apart - apart.mean()) * different).mean()) / (spread + 1e-12)
    return max(0.0, float(different.mean()) - max(0.0, slope) * float(apart.mean()))


def _advice(count: int, batch_size: int | None) -> str:
    low, high = (max(1, round(share * count)) for share in ADVISED)
    said = f"{low} to {high} (10 to 20 % of {count:,})"
    if batch_size is not None:
        said += f"; {batch_size} is {batch_size / count:.0%}"
    return said


def _concerns(found: Inspection, batch_size: int | None) -> list[str]:
    said = []
    if found.transitions < FEW:
        said.append(
            f"{found.transitions:,} transitions are few: a network learns them by heart. Keep a "
            "floor under the standard deviation (std_floor 0.05), or record more."
        )
    if batch_size is not None and batch_size > 0.5 * found.transitions:
        said.append(f"a batch of {batch_size} is {batch_size / found.transitions:.0%} of the data")
    if len(found.lengths) == 1:
        said.append("one trajectory cannot be validated: record a second one")
    return [*said, *_flaws(found)]


def _flaws(found: Inspection) -> list[str]:
    """What is wrong with single transitions and components."""
    said = []
    if found.whole_actions:
        said.append(
            f"the actions are whole numbers ({found.whole_actions}): choices, which cloning here "
            "would fit as if 0.5 lay between two of them. An environment with Discrete actions "
            "cannot be played by such a clone."
        )
    if found.dead_actions:
        said.append(f"action components {found.dead_actions} never change")
    if found.dead_observations:
        said.append(f"observation components {found.dead_observations} never change")
    if found.zero_actions and not found.whole_actions:
        share = found.zero_actions / found.transitions
        said.append(
            f"{found.zero_actions} actions ({share:.0%}) are zero: the clone learns to wait. "
            "demonstrations.drop_zero_actions leaves them out."
        )
    if found.duplicates > 0.02 * found.transitions:
        said.append(f"{found.duplicates} transitions are exact copies of others")
    if found.outliers:
        said.append(f"{len(found.outliers)} transitions lie far outside: {found.outliers[:5]} ...")
    if found.gaps:
        said.append(f"time is missing after transitions {found.gaps[:5]}: frames were dropped")
    if found.conflict_share > 0.02:
        first = found.conflicts[0]
        said.append(
            f"in {found.conflict_share:.0%} of nearly equal states different things are done (for "
            f"example transitions {first[0]} and {first[1]}): something that decides is not "
            "observed"
        )
    return said


def rows_of(found: Inspection) -> Sequence[tuple[str, str]]:
    """What is told of a file, line by line."""
    lengths = found.lengths

    def numbers(values: Sequence[Any]) -> str:
        return ", ".join(f"{value:.3g}" for value in values)

    return (
        ("source", found.source),
        ("transitions", f"{found.transitions:,}"),
        ("trajectories", f"{len(lengths)}, of {min(lengths):,} to {max(lengths):,}"),
        ("observations", str(found.observation_shape)),
        ("actions: lowest", numbers(found.action_low)),
        ("actions: highest", numbers(found.action_high)),
        ("actions: deviation", numbers(found.action_std)),
        (
            "constant components",
            f"observations {found.dead_observations or 'none'}, actions "
            f"{found.dead_actions or 'none'}",
        ),
        ("zero actions", f"{found.zero_actions}"),
        ("exact duplicates", f"{found.duplicates}"),
        ("outliers", f"{len(found.outliers)}"),
        ("gaps in time", f"{len(found.gaps)}"),
        ("conflicting actions", f"{found.conflict_share:.1%} of nearly equal states"),
        ("batch size", found.batch_advice),
    )
