"""SBX (Stable-Baselines3's algorithms in JAX): environment steps per second after a warm-up.

DDPG and TD3 on Pendulum-v1 with the settings of sb3_ddpg.py, PPO with SB3's defaults on CartPole-v1.
Runs in a virtual environment of its own (requirements-sbx.txt); prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from importlib.metadata import version

# One thread, as everybody here; must be set before jax is imported.
os.environ["XLA_FLAGS"] = (
    os.environ.get("XLA_FLAGS", "")
    + " --xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
)
os.environ["JAX_PLATFORMS"] = "cpu"
if hasattr(os, "sched_setaffinity"):  # XLA's own pool is as large as the cores it sees
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-1:])

import gymnasium
import numpy as np
import torch
from sbx import DDPG, PPO, TD3
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.noise import NormalActionNoise


class Stopwatch(BaseCallback):
    """Notes the time when so many steps are over, at the first rollout after them."""

    def __init__(self, warm_up: int) -> None:
        super().__init__()
        self.warm_up, self.started, self.since = warm_up, 0.0, 0

    def _on_rollout_start(self) -> None:
        if not self.started and self.num_timesteps >= self.warm_up:
            self.started, self.since = time.perf_counter(), self.num_timesteps

    def _on_step(self) -> bool:
        return True


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--algorithm", choices=["ddpg", "td3", "ppo"], default="ddpg")
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--warm-up", type=int, default=300, help="enough for all to be compiled")
    parser.add_argument("--learning-starts", type=int, default=100)
    parser.add_argument("--copies", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.algorithm == "ppo":
        envs = make_vec_env("CartPole-v1", n_envs=arguments.copies, seed=arguments.seed)
        model = PPO("MlpPolicy", envs, seed=arguments.seed)
    else:
        kind = {"ddpg": DDPG, "td3": TD3}[arguments.algorithm]
        model = kind(
            "MlpPolicy",
            gymnasium.make("Pendulum-v1"),
            learning_rate=1e-3,
            batch_size=arguments.batch_size,
            buffer_size=200_000,
            learning_starts=arguments.learning_starts,
            tau=0.005,
            gamma=0.99,
            train_freq=1,
            gradient_steps=1,
            action_noise=NormalActionNoise(np.zeros(1), 0.1 * np.ones(1)),
            policy_kwargs={"net_arch": [256, 256]},
            seed=arguments.seed,
        )
    watch = Stopwatch(arguments.warm_up)
    model.learn(arguments.steps, callback=watch)
    seconds = time.perf_counter() - watch.started
    result = {
        "steps_per_second": (model.num_timesteps - watch.since) / seconds,
        "versions": {"sbx-rl": version("sbx-rl"), "jax": version("jax")},
    }
    sys.stdout.write(json.dumps(result) + "\n")


main()
