"""Stable-Baselines3's DDPG or TD3 on Pendulum-v1: speed after a warm-up, or evaluations while learning.

Runs in the peers' virtual environment; prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import sys
import time

import gymnasium
import numpy as np
import stable_baselines3
import torch
from stable_baselines3 import DDPG, TD3
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.noise import NormalActionNoise


class Stopwatch(BaseCallback):
    """Notes the time when the warm-up ends."""

    def __init__(self, warm_up: int) -> None:
        super().__init__()
        self.warm_up, self.started = warm_up, 0.0

    def _on_step(self) -> bool:
        if self.num_timesteps == self.warm_up:
            self.started = time.perf_counter()
        return True


class Evaluations(BaseCallback):
    """Ten deterministic episodes every `every` steps."""

    def __init__(self, every: int, seed: int) -> None:
        super().__init__()
        self.every, self.returns = every, []
        self.env = Monitor(gymnasium.make("Pendulum-v1"))
        self.env.reset(seed=10_000 + seed)

    def _on_step(self) -> bool:
        if self.num_timesteps % self.every == 0:
            mean, _ = evaluate_policy(self.model, self.env, n_eval_episodes=10)
            self.returns.append(float(mean))
        return True


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--algorithm", choices=["ddpg", "td3"], default="ddpg")
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--warm-up", type=int, default=300)
    parser.add_argument("--learning-starts", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--evaluate-every", type=int, default=0)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
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
        device="cpu",
    )
    watch = Stopwatch(arguments.warm_up)
    callbacks: list[BaseCallback] = [watch]
    if arguments.evaluate_every:
        callbacks.append(Evaluations(arguments.evaluate_every, arguments.seed))
    model.learn(arguments.steps, callback=callbacks)
    seconds = time.perf_counter() - watch.started
    result = {
        "steps_per_second": (arguments.steps - arguments.warm_up) / seconds,
        "returns": callbacks[1].returns if arguments.evaluate_every else [],
        "versions": {"stable-baselines3": stable_baselines3.__version__, "torch": torch.__version__},
    }
    sys.stdout.write(json.dumps(result) + "\n")


main()
