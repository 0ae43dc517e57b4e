"""Another program's run, held against what is known of its environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from steadyrl.stability.course import FEWEST
from steadyrl.stability.enough import not_learned, too_short
from steadyrl.stability.monitor import Monitor
from steadyrl.stability.references import reference
from steadyrl.stability.standing import Standing

if TYPE_CHECKING:
    from steadyrl.core.foreign_config import ForeignConfig


def against_others(
    monitor: Monitor, config: ForeignConfig, how: Standing, doubts: Sequence[str]
) -> dict[str, Any]:
    """How far it came by what is known of its environment, and why it may not be healthy."""
    known = reference(config.environment.id, config.family, how.first, how.last)
    short = too_short(monitor.window, config)
    if known and known.at_random and monitor.window.ended and how.values >= FEWEST and not short:
        ends = f"the {how.score} ends near a random policy's: {known.sentence}"
        monitor.tell_at_end("D011", ends)
    return {
        "reference": known.sentence if known else "",
        "doubts": [*doubts, *short, *not_learned(how, known)],
    }
