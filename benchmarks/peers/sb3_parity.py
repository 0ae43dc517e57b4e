"""One update of Stable-Baselines3's PPO and sb3-contrib's TRPO, with everything that went in.

Runs in the peers' virtual environment: python benchmarks/peers/sb3_parity.py OUTPUT.npz
tests/unit/test_parity.py gives the same arrays to our update and compares what comes out.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import torch
from sb3_contrib import TRPO
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env

COPIES, LENGTH = 4, 64
WHOLE = COPIES * LENGTH  # one minibatch, so that no shuffle matters
COMMON: dict[str, Any] = {"policy_kwargs": {"net_arch": [16, 16]}, "seed": 0, "device": "cpu"}
CASES = {
    "ppo": (PPO, {"n_epochs": 1, "ent_coef": 0.01, "vf_coef": 0.5, "learning_rate": 3e-4}),
    "trpo": (TRPO, {"n_critic_updates": 1, "learning_rate": 1e-3, "target_kl": 0.01}),
}


def weights(model: Any, part: str) -> np.ndarray:
    """Flat, in our order: weight and bias of each layer, then the log standard deviations."""
    policy = model.policy
    body = policy.mlp_extractor.policy_net if part == "actor" else policy.mlp_extractor.value_net
    head = policy.action_net if part == "actor" else policy.value_net
    tensors = [*body.parameters(), *head.parameters()]
    if part == "actor" and hasattr(policy, "log_std"):
        tensors.append(policy.log_std)
    return np.concatenate([t.detach().numpy().ravel() for t in tensors])


def main() -> None:
    """All four cases into one file."""
    torch.set_num_threads(1)
    arrays: dict[str, np.ndarray] = {}
    for name, (kind, settings) in CASES.items():
        for task in ("CartPole-v1", "Pendulum-v1"):
            envs = make_vec_env(task, n_envs=COPIES, seed=0)
            model = kind(
                "MlpPolicy", envs, n_steps=LENGTH, batch_size=WHOLE, **settings, **COMMON
            )
            _, callback = model._setup_learn(WHOLE)
            model.collect_rollouts(model.env, callback, model.rollout_buffer, n_rollout_steps=LENGTH)
            buffer = model.rollout_buffer
            case = f"{name} {task} "
            last = model.policy.predict_values(model.policy.obs_to_tensor(model._last_obs)[0])
            ends = np.concatenate((buffer.episode_starts[1:], model._last_episode_starts[None]))
            arrays |= {
                case + "observations": buffer.observations.copy(),
                case + "actions": buffer.actions.copy(),
                case + "rewards": buffer.rewards.copy(),
                case + "values": buffer.values.copy(),
                case + "log_probs": buffer.log_probs.copy(),
                case + "ends": ends,
                case + "last_values": last.detach().numpy().ravel(),
                case + "advantages": buffer.advantages.copy(),
                case + "returns": buffer.returns.copy(),
            }
            if name == "ppo":  # ratios other than 1, so that clipping has something to do
                with torch.no_grad():
                    generator = torch.Generator().manual_seed(1)
                    for tensor in model.policy.parameters():
                        tensor += 0.1 * torch.randn(tensor.shape, generator=generator)
            for part in ("actor", "critic"):
                arrays[f"{case}{part} before"] = weights(model, part)
            model.train()
            for part in ("actor", "critic"):
                arrays[f"{case}{part} after"] = weights(model, part)
            for tag, value in model.logger.name_to_value.items():
                if tag.startswith("train/"):
                    arrays[f"{case}{tag}"] = np.float64(value)
    np.savez_compressed(sys.argv[1], **arrays)


main()
