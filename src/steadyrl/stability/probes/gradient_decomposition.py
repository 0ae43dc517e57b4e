"""Q506: where does the gradient come from?"""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.core.records import Evidence
from steadyrl.stability.rules import Probe

OPPOSED = -0.2
AGREED = 0.2


def answer(look: Mapping[str, float]) -> Evidence | None:
    """Agreement of the batch's halves, and the layers that hold the gradient."""
    cosine = look.get("gradient.halves_cosine")
    if cosine is None:
        return None
    if cosine > AGREED:
        said = "both halves of the batch pull the same way: there is a signal"
    elif cosine < OPPOSED:
        said = "the halves of the batch pull against each other: the gradient is noise"
    else:
        said = "the halves of the batch hardly agree: the gradient is mostly noise"
    said += f" (cosine {cosine:.2f}); the first layer holds "
    said += f"{look['gradient.first_layer_share']:.0%} of the squared gradient, the last "
    said += f"{look['gradient.last_layer_share']:.0%}"
    names = ("gradient.halves_cosine", "gradient.first_layer_share", "gradient.last_layer_share")
    return Evidence("Q506", said, {name: look[name] for name in names})


PROBE = Probe(
    id="Q506",
    name="gradient-decomposition",
    question="Do the halves of the last batch agree, and which layers hold its gradient?",
    cost="two backward passes over half a batch",
    answer=answer,
)
