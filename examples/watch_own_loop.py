"""A loop of one's own in CleanRL's style (REINFORCE on CartPole), watched in three lines.

Run with: python examples/watch_own_loop.py [UPDATES]
"""

from __future__ import annotations

import sys

import gymnasium
import torch

import steadyrl


def main(updates: int) -> None:
    """Train; the three lines that watch are marked."""
    env = gymnasium.make("CartPole-v1")
    policy = torch.nn.Sequential(torch.nn.Linear(4, 32), torch.nn.Tanh(), torch.nn.Linear(32, 2))
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
    watch = steadyrl.Watch("runs/own-loop", names="cleanrl", total_env_steps=100 * updates)  # 1
    taken = 0
    for update in range(updates):
        observation, _ = env.reset(seed=update)
        log_probs, rewards, over = [], [], False
        while not over:
            choice = torch.distributions.Categorical(logits=policy(torch.as_tensor(observation)))
            action = choice.sample()
            log_probs.append(choice.log_prob(action))
            observation, reward, terminated, truncated, _ = env.step(int(action))
            rewards.append(float(reward))
            over = terminated or truncated
        to_go = torch.flip(torch.cumsum(torch.flip(torch.tensor(rewards), (0,)), 0), (0,))
        loss = -(torch.stack(log_probs) * (to_go - to_go.mean())).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        taken += len(rewards)
        entropy = choice.entropy().item()
        watch.log(taken, {"losses/policy_loss": loss.item(), "losses/entropy": entropy})  # 2
    watch.close()  # 3


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
