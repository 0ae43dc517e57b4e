"""TRPO (Schulman et al., 2015), with one objective for the gradient and for acceptance.

Reads top to bottom: `train_trpo` is the loop, `update_policy` the paper's step, `fit_critic` the
rest. The objective (surrogate plus entropy bonus) is written once: were the line search to judge by
another one than the gradient follows, it would reject good steps or accept bad ones.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import get_args

import numpy as np
import torch
from torch import Tensor

from steadyrl.algorithms.on_policy.collecting import collect
from steadyrl.algorithms.on_policy.descents import squares
from steadyrl.algorithms.on_policy.estimating import with_advantages
from steadyrl.algorithms.on_policy.evaluating import finish_step
from steadyrl.algorithms.on_policy.learner import OnPolicyLearner
from steadyrl.algorithms.on_policy.signals import deviations, entropy_share
from steadyrl.algorithms.on_policy.trpo_config import TRPOConfig
from steadyrl.core.config import LiveConfig
from steadyrl.core.records import Step
from steadyrl.core.signals import Meter
from steadyrl.environments.envs import Envs
from steadyrl.experience.rollout import Samples
from steadyrl.maths.losses import normalised, value_loss
from steadyrl.maths.trust_region import (
    Failure,
    SearchResult,
    Solution,
    conjugate_gradient,
    full_step,
    line_search,
    no_direction,
)
from steadyrl.nets.dense import Network, norm
from steadyrl.nets.few_rows import few_rows_of
from steadyrl.nets.weights import FlatWeights


def train_trpo(
    live: LiveConfig[TRPOConfig], envs: Envs, learner: OnPolicyLearner
) -> Iterator[Step]:
    """Train until `total_env_steps`, yielding a Step per update.

    Nothing local survives a `yield`: whoever consumes the Steps may change settings or put the
    learner and the environments back to an earlier state, and the loop goes on from there.
    """
    while envs.steps_taken < live.now.total_env_steps:
        config, meter, started = live.now, Meter(), time.perf_counter()
        taken_before = envs.steps_taken
        data, signals = with_advantages(learner, collect(learner, envs, config), config)
        meter.add(signals)
        meter.add(update_policy(learner, data, config))
        meter.add_all(fit_critic(learner, data, config))
        learner.updates += 1
        yield finish_step(learner, envs, config, meter, started=started, taken_before=taken_before)


def update_policy(learner: OnPolicyLearner, data: Samples, config: TRPOConfig) -> dict[str, float]:
    """A natural-gradient step as long as the trust region and the objective allow, or none."""
    actor, policy = learner.actor, learner.policy
    bonus = config.entropy_weight_at(learner.updates)
    advantages = normalised(data.advantages) if config.normalize_advantages else data.advantages
    start, old = objective(learner, data, advantages, bonus)
    kept = (old.clone(), actor.extra.clone())
    slope = ascent(learner, old, data, advantages, bonus)
    product = FisherProduct(learner, data, old, config)
    entropy_slope = product.entropy_slope(bonus) if bonus else torch.zeros_like(slope)
    solution = conjugate_gradient(product, slope, iterations=config.cg_iterations)
    before = actor.parameters.clone()
    step = torch.zeros_like(slope)
    found = SearchResult(0.0, 0, 0.0, math.nan, no_direction(slope, solution))
    if found.success:  # so far: there is a direction
        undamped = config.damping if config.whole_region else 0.0
        step = full_step(solution, config.max_kl, damping=undamped)

        def evaluate(fraction: float) -> tuple[float, float]:
            torch.add(before, step, alpha=fraction, out=actor.parameters)
            value, outputs = objective(learner, data, advantages, bonus)
            return value, float(policy.divergence(kept, (outputs, actor.extra)).mean())

        found = line_search(
            evaluate,
            start=start,
            max_kl=config.max_kl,
            shrink=config.backtrack_ratio,
            tries=config.backtracks,
        )
    if not found.success:
        actor.parameters.copy_(before)  # exactly: not by adding the step's negative
    learner.failures = 0 if found.success else learner.failures + 1
    ratios = (policy.log_prob(kept[0], kept[1], data.actions) - data.log_probs).abs()
    promised = found.fraction * float(slope @ step)
    entropy = float(policy.entropy(*kept).mean())
    signals = {
        **describe_search(found, solution, promised, config),
        **describe_bonus(slope, entropy_slope),
        "trpo.failed_in_a_row": float(learner.failures),
        "policy.first_ratio_error": float(ratios.max()),
        "policy.gradient_norm": norm(slope),
        "policy.gradient_norm_max": norm(slope),
        "policy.update_ratio": FlatWeights(actor).moved_since([before]),
        "policy.entropy": entropy,
        **entropy_share(policy, entropy),
        "setting.entropy_weight": bonus,
        "setting.max_kl": config.max_kl,
        "setting.damping": config.damping,
    }
    return signals | (deviations(actor.extra) if policy.extra else {})


def objective(
    learner: OnPolicyLearner, data: Samples, advantages: Tensor, bonus: float
) -> tuple[float, Tensor]:
    """mean(ratio A) + bonus mean(H), and the policy's outputs, as the weights stand."""
    policy, extra = learner.policy, learner.actor.extra
    outputs = learner.actor.forward(data.observations)
    ratios = (policy.log_prob(outputs, extra, data.actions) - data.log_probs).exp()
    value = (ratios * advantages).mean()
    if bonus:
        value = value + bonus * policy.entropy(outputs, extra).mean()
    return float(value), outputs


