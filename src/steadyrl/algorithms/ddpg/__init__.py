"""DDPG and the three switches that make it TD3."""
