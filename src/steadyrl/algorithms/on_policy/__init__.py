"""PPO and TRPO: learning from one's own rollouts."""
