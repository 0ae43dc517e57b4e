"""Code faults: functions of the trainers replaced by faulty ones.

Production code knows nothing of them. A substitution lasts as long as its `with` block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from steadyrl.algorithms.bc import trainer as cloning
from steadyrl.algorithms.ddpg import ddpg
from steadyrl.algorithms.on_policy import estimating, few_rows, ppo, trpo
from steadyrl.experience.replay import ReplayBuffer
from steadyrl.experiments.fault_bench.language_substitutions import LANGUAGE_SUBSTITUTIONS
from steadyrl.experiments.fault_bench.replaced import replaced
from steadyrl.experiments.fault_bench.replay_substitutions import REPLAY_SUBSTITUTIONS
from steadyrl.nets.adam import Adam


def terminal_mask_missing(strength: float) -> Any:
    """Bootstrap through a share of the terminal states."""

    def make(original: Any) -> Any:
        def td_targets(learner: Any, batch: Any, config: Any) -> Any:
            targets = original(learner, batch, config)
            kept = batch.terminated.clone()
            batch.terminated.zero_()
            through = original(learner, batch, config.model_copy(update={"target_noise_std": 0.0}))
            batch.terminated.copy_(kept)
            chosen = (batch.rows[:, :1].abs() * 1e4 % 1.0) < strength
            return targets.where(~(chosen & (kept > 0)), through)

        return td_targets

    return replaced(ddpg, "td_targets", make)


def truncation_as_termination(strength: float) -> Any:
    """Store time limits as terminations."""
    del strength
    return replaced(
        ddpg, "ends_of_future", lambda _: lambda result: result.terminated | result.truncated
    )


def target_not_updated(strength: float) -> Any:
    """Follow with a vanishing share of tau, or not at all."""
    return replaced(
        ddpg,
        "follow",
        lambda original: lambda target, online, tau: original(target, online, tau * (1 - strength)),
    )


def actor_sign_flipped(strength: float) -> Any:
    """The actor descends instead of ascending."""
    return replaced(
        ddpg,
        "uphill",
        lambda original: lambda rows, device: original(rows, device) * -strength,
    )


def optimiser_detached(strength: float) -> Any:
    """The actor's (low), the critic's (medium) or both optimisers (high) move nothing."""
    silent = {0.3: ("tanh",), 0.6: ("linear",), 1.0: ("tanh", "linear")}[strength]

    def make(original: Any) -> Any:
        def step(self: Any, learning_rate: float, clip: float | None = None) -> float:
            rate = 0.0 if self._network.output in silent else learning_rate
            return float(original(self, rate, clip))

        return step

    return replaced(Adam, "step", make)


def successors_misaligned(strength: float) -> Any:
    """A share of the transitions is stored with the wrong successor: the state itself."""

    def make(original: Any) -> Any:
        def add(self: Any, observations: Any, actions: Any, rewards: Any, *rest: Any) -> Any:
            successors, *flags = rest
            wrong = (np.abs(observations[:, :1]) * 1e4 % 1.0) < strength
            return original(
                self,
                observations,
                actions,
                rewards,
                np.where(wrong, observations, successors),
                *flags,
            )

        return add

    return replaced(ReplayBuffer, "add", make)


def advantage_sign_flipped(strength: float) -> Any:
    """The policy is pushed towards what was worse than expected."""

    @contextmanager
    def both() -> Iterator[None]:
        def descent(original: Any) -> Any:
            def clipped_surrogate(*arguments: Any) -> Any:
                found = original(*arguments)
                return replace(found, weights=found.weights * -strength)

            return clipped_surrogate

        def ascent(original: Any) -> Any:
            return lambda *arguments: original(*arguments) * -strength

        with (
            replaced(ppo, "clipped_surrogate", descent),
            replaced(few_rows, "clipped_surrogate", descent),
            replaced(trpo, "ascent", ascent),
        ):
            yield

    return both()


def policy_optimiser_detached(strength: float) -> Any:
    """The policy (low), the critic (medium) or both (high) stay where they are."""
    frozen = {0.3: ("actor",), 0.6: ("critic",), 1.0: ("actor", "critic")}[strength]

    def make(original: Any) -> Any:
        def descend(learner: Any, *arguments: Any) -> Any:
            kept = {part: getattr(learner, part).parameters.clone() for part in frozen}
            signals = original(learner, *arguments)
            for part, parameters in kept.items():
                getattr(learner, part).parameters.copy_(parameters)
            return signals

        return descend

    return replaced(ppo, "descend", make)


def probabilities_mismatch(strength: float) -> Any:
    """Log-probabilities are stored for other actions than those that were taken."""

    def make(original: Any) -> Any:
        def collect(learner: Any, envs: Any, config: Any) -> Any:
            rollout = original(learner, envs, config)
            generator = np.random.default_rng(learner.updates)
            shape = rollout.log_probs.shape
            rollout.log_probs += strength * generator.standard_normal(shape, dtype=np.float32)
            return rollout

        return collect

    @contextmanager
    def both() -> Iterator[None]:
        with replaced(ppo, "collect", make), replaced(trpo, "collect", make):
            yield

    return both()


def on_policy_terminal_mask_missing(strength: float) -> Any:
    """A share of the episodes' ends is passed over when advantages are computed."""

    def make(original: Any) -> Any:
        def advantages(
            rewards: Any, values: Any, last: Any, terminated: Any, *rest: Any, **options: Any
        ) -> Any:
            seen = np.arange(terminated.size).reshape(terminated.shape) * 0.618 % 1.0 >= strength
            return original(rewards, values, last, terminated & seen, *rest, **options)

        return advantages

    return replaced(estimating, "advantages", make)


