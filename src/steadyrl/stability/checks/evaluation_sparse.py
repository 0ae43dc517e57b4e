"""S012: Fewer than six evaluations in the whole budget."""

from __future__ import annotations

from steadyrl.core.configs.run import RunConfig
from steadyrl.stability.rules import Check, Sighting


def check(config: RunConfig) -> Sighting | None:
    """Read from the config alone."""
    if config.algorithm == "bc":  # judged on its data; it may have no environment at all
        return None
    evaluation, total = config.evaluation, config.total_env_steps
    count = total // evaluation.every_env_steps if evaluation.episodes else 0
    if count >= 6:
        return None
    return Sighting(f"{count} evaluations in {total:,} environment steps", {"evaluations": count})


CHECK = Check(
    id="S012",
    name="evaluation-sparse",
    severity="note",
    concern="Fewer than six evaluations in the whole budget.",
    why="Collapse and lack of progress are judged on evaluations; few of them judge late.",
    remedy="Lower evaluation.every_env_steps.",
    check=check,
)
