"""Q501: is it the batch or the step?"""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.core.records import Evidence
from steadyrl.stability.rules import Probe


def answer(look: Mapping[str, float]) -> Evidence | None:
    """Loss of the last batch now against one Step ago."""
    now, past = look.get("batch.loss"), look.get("batch.loss_one_step_ago")
    if now is None or past is None:
        return None
    if now > 3 * past:
        said = "the last batch's loss is far higher than with the weights of a Step ago: the steps "
        said += "did it, not the data"
    elif past > 3 * now:
        said = "the last batch's loss was far higher a Step ago: training is still reducing it"
    else:
        said = "the last batch's loss was the same with the weights of a Step ago"
    return Evidence("Q501", said, {"now": now, "one_step_ago": past})


PROBE = Probe(
    id="Q501",
    name="same-batch",
    question="Was the last batch as hard for the weights of one Step ago?",
    cost="two forward passes over one batch",
    answer=answer,
)
