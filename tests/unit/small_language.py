"""The smallest language run that has everything: what tests of language runs begin from."""

from __future__ import annotations

from typing import Any

from steadyrl.algorithms.language.config import LanguageConfig
from steadyrl.core.presets import parse_config


def small_config(**settings: Any) -> LanguageConfig:
    """Six updates of sixteen completions by a model of one layer; `a__b` is the setting a.b."""
    values = {
        "algorithm": "language",
        "total_samples": 96,
        "model": {"layers": 1, "width": 16, "heads": 2},
        "problems": {"digits": 1, "max_new_tokens": 4},
        "prompts_per_update": 4,
        "samples_per_prompt": 4,
        "epochs": 2,
        "evaluation": {"every": 32, "episodes": 8},
        "checkpoints": {"every": 32},
    }
    dotted = {name.replace("__", "."): value for name, value in settings.items()}
    config = parse_config(values, overrides=dotted)
    assert isinstance(config, LanguageConfig)
    return config
