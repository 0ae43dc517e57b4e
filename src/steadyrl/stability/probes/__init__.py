"""All probes, listed. They are asked only on alarm: each costs a few updates' time."""

from __future__ import annotations

from steadyrl.stability.rules import Probe

PROBES: tuple[Probe, ...] = ()
