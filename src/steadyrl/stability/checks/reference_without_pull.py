"""S022: A reference is asked for and has no say."""

from __future__ import annotations

from steadyrl.core.run_config import RunConfig
from steadyrl.stability.rules import Check, Sighting


def check(config: RunConfig) -> Sighting | None:
    """Read from the config alone."""
    where, weight = config.value_of("kl"), config.value_of("kl_weight")
    if where == "none" or 0.0 < weight <= 1.0:
        return None
    return Sighting(f"kl is {where} and kl_weight {weight:g}", {"kl_weight": weight})


CHECK = Check(
    id="S022",
    name="reference-without-pull",
    severity="warning",
    concern="A reference is asked for and has no say, or has nearly the only one.",
    why="With a weight of 0 its pass is paid for and nothing is held back; with more than 1 the "
    "model stays where it is.",
    remedy="Use 0.01 to 0.1, or kl none.",
    check=check,
    needs=("kl", "kl_weight"),
    traits=("language",),
)
