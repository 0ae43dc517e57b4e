"""Stable-Baselines3's PPO or sb3-contrib's TRPO on a classic task: speed, or evaluations.

Runs in the peers' virtual environment; prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time

import sb3_contrib
import stable_baselines3
import torch
from sb3_contrib import TRPO
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_atari_env, make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import VecFrameStack
from torch.utils.flop_counter import FlopCounterMode


class Watch(BaseCallback):
    """Notes when the first rollout's update is over, and evaluates every `every` steps."""

    def __init__(self, task: str, every: int, seed: int) -> None:
        super().__init__()
        self.every, self.returns, self.marks = every, [], []
        self.env = make_vec_env(task, n_envs=1, seed=10_000 + seed) if every else None
        self.done = 0

    def _on_rollout_start(self) -> None:
        self.marks.append((self.num_timesteps, time.perf_counter()))
        if self.every and self.num_timesteps // self.every > self.done:
            self.done = self.num_timesteps // self.every
            mean, _ = evaluate_policy(self.model, self.env, n_eval_episodes=10)
            self.returns.append(float(mean))

    def _on_step(self) -> bool:
        return True


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--algorithm", choices=["ppo", "trpo"], default="ppo")
    parser.add_argument("--task", default="CartPole-v1")
    parser.add_argument("--settings", default="{}", help="JSON: the model's keyword arguments")
    parser.add_argument("--copies", type=int, default=8)
    parser.add_argument("--steps", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--evaluate-every", type=int, default=0)
    parser.add_argument("--first-update", action="store_true", help="the first update counts too")
    parser.add_argument("--count", action="store_true", help="floating-point operations, no speed")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    settings = json.loads(arguments.settings)
    if settings.pop("linear", False):
        rate = settings["learning_rate"]
        settings["learning_rate"] = lambda left: left * rate
    kind = {"ppo": PPO, "trpo": TRPO}[arguments.algorithm]
    if arguments.task.startswith("ALE/"):
        import ale_py
        import gymnasium

        gymnasium.register_envs(ale_py)
        settings["policy"] = "CnnPolicy"
        # The id's own frame skip is switched off: the wrapper skips.
        plain = {"frameskip": 1, "repeat_action_probability": 0.0}
        envs = make_atari_env(
            arguments.task, n_envs=arguments.copies, seed=arguments.seed, env_kwargs=plain
        )
        envs = VecFrameStack(envs, n_stack=4)
    else:
        settings["policy"] = "MlpPolicy"
        envs = make_vec_env(arguments.task, n_envs=arguments.copies, seed=arguments.seed)
    model = kind(settings.pop("policy"), envs, seed=arguments.seed, device="cpu", **settings)
    if arguments.count:
        with FlopCounterMode(display=False) as counter:
            model.learn(arguments.steps)
        sys.stdout.write(json.dumps({"teraflop": counter.get_total_flops() / 1e12}) + "\n")
        return
    watch = Watch(arguments.task, arguments.evaluate_every, arguments.seed)
    model.learn(arguments.steps, callback=watch)
    watch.on_rollout_start()
    first, last = watch.marks[0 if arguments.first_update else 1], watch.marks[-1]
    result = {
        "steps_per_second": (last[0] - first[0]) / (last[1] - first[1]),
        "returns": watch.returns,
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "versions": {
            "stable-baselines3": stable_baselines3.__version__,
            "sb3-contrib": sb3_contrib.__version__,
            "torch": torch.__version__,
        },
    }
    sys.stdout.write(json.dumps(result) + "\n")


main()