def on_policy_truncation_as_termination(strength: float) -> Any:
    """Time limits count as the end."""
    del strength

    def make(original: Any) -> Any:
        def with_advantages(learner: Any, rollout: Any, config: Any) -> Any:
            rollout.terminated |= rollout.truncated
            rollout.truncated[:] = False
            return original(learner, rollout, config)

        return with_advantages

    @contextmanager
    def both() -> Iterator[None]:
        with (
            replaced(ppo, "with_advantages", make),
            replaced(trpo, "with_advantages", make),
        ):
            yield

    return both()


def objectives_differ(strength: float) -> Any:
    """The line search judges without the entropy bonus that the gradient follows."""
    del strength
    return replaced(
        trpo,
        "objective",
        lambda original: lambda learner, data, gains, _: original(learner, data, gains, 0.0),
    )


def _other_data(change: Callable[[Any], Any]) -> Any:
    """Demonstrations whose actions are changed after reading."""

    def make(original: Any) -> Any:
        def load_demonstrations(config: Any) -> Any:
            data = original(config)
            return replace(data, actions=change(data.actions))

        return load_demonstrations

    return replaced(cloning, "load_demonstrations", make)


def actions_shuffled(strength: float) -> Any:
    """A share of the actions belongs to other observations."""

    def change(actions: Any) -> Any:
        generator = np.random.default_rng(0)
        chosen = np.flatnonzero(generator.random(len(actions)) < strength)
        mixed = actions.copy()
        mixed[chosen] = actions[generator.permutation(chosen)]
        return mixed

    return _other_data(change)


def actions_shifted(strength: float) -> Any:
    """Actions are recorded so many steps late."""
    return _other_data(lambda actions: np.roll(actions, int(strength), axis=0))


SUBSTITUTIONS: dict[str, Callable[[float], Any]] = {
    "terminal-mask-missing": terminal_mask_missing,
    "truncation-as-termination": truncation_as_termination,
    "target-not-updated": target_not_updated,
    "actor-sign-flipped": actor_sign_flipped,
    "optimiser-detached": optimiser_detached,
    "successors-misaligned": successors_misaligned,
    "advantage-sign-flipped": advantage_sign_flipped,
    "policy-optimiser-detached": policy_optimiser_detached,
    "probabilities-mismatch": probabilities_mismatch,
    "on-policy-terminal-mask-missing": on_policy_terminal_mask_missing,
    "on-policy-truncation-as-termination": on_policy_truncation_as_termination,
    "objectives-differ": objectives_differ,
    "actions-shuffled": actions_shuffled,
    "actions-shifted": actions_shifted,
    **LANGUAGE_SUBSTITUTIONS,
    **REPLAY_SUBSTITUTIONS,
}
