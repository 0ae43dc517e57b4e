"""All controllers, listed: what adjusts settings while training, where the config asks for it.

A controller looks at the recorded Steps and proposes; the run changes the setting through
`LiveConfig.change`, so every adjustment is an event with its reason, and a resumed run makes the
same ones again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from steadyrl.stability.controllers import kl_weight, plateau, reuse, trust_region
from steadyrl.stability.controllers.adjustment import Adjustment as Adjustment
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig

CONTROLLERS: tuple[Callable[[Window, RunConfig], Adjustment | None], ...] = (
    trust_region.adjust,
    kl_weight.adjust,
    plateau.adjust,
    reuse.adjust,
)
