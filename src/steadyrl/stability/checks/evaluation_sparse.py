"""S012: Fewer than six evaluations in the whole budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steadyrl.stability.rules import Check, Sighting

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def check(config: RunConfig) -> Sighting | None:
    """Read from the config alone."""
    evaluation, total = config.evaluation, config.budget
    count = total // evaluation.every if evaluation.episodes else 0
    if count >= 6:
        return None
    return Sighting(f"{count} evaluations in {config.unit.of(total)}", {"evaluations": count})


CHECK = Check(
    id="S012",
    name="evaluation-sparse",
    severity="note",
    concern="Fewer than six evaluations in the whole budget.",
    why="Collapse and lack of progress are judged on evaluations; few of them judge late.",
    remedy="Lower evaluation.every.",
    check=check,
    traits=("acts",),
)
