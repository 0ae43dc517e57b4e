"""What a run that learns from its own rollouts must not forget, and how it acts (PPO, TRPO)."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from steadyrl.algorithms.common.state import Stateful
from steadyrl.algorithms.on_policy.config import OnPolicyConfig
from steadyrl.algorithms.on_policy.layout import layout_of
from steadyrl.algorithms.on_policy.networks import make_pair
from steadyrl.core.errors import ConfigError, TrainingDiverged
from steadyrl.core.seeding import Generators
from steadyrl.environments.envs import Envs
from steadyrl.experience.aged import AgedExperience
from steadyrl.experience.rollout import Samples
from steadyrl.maths.finite import all_finite
from steadyrl.maths.noise_scale import NoiseMeter
from steadyrl.maths.normalize import RewardScale, RunningMoments
from steadyrl.maths.policies import policy_for
from steadyrl.nets.adam import Adam

Array = NDArray[Any]
ADAM_EPSILON = 1e-5  # Schulman's own; with 1e-8 rare tiny gradients take full steps


class OnPolicyLearner(Stateful):
    """Policy and value networks, optimisers, normalisers, generators and counters."""

    counters = (
        "updates",
        "steps",
        "evaluations",
        "failures",
        "generated",
        "trained",
        "seconds",
    )
    optional = ("experience",)

    def __init__(self, config: OnPolicyConfig, envs: Envs, device: torch.device) -> None:
        self.policy = policy_for(envs.action_space, envs.id)
        layout = layout_of(envs.observation_space)
        self.images, self.shape = layout.images, layout.shape
        self._colours_last = layout.colours_last
        if self.images and config.normalize_observations:
            raise ConfigError(
                f"normalize_observations = true: the observations of '{envs.id}' are images, whose "
                "values are divided by 255 already. Leave it off."
            )

        self.networks = make_pair(config, layout, self.policy, device=device)
        self.actor, self.critic = self.networks.actor, self.networks.critic
        self.actor.extra.fill_(config.log_std_start)
        # Of one network for both there is one optimiser, and it is the actor's.
        self.optimizers = tuple(Adam(each, ADAM_EPSILON) for each in self.networks.trained)
        self.moments = RunningMoments(self.shape if config.normalize_observations else ())
        self.reward_scale = RewardScale(envs.count)
        self.noise = NoiseMeter()
        self.generators = Generators(config.seed)
        self.updates = self.steps = self.evaluations = 0
        self.failures = 0  # line searches in a row, TRPO's only
        self.generated = self.trained = 0  # samples made, and samples that gradients went through
        self.seconds = 0.0
        self.experience: AgedExperience | None = None  # PPO's only
        self.last: Samples | None = None  # of the newest rollout; not part of the state

    def inputs(self, observations: Array, config: OnPolicyConfig) -> Array:
        """Observations as the networks see them: images as they are, all else flat float32."""
        if self.images:
            return observations.transpose(0, 3, 1, 2) if self._colours_last else observations
        flat = observations.reshape(len(observations), -1)
        if config.normalize_observations:
            return self.moments.normalize(flat)
        return np.ascontiguousarray(flat, dtype=np.float32)

    def act(self, inputs: Array) -> NDArray[np.float32]:
        """The policy's outputs; a policy that puts out no numbers has diverged."""
        outputs = self.actor.act(inputs)
        # Sampling would hide it: of logits that are no numbers it takes the first action, for ever.
        if not all_finite(outputs):
            raise TrainingDiverged(
                f"the policy's outputs are not finite after {self.updates} updates: its weights "
                "have diverged. Go back to the last good checkpoint and lower the learning rate, "
                "the trust region or the reward scale."
            )
        return outputs

    def values(self, inputs: Array) -> NDArray[np.float32]:
        """The critic's, all in one pass."""
        if not len(inputs):
            return np.zeros(0, dtype=np.float32)
        found = self.critic.forward(torch.from_numpy(inputs).to(self.critic.device))
        return found[:, 0].cpu().numpy().copy()

    def stateful_parts(self) -> dict[str, Any]:
        """What has a state of its own."""
        parts: dict[str, Any] = dict(zip(("actor", "critic"), self.networks.trained, strict=False))
        names = ("actor optimizer", "critic optimizer")
        parts |= zip(names, self.optimizers, strict=False)
        parts |= {
            "moments": self.moments,
            "reward scale": self.reward_scale,
            "noise": self.noise,
            "generators": self.generators,
        }
        return parts if self.experience is None else parts | {"experience": self.experience}
