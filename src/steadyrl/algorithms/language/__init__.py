"""PPO and GRPO for causal language models."""
