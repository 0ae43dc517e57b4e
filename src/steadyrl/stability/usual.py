"""What is usual differs by kind of run: a rate that trains a small network ruins a language model.

The ranges are where training is known to work, not where it works best.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from steadyrl.core.ordinary import read_json

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig

Range = tuple[float, float]

POLICIES: Range = (3e-5, 3e-3)  # small networks, Adam
TINY_MODELS: Range = (1e-5, 5e-4)  # language models of a few layers
LARGEST_TINY = 2_048  # layers times width: 8 layers of 256
ADAPTERS: Range = (1e-6, 5e-4)
LANGUAGE_MODELS: Range = (1e-7, 1e-4)  # pretrained, all weights


def usual_rates(config: RunConfig | None) -> Range:
    """Learning rates of clipped policies, language models among them."""
    if config is None or not config.is_a("language"):
        return POLICIES
    if config.has("model.path") and _tiny(config.value_of("model.path")):
        return TINY_MODELS
    return ADAPTERS if config.value_of("model.lora_rank", 0) else LANGUAGE_MODELS


@lru_cache(maxsize=64)
def _tiny(path: str | None) -> bool:
    """Whether a model is made by us, or lies in a folder and says that it is no larger."""
    if path is None:
        return True
    try:
        said = read_json(Path(path) / "config.json")
        return int(said["hidden_size"]) * int(said["num_hidden_layers"]) <= LARGEST_TINY
    except (OSError, ValueError, KeyError, TypeError):
        return False  # not there any more, or of another kind


def usual_epochs(config: RunConfig | None) -> int:
    """The most passes over a batch that are usual."""
    return 8 if config is not None and config.is_a("language") else 30


def usual_entropy_weight(config: RunConfig | None) -> float:
    """The largest weight of an entropy bonus that is usual; tokens are many, and each is paid."""
    return 0.05 if config is not None and config.is_a("language") else 0.1


def clip_settings(config: RunConfig | None) -> dict[str, float]:
    """How far a probability may move per update, by the names of the settings that say so."""
    if config is None:
        return {}
    names = ("clip_range", "clip_low", "clip_high")
    return {name: value for name in names if (value := config.value_of(name)) is not None}
