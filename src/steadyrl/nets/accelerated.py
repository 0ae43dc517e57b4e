"""What an accelerate config asks for; what would not be done is refused, not passed over."""

from __future__ import annotations

import os
from typing import Any

from torch import nn

from steadyrl.core.errors import ConfigError


def asked_to_shard() -> bool:
    """Whether weights are to be spread over the processes (FSDP2)."""
    _refuse_other_engines()
    if not _asked("ACCELERATE_USE_FSDP"):
        return False
    version = os.environ.get("FSDP_VERSION", "1")
    if version != "2":
        raise ConfigError(
            f"the accelerate config asks for FSDP with fsdp_version = {version}. Only version 2 is "
            "supported: set fsdp_version: 2 there (accelerate to-fsdp2 converts a config)."
        )
    for name, instead in (
        ("OFFLOAD_PARAMS", "LoRA (model.lora_rank) or more processes need less memory, too"),
        ("ACTIVATION_CHECKPOINTING", "set model.recompute in the run's config"),
    ):
        if _asked(f"FSDP_{name}"):
            raise ConfigError(
                f"fsdp_{name.lower()} = true in the accelerate config is not supported. Set it to "
                f"false there; {instead}."
            )
    wrapping = os.environ.get("FSDP_AUTO_WRAP_POLICY", "NO_WRAP")
    if wrapping == "SIZE_BASED_WRAP":
        raise ConfigError(
            "fsdp_auto_wrap_policy = SIZE_BASED_WRAP in the accelerate config would tear a head "
            "from the embedding it shares weights with. Use TRANSFORMER_BASED_WRAP there."
        )
    return True


def fsdp_settings() -> Any:
    """Accelerate's own reading of its FSDP settings."""
    from accelerate import FullyShardedDataParallelPlugin
    from accelerate.utils import disable_fsdp_ram_efficient_loading

    # With it transformers gives all processes but the first zeros in place of a model's weights.
    disable_fsdp_ram_efficient_loading()
    return FullyShardedDataParallelPlugin()


def parts_to_shard(settings: Any, model: nn.Module) -> list[nn.Module]:
    """The layers that are put together one at a time, as accelerate picks them."""
    from accelerate.utils.fsdp_utils import fsdp2_prepare_auto_wrap_policy

    try:
        picked = fsdp2_prepare_auto_wrap_policy(settings, model)
    except ValueError as error:
        raise ConfigError(f"the accelerate config does not fit the model: {error}") from None
    return [] if picked is None else [module for module in model.modules() if picked(module)]


def _refuse_other_engines() -> None:
    for name, words in (
        ("ACCELERATE_USE_DEEPSPEED", "DeepSpeed"),
        ("ACCELERATE_USE_MEGATRON_LM", "Megatron-LM"),
    ):
        if _asked(name):
            raise ConfigError(
                f"the accelerate config asks for {words}, which is not supported. To spread the "
                "weights over the processes use FSDP there (distributed_type: FSDP, fsdp_version: "
                "2); if they fit into each, plain processes (multi-GPU)."
            )
    precision = os.environ.get("ACCELERATE_MIXED_PRECISION", "no")
    if precision != "no":
        raise ConfigError(
            f"accelerate's mixed_precision = '{precision}' is not looked at here. Set "
            "mixed_precision to 'no' there, and compute.precision in the run's config."
        )


def _asked(name: str) -> bool:
    return os.environ.get(name, "false").lower() == "true"
