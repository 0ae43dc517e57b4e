"""What was made of a log's names, in a line at the head of its verdict."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from steadyrl.core.foreign_config import ForeignConfig

SHOWN = 5  # names that were ignored, of which the line tells


@dataclass(frozen=True)
class Names:
    """What was made of a log's names: by our signal theirs, and those that nothing was made of."""

    read: Mapping[str, str] = field(default_factory=dict)
    ignored: Sequence[str] = ()


def told(config: ForeignConfig, names: Names, taken: int) -> str:
    """Which algorithm, where, how long, what was read as the return and what was ignored."""
    known = "an unknown algorithm" if config.family == "unknown" else config.family
    where = "" if config.environment.id == "unknown" else f" on {config.environment.id}"
    planned = f" of {config.planned:,}" if config.planned and config.planned != taken else ""
    wanted = ("rollout.return_mean", "eval.return_mean")
    returns = [names.read[name] for name in wanted if name in names.read]
    score = f" ({', '.join(returns)} as return)" if returns else ""
    ignored = names.ignored
    rest = f"; {len(ignored)} ignored: {', '.join(ignored[:SHOWN])}" if ignored else ""
    more = " ..." if len(ignored) > SHOWN else ""
    read = f"{len(names.read)} signal{'' if len(names.read) == 1 else 's'} read{score}"
    return f"{known}{where}, {taken:,}{planned} {config.unit.many}; {read}{rest}{more}"


def nothing_known(named: Collection[str]) -> str:
    """Why there is not a single Step."""
    if not named:
        return "it holds no numbers."
    some = ", ".join(sorted(named)[:5])
    return f"none of its names is known ({some}): say what they mean with --mapping."
