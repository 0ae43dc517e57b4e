"""Q511: which samples and components made the loss leap?"""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.core.records import Evidence
from steadyrl.stability.rules import Probe


def answer(look: Mapping[str, float]) -> Evidence | None:
    """Shares of the rise, how often the culprits were drawn, and the state of the optimiser."""
    if "jump.component" not in look:
        return None
    culprits = [look[name] for name in sorted(look) if name.startswith("jump.culprit_")]
    numbers = ", ".join(f"{row:.0f}" for row in culprits)
    said = (
        f"action component {look['jump.component']:.0f} holds {look['jump.component_share']:.0%} "
        f"of the rise; transitions {numbers} hold {look['jump.samples_share']:.0%}, were drawn "
        f"{look['jump.culprits_use']:.2f} times as often as the mean and had a log deviation of "
        f"{look['jump.culprits_log_std']:.2f}; the smallest of all went from "
        f"{look['jump.log_std_min_before']:.2f} to {look['jump.log_std_min_now']:.2f}; "
        f"learning rate {look['jump.learning_rate']:.2g}, gradient^2 "
        f"{look['jump.gradient_over_memory']:.2g} times what Adam remembers"
    )
    names = ("component", "component_share", "samples_share", "culprits_use", "culprits_log_std")
    more = ("log_std_min_before", "log_std_min_now", "learning_rate", "gradient_over_memory")
    values = {name: look[f"jump.{name}"] for name in (*names, *more) if f"jump.{name}" in look}
    return Evidence("Q511", said, values)


PROBE = Probe(
    id="Q511",
    name="leap-culprits",
    question="Which transitions and action components caused the leap, and how had they been used?",
    cost="none beyond Q510",
    answer=answer,
)
