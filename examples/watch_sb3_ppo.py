"""Stable-Baselines3 PPO with a learning rate a hundred times too high: watched, stopped, explained.

Run with: python examples/watch_sb3_ppo.py [ENV_STEPS]
"""

from __future__ import annotations

import sys

from stable_baselines3 import PPO

from steadyrl.integrations.sb3 import SteadyCallback


def main(taken: int) -> None:
    """Train until something severe is found, then print why."""
    model = PPO("MlpPolicy", "CartPole-v1", n_steps=512, learning_rate=0.03, seed=0)
    callback = SteadyCallback("runs/sb3-ppo", on_severe="stop")
    model.learn(taken, callback=callback)
    for diagnosis in callback.watch.diagnose():
        print(f"{diagnosis.cause} {diagnosis.name} ({diagnosis.confidence:.2f})")
        for reason in diagnosis.evidence_for:
            print(f"  for: {reason}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50_000)
