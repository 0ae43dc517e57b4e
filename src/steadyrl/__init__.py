"""steadyrl: RL training that stays up, and says why when it does not."""

from __future__ import annotations

import os as _os
from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

# Must be set before torch starts its threads: spinning OpenMP threads slow training down up to
# twenty times when another process is busy (docs/decisions.md).
if "OMP_WAIT_POLICY" not in _os.environ:
    _os.environ["OMP_WAIT_POLICY"] = "passive"
    # Of GNU's OpenMP: look for work a moment longer before sleeping, for it often comes at once.
    _os.environ.setdefault("GOMP_SPINCOUNT", "10000")

if TYPE_CHECKING:
    from steadyrl.api import Run as Run
    from steadyrl.api import rescue as rescue
    from steadyrl.api import resume as resume
    from steadyrl.api import train as train
    from steadyrl.core.errors import SteadyError as SteadyError
    from steadyrl.core.presets import load_config as load_config
    from steadyrl.integrations.checked_env import CheckedEnv as CheckedEnv
    from steadyrl.integrations.watch import Watch as Watch
    from steadyrl.judging import diagnose as diagnose
    from steadyrl.trained import load_policy as load_policy

__version__ = "0.2.0"

# Imported on first use, so that reading a log or printing help never waits for torch.
_LAZY = {
    "CheckedEnv": "steadyrl.integrations.checked_env",
    "Run": "steadyrl.api",
    "SteadyError": "steadyrl.core.errors",
    "Watch": "steadyrl.integrations.watch",
    "diagnose": "steadyrl.judging",
    "load_config": "steadyrl.core.presets",
    "load_policy": "steadyrl.trained",
    "rescue": "steadyrl.api",
    "resume": "steadyrl.api",
    "train": "steadyrl.api",
}

__all__ = [
    "CheckedEnv",
    "Run",
    "SteadyError",
    "Watch",
    "__version__",
    "diagnose",
    "load_config",
    "load_policy",
    "rescue",
    "resume",
    "train",
]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        try:
            return getattr(_import_module(_LAZY[name]), name)
        except ModuleNotFoundError as error:
            from steadyrl.core.extras import missing

            raise missing(error, f"steadyrl.{name}") or error from None
    raise AttributeError(f"module 'steadyrl' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
