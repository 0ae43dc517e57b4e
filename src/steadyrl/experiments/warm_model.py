"""A small language model that is right now and then: what benches and studies begin from."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from steadyrl.algorithms.language.config import LanguageConfig
from steadyrl.algorithms.language.learner import LanguageLearner
from steadyrl.environments.language.models import save_model

LOW, HIGH = 0.2, 0.4  # share of its samples that is right


def warm_model(plain: Mapping[str, Any], folder: Path) -> Path:
    """The absolute folder of a model for these settings, made if it is not there; seed 0.

    It appears whole or not at all.
    """
    if not (folder / "config.json").is_file():
        warm = {"enabled": True, "low": LOW, "high": HIGH}
        config = LanguageConfig.parse({**plain, "warm_start": warm, "advantage": "group"})
        learner = LanguageLearner(config, torch.device("cpu"))
        learner.warm_up(config)
        made = folder.with_name(f".{folder.name}-unfinished")
        shutil.rmtree(made, ignore_errors=True)
        save_model(learner.policy, learner.tokenizer, made)
        made.rename(folder)
    return folder.resolve()
