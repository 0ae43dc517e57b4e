"""What a rollout and the update made of it show, for PPO, A2C and TRPO of Stable-Baselines3."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm
from torch import Tensor

from steadyrl.integrations.sb3_common import (
    Guard,
    Lengths,
    after_backward,
    flat,
    observation_signals,
    unseen,
)

LOOKED_AT = 2048  # samples of a rollout on which policies are compared
QUARTERS = 4  # of the first epoch, at each of which its KL is looked at
CLAMP = 20.0  # nats; beyond it a ratio is out of every range anyway


class OnPolicyMeter:
    """Keeps a rollout's samples until the update is over, and compares before with after."""

    def __init__(self, model: OnPolicyAlgorithm, guard: Guard) -> None:
        """Look at a model; whatever happens within its own update goes through `guard`."""
        self._model = model
        self.pending = False  # a rollout was collected, and its update is not measured yet
        # Other buffers (masks, recurrent states) need other calls: then less is measured.
        self.plain = type(model.rollout_buffer) is RolloutBuffer
        named = [(name, p) for name, p in model.policy.named_parameters() if p.requires_grad]
        self._value = [p for name, p in named if "value_net" in name]
        self._policy = [p for name, p in named if "value_net" not in name]
        self._gradients = {"policy": Lengths(), "value": Lengths()}
        stepped = model.policy.optimizer.register_step_post_hook(lambda *_: guard(self._stepped))
        self._hooks: list[Any] = [stepped]
        for part, group in (("policy", self._policy), ("value", self._value)):
            if group:  # the last are those of its own head, whatever layers are shared
                note = partial(guard, partial(self._note, part, group))
                self._hooks.append(after_backward(group[-1], note))
        self._steps = 0
        self._first_epoch: list[float] = []

    def rollout_ended(self) -> None:
        """Take hold of the samples and of the policy that drew them."""
        self.pending = True
        self._steps, self._first_epoch = 0, []
        self._gradients = {"policy": Lengths(), "value": Lengths()}  # nothing piles up
        self._before = {"policy": flat(self._policy), "value": flat(self._value)}
        self._signals: dict[str, float] = {}
        if not self.plain:
            return
        buffer = self._model.rollout_buffer
        # The buffer makes new arrays for the next rollout; these stay as they are.
        count = buffer.log_probs.size
        chosen = np.linspace(0, count - 1, min(count, LOOKED_AT)).astype(int)
        device = self._model.device
        arrays = [buffer.observations, buffer.actions, buffer.log_probs, buffer.advantages]
        rows = [array.reshape(count, *array.shape[2:])[chosen] for array in arrays]
        self._samples = [torch.as_tensor(row, device=device) for row in rows]
        ratio = self._log_ratio()
        self._signals = {
            "policy.first_ratio_error": float(ratio.abs().max()),
            "advantage.std": float(buffer.advantages.std()),
            "return.std": float(buffer.returns.std()),
            **observation_signals(rows[0]),
        }
        # Only PPO goes over the samples in epochs; TRPO's optimiser trains the critic alone.
        in_epochs = hasattr(self._model, "n_epochs")
        per_epoch = -(-count // getattr(self._model, "batch_size", count))
        parts = range(1, QUARTERS) if in_epochs else ()
        self._looks = {round(per_epoch * part / QUARTERS) for part in parts}

    def read(self) -> dict[str, float]:
        """The signals of the update that has just ended."""
        self.pending = False
        signals = dict(self._signals)
        for part, group in (("policy", self._policy), ("value", self._value)):
            norms, before = self._gradients[part].take(), self._before[part]
            if norms:
                signals[f"{part}.gradient_norm"] = float(np.mean(norms))
            if norms and part == "policy":
                signals["policy.gradient_norm_max"] = max(norms)
            moved = float((flat(group) - before).norm())
            signals[f"{part}.update_ratio"] = moved / (float(before.norm()) + 1e-12)
        return signals | (self._compared() if self.plain else {})

    def close(self) -> None:
        """Let go of the model."""
        for hook in self._hooks:
            hook.remove()

    def _compared(self) -> dict[str, float]:
        """The policy after the update against the one that acted."""
        log_ratio = self._log_ratio()
        advantages = self._samples[3]
        signals = {
            "policy.kl": _kl(log_ratio),
            "policy.ratio_max": float(log_ratio.abs().max()),
        }
        if len(advantages) > 1:  # one sample (A2C with n_steps=1) has no spread to be measured in
            scaled = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
            gained = ((log_ratio.clamp(-CLAMP, CLAMP).exp() - 1.0) * scaled).mean()
            signals["policy.improvement"] = float(gained)
        if self._first_epoch:
            # Before the very first step it is 0.
            mean = sum(self._first_epoch) / (len(self._first_epoch) + 1)
            signals["policy.kl_first_epoch"] = mean
        space = self._model.action_space
        if isinstance(space, spaces.Discrete) and space.n > 1:
            signals["policy.entropy_share"] = self._entropy() / math.log(float(space.n))
        return signals

    def _stepped(self) -> None:
        self._steps += 1
        if self.pending and self.plain and self._steps in self._looks:
            self._first_epoch.append(_kl(self._log_ratio()))

    def _note(self, part: str, group: Sequence[Tensor]) -> None:
        if self.pending:
            self._gradients[part].add(group)

    def _log_ratio(self) -> Tensor:
        observations, _, old, _ = self._samples
        with unseen(self._model.policy):
            _, new, _ = self._model.policy.evaluate_actions(observations, self._actions())
        return new.reshape(-1) - old.reshape(-1)

    def _entropy(self) -> float:
        with unseen(self._model.policy):
            _, log_prob, entropy = self._model.policy.evaluate_actions(
                self._samples[0], self._actions()
            )
        return float((-log_prob if entropy is None else entropy).mean())

    def _actions(self) -> Tensor:
        actions = self._samples[1].float()  # as the model's own update is given them
        discrete = isinstance(self._model.action_space, spaces.Discrete)
        return actions.long().flatten() if discrete else actions


def _kl(log_ratio: Tensor) -> float:
    """k3: never negative, small where the policies agree."""
    if not bool(torch.isfinite(log_ratio).all()):
        return math.nan
    clamped = log_ratio.clamp(-CLAMP, CLAMP)
    return float((clamped.exp() - 1.0 - clamped).mean())
