"""Behaviour cloning: a Gaussian policy fitted to demonstrations.

Reads top to bottom: `train_bc` is the loop, `update` one gradient step, `look` what a Step says of
the whole data. The learner (bc_learner.py) holds everything that must survive a crash.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from functools import partial

import numpy as np
import torch
from gymnasium.spaces import Box
from numpy.typing import NDArray
from torch import Tensor

from steadyrl.algorithms.bc.config import BCConfig
from steadyrl.algorithms.bc.learner import (
    IMAGES_AT_ONCE,
    SEEN_AT_ONCE,
    BCLearner,
    Jump,
    Rows,
)
from steadyrl.algorithms.common.clock import Clock
from steadyrl.algorithms.common.ending import finish_step
from steadyrl.core.config import LiveConfig
from steadyrl.core.errors import TrainingDiverged
from steadyrl.core.records import Step
from steadyrl.core.signals import Meter
from steadyrl.environments.evaluate import evaluate
from steadyrl.maths.likelihood import Terms, terms_and_slopes
from steadyrl.nets.module import ModuleNetwork
from steadyrl.nets.weights import FlatWeights

LEAP = 5.0  # nats above the usual batch: worth keeping for a closer look
MEMORY = 0.02  # of the usual batch's loss, per update
HONEST_STD = 0.05  # the floor under which a likelihood says little about actions


def train_bc(live: LiveConfig[BCConfig], clock: Clock, learner: BCLearner) -> Iterator[Step]:
    """Train until `total_gradient_steps`, yielding a Step every `log_every` of them.

    Nothing local survives a `yield`: whoever consumes the Steps may change settings or put the
    learner back to an earlier state, and the loop goes on from there.
    """
    while clock.steps_taken < live.now.total_gradient_steps:
        config, meter, started = live.now, Meter(), time.perf_counter()
        taken_before = clock.steps_taken
        end = (taken_before // config.log_every + 1) * config.log_every
        end = min(end, config.total_gradient_steps)
        learner.before.copy_(learner.network.parameters)
        learner.jump = None
        while clock.steps_taken < end:
            meter.add(update(learner, learner.draw(config), config))
            clock.steps_taken += 1
        meter.add(look(learner, config))
        yield finish_step(
            learner,
            clock,
            config,
            meter,
            started=started,
            taken_before=taken_before,
            evaluate=partial(evaluate_clone, learner, config),
        )


def update(learner: BCLearner, rows: Rows, config: BCConfig) -> dict[str, float]:
    """One step down the gradient of a batch."""
    found = put_gradient(learner, rows, config, learner.generators["dropout"])
    loss = found.loss
    if not math.isfinite(loss):
        raise TrainingDiverged(
            f"the loss is {loss} at gradient step {learner.updates}: the network holds numbers "
            "that are not finite. Lower the learning rate, or raise std_floor."
        )
    rate = config.learning_rate_at(learner.updates)
    remember_a_leap(learner, loss, rows, rate)
    norm = learner.optimizer.step(
        rate, config.gradient_clip, second_decay=config.second_moment_decay
    )
    drawn = torch.from_numpy(rows)
    learner.uses.index_add_(0, drawn, torch.ones_like(drawn))
    if config.sampling == "difficulty":
        errors = found.squared.mean(1).cpu().numpy()
        learner.difficulty[rows] = 0.9 * learner.difficulty[rows] + 0.1 * errors
    learner.updates += 1
    mse = found.mse
    return {
        "bc.nll": loss,
        "bc.nll_max": loss,
        "bc.mse": mse,
        "bc.mse_max": mse,
        "bc.gradient_norm": norm,
        "bc.gradient_norm_max": norm,
    }


def put_gradient(
    learner: BCLearner, rows: Rows, config: BCConfig, masks: np.random.Generator
) -> Terms:
    """The gradient of a batch's loss, into the network; returns what the batch costs.

    `masks` decides which units dropout silences.
    """
    chosen, network = torch.from_numpy(rows), learner.network
    inputs = learner.inputs[chosen]
    if isinstance(network, ModuleNetwork):
        outputs = network.learn(inputs, int(masks.integers(1 << 63)))
    else:
        outputs = network.forward(inputs)
    mean, log_std = learner.parts(outputs, config)
    found, by_mean, by_log_std = terms_and_slopes(
        mean,
        log_std,
        learner.actions[chosen],
        objective=config.objective,
        floor=config.std_floor,
        squash=config.squash,
        beta=config.beta,
    )
    if config.std == "state":
        network.backward(torch.cat((by_mean, by_log_std), dim=1))
    else:
        network.backward(by_mean)
        if config.std == "global":
            network.extra_gradient.copy_(by_log_std.sum(0))
    return found


def remember_a_leap(learner: BCLearner, loss: float, rows: Rows, rate: float) -> None:
    """Keep the worst batch that stands far above the usual, with the weights it met."""
    if learner.updates == 0:
        learner.typical = loss
    elif loss > learner.typical + LEAP and (learner.jump is None or loss > learner.jump.loss):
        learner.jump = Jump(
            step=learner.updates,
            loss=loss,
            rows=rows.copy(),
            parameters=learner.network.parameters.clone(),
            learning_rate=rate,
            surprise=learner.optimizer.surprise(),
        )
    learner.typical += MEMORY * (loss - learner.typical)


def look(learner: BCLearner, config: BCConfig) -> dict[str, float]:
    """The data as a whole, the trajectories kept back, and how often each sample was drawn."""
    most = IMAGES_AT_ONCE if learner.data.images else SEEN_AT_ONCE
    step = -(-len(learner.data) // most)
    inputs, actions = learner.inputs[::step], learner.actions[::step]
    found = learner.measure(inputs, actions, config)
    signals = describe(found, config)
    signals["bc.normalised_mse"] = found.mse / (learner.action_variance + 1e-12)
    honest = learner.measure(inputs, actions, config, floor=max(HONEST_STD, config.std_floor))
    signals["bc.floored_nll"] = honest.loss
    samples = found.nll.sum(1)
    signals["bc.batch_spread"] = float(samples.std(correction=0)) / math.sqrt(config.batch_size)
    if len(learner.held_actions):
        some = slice(None, None, -(-len(learner.held_actions) // most))
        kept = learner.measure(learner.held_inputs[some], learner.held_actions[some], config)
        signals["bc.validation_nll"] = kept.loss
        signals["bc.validation_mse"] = kept.mse
    uses = learner.uses.double()
    signals |= {
        "bc.samples": float(len(learner.data)),
        "bc.batch_share": config.batch_size / len(learner.data),
        "bc.use_mean": float(uses.mean()),
        "bc.use_ratio": float(uses.max() / (uses.mean() + 1e-12)),
        "bc.update_ratio": FlatWeights(learner.network).moved_since([learner.before]),
        "setting.learning_rate": config.learning_rate_at(learner.updates),
    }
    return signals


def describe(found: Terms, config: BCConfig) -> dict[str, float]:
    """Losses and deviations of what was measured."""
    floor = math.log(config.std_floor)
    return {
        "bc.full_nll": found.loss,
        "bc.full_mse": found.mse,
        "bc.log_std_mean": float(found.log_std.mean()),
        "bc.log_std_min": float(found.log_std.min()),
        "bc.floor_share": float((found.log_std <= floor + 1e-6).float().mean()),
    }


def evaluate_clone(learner: BCLearner, config: BCConfig) -> dict[str, float]:
    """The mean actions on episodes of the environment."""
    learner.evaluations += 1

    def policy(observations: NDArray[np.float32]) -> NDArray[np.float32]:
        return within(learner.policy(observations, config), learner.bounds)

    return evaluate(
        policy,
        config.environment,
        episodes=config.evaluation.episodes,
        seed=config.seed,
        index=learner.evaluations,
        gamma=1.0,
    ).signals()


def within(actions: NDArray[np.float32], space: Box | None) -> NDArray[np.float32]:
    """Actions in the shape and bounds of the environment's space."""
    if space is None:
        return actions
    shaped = actions.reshape(len(actions), *space.shape)
    return np.clip(shaped, space.low, space.high).astype(space.dtype)


def losses_with(
    learner: BCLearner, parameters: Tensor, rows: Rows | None, config: BCConfig
) -> Terms:
    """What rows (or all) cost with other weights; the learner's own come back afterwards."""
    kept = learner.network.parameters.clone()
    learner.network.parameters.copy_(parameters)
    chosen = slice(None) if rows is None else torch.from_numpy(rows)
    found = learner.measure(learner.inputs[chosen], learner.actions[chosen], config)
    learner.network.parameters.copy_(kept)
    return found