def ascent(
    learner: OnPolicyLearner, outputs: Tensor, data: Samples, advantages: Tensor, bonus: float
) -> Tensor:
    """The objective's gradient, for the outputs of the actor's last pass over these samples."""
    actor, rows = learner.actor, len(data)
    slope, free = learner.policy.gradient(
        outputs, actor.extra, data.actions, advantages / rows, bonus / rows
    )
    actor.backward(slope)
    actor.extra_gradient.copy_(free)
    return actor.gradient.clone()


class FisherProduct:
    """V -> (F + damping) v on a share of the samples.

    As J^T M J v: forward through the tangent, the distribution's own Fisher matrix, and back.
    Exact, and cheaper than differentiating the KL twice: no graph is kept, nothing is taken apart.
    """

    def __init__(
        self, learner: OnPolicyLearner, data: Samples, outputs: Tensor, config: TRPOConfig
    ) -> None:
        """`outputs` are those of the actor's last pass, over all of the data."""
        self._actor, self._policy, self._damping = learner.actor, learner.policy, config.damping
        rows = max(1, round(config.fisher_share * len(data)))
        if rows < len(data):
            chosen = np.sort(learner.generators["fisher"].choice(len(data), rows, replace=False))
            data = data.rows(torch.from_numpy(chosen).to(data.log_probs.device))
            outputs = learner.actor.forward(data.observations)
        self._actions, self._outputs = data.actions, outputs

    def entropy_slope(self, bonus: float) -> Tensor:
        """The gradient of the entropy bonus alone, on these samples."""
        actor, rows = self._actor, len(self._outputs)
        nothing = self._outputs.new_zeros(rows)
        slope, free = self._policy.gradient(
            self._outputs, actor.extra, self._actions, nothing, bonus / rows
        )
        actor.backward(slope)
        actor.extra_gradient.copy_(free)
        return actor.gradient.clone()

    def __call__(self, vector: Tensor) -> Tensor:
        """The product with a vector in parameter space."""
        actor, rows = self._actor, len(self._outputs)
        free = vector[len(vector) - len(actor.extra) :]
        tangent = actor.tangent(vector)
        curved, curved_free = self._policy.fisher(self._outputs, actor.extra, tangent, free)
        actor.backward(curved / rows)
        actor.extra_gradient.copy_(curved_free / rows)
        return actor.gradient + self._damping * vector


def describe_search(
    found: SearchResult, solution: Solution, promised: float, config: TRPOConfig
) -> dict[str, float]:
    """What the search did, and why it failed if it did: each reason is a signal of its own."""
    reasons = [reason for reason in get_args(Failure) if reason]
    signals = {
        "policy.kl": found.kl,
        "trpo.line_search_success": float(found.success),
        "trpo.line_search_iterations": float(found.iterations),
        "trpo.step_fraction": found.fraction,
        "trpo.improvement": found.objective,
        "trpo.predicted_improvement": promised,
        "trpo.gain_ratio": found.objective / promised if found.success else math.nan,
        "trpo.cg_residual": solution.residual,
        "trpo.kl_share": found.kl / config.max_kl,
    }
    for reason in reasons:
        signals[f"trpo.failed_{reason.replace(' ', '_')}"] = float(found.failure == reason)
    return signals


def describe_bonus(slope: Tensor, entropy_slope: Tensor) -> dict[str, float]:
    """How hard the entropy bonus pulls, and how far it turns the surrogate's gradient."""
    surrogate = slope - entropy_slope
    if not (norm(entropy_slope) > 0 and norm(surrogate) > 0):
        return {}
    return {
        "trpo.entropy_pull": norm(entropy_slope) / norm(surrogate),
        "trpo.surrogate_cosine": float(torch.cosine_similarity(surrogate, slope, dim=0)),
    }


def fit_critic(
    learner: OnPolicyLearner, data: Samples, config: TRPOConfig
) -> dict[str, list[float]]:
    """Several passes of least squares over the rollout; signals step by step."""
    critic, before = learner.critic, learner.critic.parameters.clone()
    generator = learner.generators["minibatches"]
    losses: list[float] = []
    sizes: list[float] = []
    size = config.critic_minibatch_size
    few = few_rows_of(critic, min(size, len(data)))
    for _ in range(config.critic_epochs):
        rate, optimizer = config.critic_learning_rate, learner.optimizers[1]
        missed: list[Tensor] = []
        if few is None:
            for part in data.minibatches(size, generator):
                missed.append(put_value_gradient(critic, part))
                sizes.append(optimizer.step(rate))
        else:
            inputs, returns = data.shuffled_values(generator)
            with np.errstate(all="ignore"):  # what is no longer finite is told elsewhere
                for start in range(0, len(data), size):
                    rows = slice(start, start + size)
                    errors = few.put_value_gradient(inputs[rows], returns[rows])
                    missed.append(torch.from_numpy(errors))
                    sizes.append(optimizer.step(rate, size=few.gradient_norm()))
        losses += squares(missed)
    return {
        "value.loss": losses,
        "value.gradient_norm": sizes,
        "value.update_ratio": [FlatWeights(critic).moved_since([before])],
        "setting.learning_rate": [config.critic_learning_rate],
    }


def put_value_gradient(critic: Network, part: Samples) -> Tensor:
    """The slope of the mean squared error into the critic; returns each sample's error."""
    values = critic.forward(part.observations)[:, 0]
    errors, slopes = value_loss(values, part.values, part.returns, None)
    critic.backward((slopes * (2.0 / slopes.shape[0]))[:, None])
    return errors
