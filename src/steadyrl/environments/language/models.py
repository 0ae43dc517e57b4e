"""Language models: a tiny one from a config, any causal one from a folder, and how they are kept.

Nothing here asks a hub: models come from a folder or are made from a config.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from steadyrl.core.errors import ConfigError
from steadyrl.environments.language.policy import LanguagePolicy

# What a tokenizer's words may lie in; tokenizer_config.json has none.
TOKENIZER_FILES = ("tokenizer.*", "vocab*", "*.model", "*.tiktoken", "tekken.json")


def tiny_model(
    tokenizer: Any,
    *,
    layers: int = 4,
    width: int = 128,
    heads: int = 4,
    context: int = 64,
    seed: int = 0,
) -> Any:
    """A Llama of 0.8 million parameters (as sized by default), with random weights."""
    from transformers import AutoModelForCausalLM, LlamaConfig

    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=width,
        intermediate_size=width * 8 // 3 // 8 * 8,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        max_position_embeddings=context,
        attention_dropout=0.0,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return AutoModelForCausalLM.from_config(config, attn_implementation="eager")


def load_model(
    folder: Path, *, dtype: torch.dtype = torch.float32, attention: str | None = None
) -> tuple[Any, Any]:
    """(model, tokenizer) from a folder that `save_pretrained` wrote, without dropout.

    `attention` names one of transformers' implementations (by default the one it thinks best).
    """
    from transformers import AutoModelForCausalLM, AutoTokenizer

    if not (folder / "config.json").is_file():
        raise ConfigError(
            f"model.path = '{folder}': there is no language model in it. Give a folder that "
            "save_pretrained has written (config.json, weights, tokenizer)."
        )
    if not any(folder.glob("*.safetensors")) and not any(folder.glob("pytorch_model*.bin")):
        raise ConfigError(f"model.path = '{folder}': its weights (model.safetensors) are missing.")
    if not any(file for pattern in TOKENIZER_FILES for file in folder.glob(pattern)):
        # Asked here because transformers makes a tokenizer without a single word for some models.
        raise ConfigError(f"model.path = '{folder}': its tokenizer (tokenizer.json) is missing.")
    with without_bars():
        with _loading(folder, "its tokenizer (tokenizer.json) cannot be read"):
            tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        with _loading(folder, "it cannot be loaded"):
            model, loaded = AutoModelForCausalLM.from_pretrained(
                folder,
                dtype=dtype,
                attn_implementation=attention,
                local_files_only=True,
                output_loading_info=True,
            )
    missing = sorted(loaded["missing_keys"])
    if missing:
        raise ConfigError(
            f"model.path = '{folder}': {len(missing)} of its weights are missing, {missing[0]} "
            "first."
        )
    if tokenizer.pad_token_id is None:
        raise ConfigError(
            f"model.path = '{folder}': its tokenizer has no padding token. Set one that is not the "
            "end of text (tokenizer.pad_token = ...) and save the tokenizer again."
        )
    tokenizer.padding_side = "left"
    remove_dropout(model)
    check_head(model, str(folder))
    return model, tokenizer


@contextmanager
def _loading(folder: Path, trouble: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        reason = str(error).strip().splitlines()[0].rstrip(" :") if str(error).strip() else error
        raise ConfigError(f"model.path = '{folder}': {trouble}: {reason!s}.") from error


def remove_dropout(model: Any) -> None:
    """No dropout in any mode: with it, the policy that is trained is not the one that sampled."""
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
        if isinstance(getattr(module, "attention_dropout", None), float):
            module.attention_dropout = 0.0


@torch.no_grad()
def check_head(model: Any, name: str) -> None:
    """Refuse a model whose logits are not its head's: log-probabilities are made from the head."""
    model.eval()
    tokens = torch.arange(4, device=model.device)[None] % model.config.vocab_size
    policy = LanguagePolicy(model)
    hidden, _, _ = policy.read_prompts(tokens, torch.ones_like(tokens, dtype=torch.bool))
    expected = model(input_ids=tokens).logits[:, -1].float()
    if not torch.allclose(policy.logits(hidden), expected, rtol=1e-2, atol=1e-2):
        raise ConfigError(
            f"model.path = '{name}' ({type(model).__name__}) changes its logits after the head "
            "(soft capping or scaling), which is not supported."
        )


def with_lora(
    model: Any, *, rank: int = 16, alpha: int = 32, dropout: float = 0.0, seed: int = 0
) -> Any:
    """The model with low-rank adapters in all linear layers but the head; only they are trained."""
    try:
        from peft import LoraConfig, get_peft_model
    except ImportError:
        raise ConfigError(
            "LoRA needs the package peft: install steadyrl with its extra 'lora', or train all "
            "weights."
        ) from None
    config = LoraConfig(
        r=rank,
        lora_alpha=alpha,
        lora_dropout=dropout,
        target_modules="all-linear",
        task_type="CAUSAL_LM",
    )
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        # peft asks transformers under a name that 5.23 deprecates: nothing a user could mend.
        warnings.filterwarnings("ignore", "`is_gradient_checkpointing`", FutureWarning)
        torch.manual_seed(seed)
        return get_peft_model(model, config)


def save_model(
    policy: LanguagePolicy, tokenizer: Any, folder: Path, *, adapter: bool = False
) -> None:
    """Write a folder that plain transformers loads; adapters are merged into the weights.

    The value head, which transformers knows nothing of, is left out. With `adapter` the low-rank
    adapters alone are written, which peft puts onto the model they began as.
    """
    model = policy.language_model
    if policy.adapted and not adapter:
        model = copy.deepcopy(model).merge_and_unload()
    # Embeddings are never adapted; peft, left to find out, asks a hub for the original model.
    apart = {"save_embedding_layers": False} if policy.adapted and adapter else {}
    with without_bars():
        model.save_pretrained(folder, **apart)
    tokenizer.save_pretrained(folder)


def trained_state(policy: LanguagePolicy) -> dict[str, Tensor]:
    """Copies of the weights that are trained, by name, in their own type, on the CPU.

    Weights that share memory (a head tied to the embedding) appear once; frozen ones, as under
    adapters, not at all.
    """
    return {
        name: weight.detach().to("cpu", copy=True)
        for name, weight in policy.named_parameters()
        if weight.requires_grad
    }


def load_trained_state(policy: LanguagePolicy, state: Mapping[str, Tensor]) -> None:
    """Put back what `trained_state` gave; a missing, unknown or ill-fitting weight is refused."""
    weights = {name: weight for name, weight in policy.named_parameters() if weight.requires_grad}
    odd = sorted(weights.keys() ^ state.keys())
    if odd:
        raise ConfigError(
            f"the saved weights belong to another model: {odd[0]} is "
            f"{'missing' if odd[0] in weights else 'unknown'} ({len(odd)} such names)."
        )
    with torch.no_grad():
        for name, weight in weights.items():
            weight.copy_(state[name])


@contextmanager
def without_bars() -> Iterator[None]:
    """Keep transformers from drawing its progress bars across ours."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()
