"""R381: Old samples are used twice at most and forgotten sooner."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig

REUSE, SOONEST = 2, 4


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """A quarter of the age, two uses, no priorities; None if all of that holds."""
    del window
    if not config.value_of("replay.enabled"):
        return None
    staleness = config.value_of("replay.staleness")
    sooner = max(SOONEST, min(staleness, 200) // 4)
    wanted = {
        "replay.staleness": min(staleness, sooner),
        "replay.reuse": min(config.value_of("replay.reuse"), REUSE),
        "replay.priority": "uniform",
    }
    return {name: to for name, to in wanted.items() if config.value_of(name) != to} or None


REMEDY = Remedy(
    id="R381",
    name="fresher-replay",
    effect="Old samples are used at most twice, drawn evenly, and forgotten four times as soon.",
    safety="automatic",
    restart=False,
    side_effects="Samples are used less often.",
    propose=propose,
    needs=("replay.enabled",),
    traits=("clipped",),
)
