"""A step down the gradient of small networks on a small minibatch, in NumPy.

64 rows through 64 and 64 units are 0.1 ms of arithmetic, and torch's fifty calls take four times as
long. What is computed is that of `ppo.descend`; a test holds one to the other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from steadyrl.algorithms.on_policy.config import PPOConfig
from steadyrl.algorithms.on_policy.descents import ArrayPass, Descent
from steadyrl.algorithms.on_policy.learner import OnPolicyLearner
from steadyrl.experience.rollout import Samples
from steadyrl.maths.few_rows import (
    TakenChoices,
    TakenNumbers,
    clipped_surrogate,
    taken_by,
    value_loss,
)
from steadyrl.nets.adam import step_together
from steadyrl.nets.few_rows import FewRows, Floats, few_rows_of


class Small(NamedTuple):
    """Both networks in NumPy, and how actions are seen there."""

    actor: FewRows
    critic: FewRows
    taken: type[TakenChoices] | type[TakenNumbers]


class Rows(NamedTuple):
    """A minibatch as arrays, and the networks it is for."""

    networks: Small
    observations: Floats
    actions: NDArray[Any]
    log_probs: Floats
    values: Floats
    advantages: Floats
    returns: Floats


def small(learner: OnPolicyLearner, data: Samples, config: PPOConfig) -> Small | None:
    """What steps in NumPy need; None if they have to be torch's."""
    rows = min(config.minibatch_size, len(data))
    actor, critic = few_rows_of(learner.actor, rows), few_rows_of(learner.critic, rows)
    taken = taken_by(learner.policy)
    in_parts = config.micro_batch_size is not None and config.micro_batch_size < rows
    if actor is None or critic is None or taken is None or in_parts or data.weights is not None:
        return None
    return Small(actor, critic, taken)


def as_rows(networks: Small, minibatches: Iterable[Samples]) -> list[Rows]:
    """Minibatches as arrays: all at once, because after a product each would take longer."""
    return [
        Rows(
            networks,
            part.observations.numpy(),
            part.actions.numpy(),
            part.log_probs.numpy(),
            part.values.numpy(),
            part.advantages.numpy(),
            part.returns.numpy(),
        )
        for part in minibatches
    ]


def descend(
    learner: OnPolicyLearner,
    minibatch: Rows,
    config: PPOConfig,
    learning_rate: float,
    entropy_weight: float,
) -> Descent:
    """One step down the gradient of the whole minibatch."""
    # A policy that diverges is told by what it puts out, not by warnings on the way.
    with np.errstate(all="ignore"):
        seen = put_gradients(minibatch, config, entropy_weight)
        actor, critic, _ = minibatch.networks
        policy_norm, value_norm = actor.gradient_norm(), critic.gradient_norm()
        whole = math.hypot(policy_norm, value_norm)
        # Norms are measured before clipping: afterwards every explosion looks like the clip value.
        if config.gradient_clip is not None and whole > config.gradient_clip:
            actor.gradient *= config.gradient_clip / whole
            critic.gradient *= config.gradient_clip / whole
    step_together(learner.optimizers, learning_rate)
    return Descent(seen, (policy_norm, value_norm))


def put_gradients(minibatch: Rows, config: PPOConfig, entropy_weight: float) -> ArrayPass:
    """Gradients of the loss on these samples into the networks."""
    (actor, critic, see), observations, actions, old, values, advantages, returns = minibatch
    rows = len(observations)
    outputs = actor.forward(observations)
    taken = see(outputs, actor.extra, actions)
    surrogate = clipped_surrogate(taken.log_probs, old, advantages, config.clip_range)
    raised = surrogate.weights * np.float32(-1.0 / rows)
    slopes, free = taken.gradient(raised, -entropy_weight / rows)
    actor.backward(slopes, observations)
    if free is not None:
        actor.gradient[len(actor.gradient) - len(free) :] = free
    found = critic.forward(observations)[:, 0]
    errors, slopes = value_loss(found, values, returns, config.value_clip)
    slopes = slopes * np.float32(2.0 * config.value_weight / rows)
    critic.backward(slopes[:, None], observations)
    extra = actor.extra.copy() if free is not None else actor.extra
    return ArrayPass(outputs, extra, surrogate.log_ratios, advantages, errors)
