"""S018: Few demonstrations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steadyrl.stability.rules import Check, Sighting

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig

FEW = 1000


def check(config: RunConfig) -> Sighting | None:
    """Counts what the config would learn from."""
    from steadyrl.environments.demonstrated import learned_from  # loads Gymnasium: only if needed

    count = learned_from(config.value_of("demonstrations"))
    if count is None or count >= FEW:
        return None
    return Sighting(f"{count:,} transitions are fewer than {FEW:,}", {"transitions": count})


CHECK = Check(
    id="S018",
    name="demonstrations-few",
    severity="warning",
    concern="Few demonstrations.",
    why="A network learns a few hundred transitions by heart, becomes certain without end, and its "
    "likelihood leaps.",
    remedy="Record more trajectories, keep some for validation, and set std_floor to 0.05.",
    check=check,
    needs=("demonstrations",),
    traits=("cloning",),
)
