"""A closer look at a cloned policy whose loss has leapt: which terms, samples, components, and why.

The same batch and the whole data are measured with the weights of before (the last Step's) and of
the leap. If the batch was as costly before, the data is hard; if the whole data leapt with it, the
weights moved. Only measures; nothing here changes what training will do.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from steadyrl.algorithms.bc.bc import HONEST_STD, losses_with, put_gradient
from steadyrl.algorithms.bc.config import BCConfig
from steadyrl.algorithms.bc.learner import BCLearner
from steadyrl.maths.likelihood import Terms

CULPRITS = 5


def examine(learner: BCLearner, config: BCConfig) -> dict[str, float]:
    """All measurements of the last leap by name; none if there was none."""
    jump = learner.jump
    if jump is None:
        return {}
    batch_before = losses_with(learner, learner.before, jump.rows, config)
    before = losses_with(learner, learner.before, None, config)
    now = losses_with(learner, jump.parameters, None, config)
    honest = config.model_copy(update={"std_floor": max(HONEST_STD, config.std_floor)})
    honest_before = losses_with(learner, learner.before, None, honest)
    honest_now = losses_with(learner, jump.parameters, None, honest)
    measured = {
        "jump.step": float(jump.step),
        "jump.batch_before": batch_before.loss,
        "jump.batch_now": jump.loss,
        "jump.full_before": before.loss,
        "jump.full_now": now.loss,
        "jump.mse_before": before.mse,
        "jump.mse_now": now.mse,
        "jump.honest_before": honest_before.loss,
        "jump.honest_now": honest_now.loss,
        "jump.log_std_min_before": float(before.log_std.min()),
        "jump.log_std_min_now": float(now.log_std.min()),
        "jump.learning_rate": jump.learning_rate,
        "jump.gradient_over_memory": jump.surprise,
    }
    return measured | _culprits(learner, before, now)


def _culprits(learner: BCLearner, before: Terms, now: Terms) -> dict[str, float]:
    """The samples and components that the increase comes from."""
    rise = (now.nll - before.nll).clamp(min=0.0)
    total = float(rise.sum()) + 1e-30
    by_component, by_sample = rise.sum(0), rise.sum(1)
    worst = torch.topk(by_sample, min(CULPRITS, len(by_sample)))
    component = int(by_component.argmax())
    uses = learner.uses.double()
    found = {
        "jump.component": float(component),
        "jump.component_share": float(by_component[component]) / total,
        "jump.samples_share": float(worst.values.sum()) / total,
        "jump.culprits_use": float(uses[worst.indices.cpu()].mean() / (uses.mean() + 1e-12)),
        "jump.culprits_log_std": float(before.log_std[worst.indices, component].mean()),
    }
    for number, row in enumerate(worst.indices.tolist()):
        found[f"jump.culprit_{number}"] = float(learner.data.kept[row])
    return found


def gradients(
    learner: BCLearner,
    config: BCConfig,
    *,
    scheme: str,
    size: int,
    generator: np.random.Generator,
) -> dict[str, NDArray[np.float64]]:
    """The policy's gradient on one batch: drawn, or one stretch in time."""
    count = len(learner.data)
    if scheme == "drawn":
        rows = generator.integers(count, size=size)
    else:
        start = int(generator.integers(max(1, count - size)))
        rows = np.arange(start, min(start + size, count))
    network = learner.network
    kept = network.gradient.clone()
    put_gradient(learner, rows, config, generator)
    found = network.gradient.double().cpu().numpy().copy()
    network.gradient.copy_(kept)
    return {"policy": found}


def last_batch(learner: BCLearner) -> dict[str, NDArray[Any]]:
    """The batch that leapt: which transitions of the data, and their actions."""
    if learner.jump is None:
        return {}
    rows = learner.jump.rows
    return {"transition": learner.data.kept[rows], "action": learner.data.actions[rows]}


def tensors(learner: BCLearner) -> Iterator[tuple[str, Tensor]]:
    """What an update goes through, in its order."""
    yield "observations", learner.inputs
    yield "actions", learner.actions
    yield "policy gradient", learner.network.gradient
    yield "policy weights", learner.network.parameters
