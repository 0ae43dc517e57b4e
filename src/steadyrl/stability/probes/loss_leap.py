"""Q510: what leapt with the loss, and what did not?"""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.core.records import Evidence
from steadyrl.stability.rules import Probe


def answer(look: Mapping[str, float]) -> Evidence | None:
    """Batch, data and squared error, with the weights of before and of the leap."""
    if "jump.batch_now" not in look:
        return None
    batch = look["jump.batch_now"] - look["jump.batch_before"]
    rise = look["jump.full_now"] - look["jump.full_before"]
    honest = look["jump.honest_now"] - look["jump.honest_before"]
    said = (
        f"at step {look['jump.step']:,.0f} the batch cost {look['jump.batch_now']:.3g} nats "
        f"({look['jump.batch_before']:.3g} with the weights of before); all data went from "
        f"{look['jump.full_before']:.3g} to {look['jump.full_now']:.3g}, with deviations of at "
        f"least 0.05 from {look['jump.honest_before']:.3g} to {look['jump.honest_now']:.3g}, and "
        f"its squared error from {look['jump.mse_before']:.3g} to {look['jump.mse_now']:.3g}"
    )
    values = {
        "at": look["jump.step"],
        "batch_rise": batch,
        "rise": rise,
        "honest_rise": honest,
        "mse_before": look["jump.mse_before"],
        "mse_now": look["jump.mse_now"],
    }
    return Evidence("Q510", said, values)


PROBE = Probe(
    id="Q510",
    name="loss-leap",
    question="Did the batch, the whole data or the squared error leap, or only the certainty?",
    cost="five passes over the data",
    answer=answer,
)
