"""TRL's GRPO trainer on a tiny model made here (no download), watched.

Run with: python examples/watch_trl_grpo.py [STEPS]
"""

from __future__ import annotations

import sys
from typing import Any

from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import GRPOConfig, GRPOTrainer

from steadyrl.integrations.trl import SteadyCallback


def save_tiny_model(path: str) -> None:
    """A model of a few thousand weights that knows eight letters."""
    letters = {letter: n for n, letter in enumerate(["<pad>", "<eos>", *"abcdefgh"])}
    tokenizer = Tokenizer(models.WordLevel(letters, unk_token="<pad>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<eos>", padding_side="left"
    ).save_pretrained(path)
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 2}
    tokens = {"pad_token_id": 0, "eos_token_id": 1, "bos_token_id": None}
    config = LlamaConfig(vocab_size=len(letters), num_hidden_layers=2, **sizes, **tokens)
    LlamaForCausalLM(config).save_pretrained(path)


def count_a(completions: list[str], **_: Any) -> list[float]:
    """The reward: how many of eight letters are an 'a'."""
    return [text.count("a") / 8 for text in completions]


def main(steps: int) -> None:
    """Train, with the callback beside the trainer's own."""
    save_tiny_model("runs/tiny-model")
    settings = {"max_steps": steps, "learning_rate": 1e-3, "beta": 0.01, "max_completion_length": 8}
    quiet = {"logging_steps": 1, "save_strategy": "no", "report_to": "none", "use_cpu": True}
    trainer = GRPOTrainer(
        model="runs/tiny-model",
        reward_funcs=count_a,
        train_dataset=Dataset.from_dict({"prompt": ["abc", "def", "gh", "ha"] * 64}),
        args=GRPOConfig("runs/trl", per_device_train_batch_size=8, **settings, **quiet),
        callbacks=[SteadyCallback("runs/trl-grpo")],
    )
    trainer.train()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
