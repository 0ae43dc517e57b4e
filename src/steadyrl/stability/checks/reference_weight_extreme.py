"""S022: A reference that has nearly the only say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steadyrl.stability.rules import Check, Sighting

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def check(config: RunConfig) -> Sighting | None:
    """Read from the config alone."""
    where, weight = config.value_of("kl"), config.value_of("kl_weight")
    if where == "none" or weight <= 1.0:
        return None
    return Sighting(f"kl is {where} and kl_weight {weight:g}", {"kl_weight": weight})


CHECK = Check(
    id="S022",
    name="reference-weight-extreme",
    severity="warning",
    concern="The reference has nearly the only say.",
    why="With a KL weight above 1 a token that the reference finds unlikely costs more than a "
    "right answer earns, and the model stays where it is.",
    remedy="Use 0.01 to 0.1.",
    check=check,
    needs=("kl", "kl_weight"),
    traits=("language",),
)
