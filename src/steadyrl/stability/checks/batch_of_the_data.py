"""S019: A batch is most of the data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steadyrl.stability.rules import Check, Sighting

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig

SHARE = 0.5


def check(config: RunConfig) -> Sighting | None:
    """Batch size against what the config would learn from."""
    from steadyrl.environments.demonstrated import learned_from  # loads Gymnasium: only if needed

    count, size = learned_from(config.value_of("demonstrations")), config.value_of("batch_size")
    if count is None or size <= SHARE * count:
        return None
    share = size / count
    return Sighting(f"batch_size {size} is {share:.0%} of the data", {"share": share})


CHECK = Check(
    id="S019",
    name="batch-of-the-data",
    severity="warning",
    concern="A batch is most of the data.",
    why="Gradients have hardly any noise left, which lets the deviations collapse further. The "
    "repetition of samples itself does no harm (study C10).",
    remedy="Use 10 to 20 % of the data, and a std_floor of 0.05 at any batch size.",
    check=check,
    needs=("batch_size", "demonstrations"),
    traits=("cloning",),
)
