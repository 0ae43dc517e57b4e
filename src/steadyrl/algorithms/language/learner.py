"""What a language run must not forget: policy, reference, optimiser, streams, counters."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from steadyrl.algorithms.common.replaying import empty_buffer
from steadyrl.algorithms.common.state import Stateful
from steadyrl.algorithms.language.config import LanguageConfig, ProblemsConfig
from steadyrl.core.errors import ConfigError
from steadyrl.core.seeding import Generators, integer_seed
from steadyrl.environments.language.accuracy import Accuracy
from steadyrl.environments.language.addition import addition
from steadyrl.environments.language.fetch import model_folder
from steadyrl.environments.language.generation import end_tokens
from steadyrl.environments.language.models import load_model, tiny_model, with_lora
from steadyrl.environments.language.policy import LanguagePolicy, Reference
from steadyrl.environments.language.prompts import check_prompts
from steadyrl.environments.language.sorting import sorting
from steadyrl.environments.language.tasks import Problem, Task, alphabet, jsonl_task
from steadyrl.environments.language.tokenizer import character_tokenizer
from steadyrl.environments.language.warm_start import (
    WarmStartSettings,
    warm_start,
)
from steadyrl.experience.aged import AgedExperience
from steadyrl.nets.module_adam import ModuleAdam
from steadyrl.nets.processes import ALONE, Processes
from steadyrl.nets.shards import spread_like
from steadyrl.nets.weights import ModuleWeights, from_stored, to_stored

LOGGER = logging.getLogger("steadyrl")
PRECISIONS = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


class LanguageLearner(Stateful):
    """Policy with or without a value head, its reference, optimiser, generators and counters."""

    counters = (
        "updates",
        "steps",
        "evaluations",
        "skipped",
        "generated",
        "trained",
        "seconds",
        "warm_starts",
    )
    optional = ("experience",)

    def __init__(
        self, config: LanguageConfig, device: torch.device, processes: Processes = ALONE
    ) -> None:
        self.processes = processes
        self.task = make_task(config.problems)
        model, self.tokenizer = make_model(config, self.task)
        if config.model.lora_rank:
            seed = integer_seed(config.seed, "adapters")
            model = with_lora(model, rank=config.model.lora_rank, seed=seed)
        self.policy = LanguagePolicy(model.to(device), value_head=config.advantage == "gae")
        self.policy.in_bf16 = config.compute.precision == "bf16"
        self.policy.checkpointing = config.model.recompute
        # Dropout is off in any mode; transformers computes activations again in this one only.
        self.policy.train(config.model.recompute)
        check_prompts(self.policy, self.tokenizer, self.task, config.problems.max_new_tokens)
        self.ends = end_tokens(self.tokenizer, self.task.stop)
        self.policy.shard(processes)
        self._reference: Reference | None = None
        self.weights = ModuleWeights(self.policy)
        self.optimizer = ModuleAdam(self.policy, weight_decay=config.weight_decay)
        self.generators = Generators(config.seed)
        self.updates = self.steps = self.evaluations = self.warm_starts = 0
        self.skipped = 0  # optimiser steps whose gradient was no number
        self.generated = self.trained = 0  # completions made, and those that gradients went through
        self.seconds = 0.0
        self.experience: AgedExperience | None = (
            empty_buffer(config.replay) if config.replays else None
        )

    @cached_property
    def longest_prompt(self) -> int:
        """In tokens, of the problems that are trained on."""
        texts = [problem.prompt for problem in self.task.train]
        return max(len(tokens) for tokens in self.tokenizer(texts)["input_ids"])

    def warm_up(self, config: LanguageConfig) -> dict[str, float]:
        """Show solved problems first, if asked for; the reference is the model as it then is.

        Returns the held-out accuracy before and after, or nothing if it was done before.
        """
        wanted = config.warm_start
        if not wanted.enabled or self.warm_starts or self.updates:
            return {}
        settings = WarmStartSettings(
            low=wanted.low,
            high=wanted.high,
            learning_rate=wanted.learning_rate,
            max_steps=wanted.max_steps,
            max_new_tokens=config.problems.max_new_tokens,
        )
        seed = integer_seed(config.seed, "warm start") % (1 << 31)
        warmed = warm_start(
            self.policy,
            self.tokenizer,
            self.task,
            settings,
            seed=seed,
            progress=_tell,
            processes=self.processes,
        )
        # Other processors may have found other last digits.
        self.processes.equalise(self.policy.parameters())
        self._reference = None
        self.warm_starts += 1
        return {
            "language.accuracy_untrained": warmed.before.greedy.share,
            "language.accuracy_warm": warmed.after.greedy.share,
        }

    @property
    def reference(self) -> Reference:
        """The policy as it stood when it was first asked for: at the start, or at a fork.

        A run without any KL term never asks, and needs no memory for a second model.
        """
        if self._reference is None:
            self._reference = Reference(self.policy, self.processes)
        return self._reference

    def draw(self, count: int) -> list[Problem]:
        """Different training problems, in random order."""
        problems = self.task.train
        generator = self.generators["problems"]
        chosen = generator.choice(len(problems), size=count, replace=count > len(problems))
        return [problems[int(index)] for index in chosen]

    def torch_generator(self, name: str) -> torch.Generator:
        """A stream of torch's, seeded anew from ours each time it is asked for."""
        seed = int(self.generators[name].integers(1 << 62))
        return torch.Generator().manual_seed(seed)

    def stateful_parts(self) -> dict[str, Any]:
        """What has a state of its own; a frozen reference is part of it, adapters need none."""
        parts: dict[str, Any] = {
            "policy": self.weights,
            "optimizer": self.optimizer,
            "generators": self.generators,
        }
        if self._reference is not None and not self.policy.adapted:
            parts["reference"] = _Frozen(self._reference.policy)
        if self.experience is not None:
            parts["experience"] = self.experience
        return parts

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Back to a recorded state; one without a reference is to become its own, if any."""
        self._reference = None
        if "reference" in state["parts"] and not self.policy.adapted:
            self._reference = Reference(self.policy, self.processes)
        super().load_state_dict(state)


def _tell(steps: int, _loss: float, right: Accuracy) -> None:
    LOGGER.info("warm start: %d steps, %.0f%% of sampled answers right", steps, 100 * right.share)


class _Frozen:
    """All weights of a module that nobody trains."""

    def __init__(self, module: torch.nn.Module) -> None:
        self._module = module

    def state_dict(self) -> dict[str, Any]:
        return {name: to_stored(w, copy=False) for name, w in self._module.named_parameters()}

    def load_state_dict(self, state: Any) -> None:
        with torch.no_grad():
            for name, weight in self._module.named_parameters():
                weight.copy_(spread_like(weight, from_stored(state[name])))


def make_task(config: ProblemsConfig) -> Task:
    """The problems that a config names."""
    if config.name == "jsonl":
        assert config.path is not None  # the config has refused that
        return jsonl_task(
            Path(config.path), held_out_share=config.held_out_share, scorer=config.scorer
        )
    if config.name == "sorting":
        return sorting(config.digits, held_out_share=config.held_out_share)
    return addition(
        config.digits,
        easiest=min(config.easiest, config.digits),
        reverse=config.reverse,
        spaced=config.spaced,
        shots=config.shots,
        held_out_share=config.held_out_share,
    )


def make_model(config: LanguageConfig, task: Task) -> tuple[Any, Any]:
    """(model, tokenizer) from the folder that the config names, or a tiny one for the task."""
    if config.model.path is not None:
        folder = model_folder(config.model.path)
        return load_model(folder, dtype=PRECISIONS[config.model.precision])
    if config.model.width % config.model.heads:
        raise ConfigError(
            f"model.width = {config.model.width} is no multiple of model.heads = "
            f"{config.model.heads}."
        )
    tokenizer = character_tokenizer(alphabet(task))
    longest = max(len(problem.prompt) for problem in (*task.train, *task.held_out))
    model = tiny_model(
        tokenizer,
        layers=config.model.layers,
        width=config.model.width,
        heads=config.model.heads,
        context=longest + config.problems.max_new_tokens + 8,
        seed=integer_seed(config.seed, "model") % (1 << 31),
    )
    return model.to(PRECISIONS[config.model.precision]), tokenizer
