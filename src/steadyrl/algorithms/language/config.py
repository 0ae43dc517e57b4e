"""Settings of PPO for language models; without a value head it is GRPO."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

from pydantic import model_validator

from steadyrl.algorithms.common.replay_config import ReplayConfig
from steadyrl.core.config import Settings, setting
from steadyrl.core.errors import ConfigError
from steadyrl.core.run_config import EvaluationConfig
from steadyrl.core.schedules import ScheduledRate
from steadyrl.core.traits import RETURN, SAMPLES, Score, Trait, Unit


class ModelConfig(Settings):
    """Which model: one from a folder, or a tiny one with random weights."""

    path: str | None = setting(
        None,
        "folder that save_pretrained wrote, or smollm2 once fetched; null: a tiny model is made",
        changes="start",
    )
    layers: int = setting(4, "of the tiny model", low=1, changes="start")
    width: int = setting(128, "of the tiny model's hidden states", low=8, changes="start")
    heads: int = setting(4, "attention heads of the tiny model", low=1, changes="start")
    lora_rank: int = setting(
        0, "rank of low-rank adapters; 0: all weights are trained", low=0, changes="start"
    )
    precision: Literal["fp32", "bf16", "fp16"] = setting(
        "fp32", "number format of weights that are not trained (see lora_rank)", changes="start"
    )
    recompute: bool = setting(
        False, "compute activations again in the backward pass: slower, less memory"
    )
    chunk: int = setting(256, "positions whose logits are in memory at once", low=1)


class ProblemsConfig(Settings):
    """What is asked, and when an answer is right."""

    name: Literal["addition", "sorting", "jsonl"] = setting(
        "addition", "built-in problems, or a file of them", changes="start"
    )
    digits: int = setting(2, "of the operands, or of what is sorted", low=1, changes="start")
    easiest: int = setting(1, "digits of the easiest problems", low=1, changes="start")
    reverse: bool = setting(False, "answers are written last digit first", changes="start")
    spaced: bool = setting(
        False, "12 + 34 = 46 as in books, for models that have read some", changes="start"
    )
    shots: int = setting(0, "solved problems before each prompt", low=0, changes="start")
    path: str | None = setting(
        None, 'of jsonl: lines like {"prompt": ..., "answer": ...}', changes="start"
    )
    scorer: str = setting(
        "exact",
        "of jsonl: exact, last-number, boxed, math-verify or module:function",
        changes="start",
    )
    held_out_share: float = setting(
        0.1, "of the problems, never trained on", above=0.0, below=1.0, changes="start"
    )
    max_new_tokens: int = setting(8, "longest completion", low=1)


class WarmStartConfig(Settings):
    """Solved problems first, until some answers are right."""

    enabled: bool = setting(False, "for models that have never seen such a task", changes="start")
    low: float = setting(
        0.3, "held-out accuracy of samples to reach", low=0.0, high=1.0, changes="start"
    )
    high: float = setting(0.6, "and not to pass", low=0.0, high=1.0, changes="start")
    learning_rate: float = setting(1e-3, "of the warm start", above=0.0, changes="start")
    max_steps: int = setting(4_000, "it gives up after so many", low=1, changes="start")


class LanguageConfig(ScheduledRate):
    """PPO (Schulman et al., 2017) on completions; `advantage: group` makes it GRPO."""

    traits: ClassVar[frozenset[Trait] | None] = frozenset({"language", "on_policy", "clipped"})
    unit: ClassVar[Unit] = SAMPLES
    scores: ClassVar[tuple[Score, ...]] = (Score("held-out score", RETURN.signal),)
    resumable: ClassVar[tuple[str, ...]] = (
        *ScheduledRate.resumable,
        "micro_batch_size",
        "sample_at_once",
        "model.chunk",
        "model.recompute",
    )

    algorithm: Literal["language"] = setting("language", "which trainer", changes="start")
    total_samples: int = setting(20_000, "completions to train for", low=1)
    model: ModelConfig = setting(ModelConfig(), "the model", changes="start")
    problems: ProblemsConfig = setting(ProblemsConfig(), "the task")
    warm_start: WarmStartConfig = setting(WarmStartConfig(), "before any reward")
    evaluation: EvaluationConfig = setting(
        EvaluationConfig(every=2_000, episodes=200), "episodes are held-out problems"
    )

    # Data
    prompts_per_update: int = setting(64, "different problems per update", low=1)
    samples_per_prompt: int = setting(8, "completions of each", low=1)
    sample_at_once: int = setting(
        512, "completions sampled side by side; what they say does not depend on it", low=1
    )
    temperature: float = setting(1.0, "of sampling; 1 is what is trained", above=0.0)
    top_p: float = setting(1.0, "of sampling; 1 is what is trained", above=0.0, high=1.0)

    # Advantages
    advantage: Literal["gae", "group"] = setting(
        "gae", "by a value head, or by comparison within each prompt", changes="start"
    )
    gamma: float = setting(1.0, "discount per token", low=0.0, high=1.0, changes="fork")
    gae_decay: float = setting(0.95, "lambda of the advantage estimator", low=0.0, high=1.0)
    normalise: Literal["std", "none"] = setting("std", "group advantages: divide by their spread")

    # Update
    epochs: int = setting(4, "passes over every batch", low=1)
    minibatch_size: int | None = setting(
        None, "completions per optimiser step; null: the whole batch", low=1
    )
    micro_batch_size: int | None = setting(
        None, "completions in memory at once; the gradient does not depend on it", low=1
    )
    learning_rate: float = setting(1e-4, "AdamW's step size", low=0.0)
    critic_warm_up: int = setting(
        0, "updates at the start that train the value head alone", low=0, changes="start"
    )
    weight_decay: float = setting(0.0, "AdamW's", low=0.0)
    clip_low: float = setting(0.2, "how far a probability may fall per update", above=0.0)
    clip_high: float = setting(0.2, "how far it may rise", above=0.0)
    dual_clip: float | None = setting(
        None, "bound on the loss of a token of negative advantage; null: none", above=1.0
    )
    value_clip: float | None = setting(
        0.2, "how far a value may move per update; null: freely", above=0.0
    )
    value_weight: float = setting(0.5, "weight of the value loss", low=0.0)
    entropy_weight: float = setting(0.0, "weight of the entropy bonus", low=0.0)
    gradient_clip: float | None = setting(
        1.0, "largest norm of the gradient; null: no clipping", above=0.0
    )

    # Reference
    kl: Literal["none", "reward", "loss"] = setting("none", "where the reference pulls")
    kl_weight: float = setting(0.05, "how hard it pulls", low=0.0)
    kl_kind: Literal["k1", "k2", "k3"] = setting("k2", "estimator in the loss; k1 in the reward")
    kl_target: float | None = setting(
        None, "nats per token to steer to by changing kl_weight; null: it stays", above=0.0
    )
    kl_weight_floor: float = setting(0.01, "of kl_target: the least weight", above=0.0)
    kl_weight_cap: float = setting(1.0, "of kl_target: the largest weight", above=0.0)

    # Replay
    replay: ReplayConfig = setting(
        ReplayConfig(), "old prompts with their completions among the fresh ones"
    )

    @property
    def replays(self) -> bool:
        """Whether old experience is trained on too."""
        return self.replay.enabled

    @property
    def samples_per_update(self) -> int:
        """All completions of all prompts."""
        return self.prompts_per_update * self.samples_per_prompt

    @property
    def samples_per_gradient(self) -> int:
        """Completions of one optimiser step."""
        return min(self.minibatch_size or self.samples_per_update, self.samples_per_update)

    def batch_of(self, size: int) -> dict[str, Any]:
        """All completions of an update, and as many optimiser steps as before."""
        if size % self.samples_per_prompt:
            raise ConfigError(
                f"a batch of {size} is no multiple of samples_per_prompt = "
                f"{self.samples_per_prompt}."
            )
        steps = self.samples_per_update // self.samples_per_gradient
        if size % steps:
            raise ConfigError(f"a batch of {size} cannot be cut into {steps} equal minibatches.")
        micro = self.micro_batch_size
        return {
            "prompts_per_update": size // self.samples_per_prompt,
            "minibatch_size": None if self.minibatch_size is None else size // steps,
            "micro_batch_size": None if micro is None else min(micro, size // steps),
        }

    @property
    def only_advantages_teach(self) -> bool:
        """Whether completions whose advantage is 0 have no part in the gradient."""
        return self.advantage == "group" and self.kl != "loss" and not self.entropy_weight

    @property
    def rounds(self) -> bool:
        """Whether numbers are so coarse that sampling and training see other log-probabilities."""
        return self.compute.precision != "fp32" or self.model.precision != "fp32"

    @property
    def task(self) -> str:
        """The problems' name."""
        return self.problems.name

    def learning_rate_at(self, update: int, progress: float) -> float:
        """The step size of an update, when this share of the budget is used.

        It rises from the first update that moves the policy on.
        """
        if update < self.critic_warm_up:
            return self.learning_rate
        return self.learning_rate * self.pace_at(update - self.critic_warm_up, progress)

    @model_validator(mode="after")
    def _does_something(self) -> Self:
        """What is computed must have an effect, and groups must stay whole."""
        if self.kl != "none" and self.kl_weight == 0.0:
            raise ValueError(
                f"kl = {self.kl} and kl_weight = 0: the reference would be asked and never pull. "
                "Use kl = none, or a weight above 0."
            )
        if self.kl == "loss" and self.kl_kind == "k1":
            raise ValueError(
                "kl = loss and kl_kind = k1: the gradient of this estimator is zero on average, so "
                "the reference would not pull. Use k2 or k3, or kl = reward."
            )
        size, group = self.minibatch_size, self.samples_per_prompt
        if self.advantage == "group" and size is not None and size % group:
            raise ValueError(
                f"minibatch_size = {size} is no multiple of samples_per_prompt = {group}: "
                "completions that are compared with each other belong into one optimiser step."
            )
        return self

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        batch = self.samples_per_update
        if self.advantage == "group" and self.samples_per_prompt < 2:
            raise ValueError(
                "samples_per_prompt = 1: with advantage = group completions of one prompt are "
                "compared with each other. Use at least 2, or advantage = gae."
            )
        for name, size in (
            ("minibatch_size", self.minibatch_size),
            ("micro_batch_size", self.micro_batch_size),
        ):
            if size is not None and size > batch:
                raise ValueError(
                    f"{name} = {size} is more than the {batch} completions of an update "
                    "(prompts_per_update x samples_per_prompt). Use less, or null."
                )
        if self.minibatch_size is not None and batch % self.minibatch_size:
            raise ValueError(
                f"minibatch_size = {self.minibatch_size} does not divide the {batch} completions "
                "of an update. Use a divisor, or null for all at once."
            )
        if self.model.precision != "fp32" and not self.model.lora_rank:
            raise ValueError(
                f"model.precision = {self.model.precision} and model.lora_rank = 0: small steps "
                "vanish when weights of 8 or 11 bits are trained. Use compute.precision = bf16, "
                "which keeps the weights in 32 bits, or train adapters (model.lora_rank = 16)."
            )
        if self.critic_warm_up and self.advantage != "gae":
            raise ValueError(
                "critic_warm_up needs a value head: use advantage = gae, or critic_warm_up = 0."
            )
        if self.replays and self.replay.priority == "td_error" and self.advantage != "gae":
            raise ValueError(
                "replay.priority = td_error needs a value head: use advantage = gae, or "
                "replay.priority = advantage."
            )
        if self.kl_target is not None and self.kl == "none":
            raise ValueError("kl_target needs a reference: use kl = reward or loss.")
        if self.problems.name == "jsonl" and self.problems.path is None:
            raise ValueError("problems.name = jsonl needs problems.path, a file of problems.")
        return self
