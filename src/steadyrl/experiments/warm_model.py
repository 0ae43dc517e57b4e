"""A small language model that is right now and then: what benches and studies begin from."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import torch

from steadyrl.algorithms.language.config import LanguageConfig
from steadyrl.algorithms.language.learner import LanguageLearner
from steadyrl.environments.language.models import load_model, save_model
from steadyrl.experiments.fault_bench.replaced import replaced


def warm_model(plain: Mapping[str, Any], folder: Path) -> Path:
    """The absolute folder of a model after its warm start, made if it is not there; seed 0.

    It appears whole or not at all.
    """
    if not (folder / "config.json").is_file():
        config = LanguageConfig.parse({**plain, "seed": 0})
        learner = LanguageLearner(config, torch.device("cpu"))
        learner.warm_up(config)
        made = folder.with_name(f".{folder.name}-unfinished")
        shutil.rmtree(made, ignore_errors=True)
        save_model(learner.policy, learner.tokenizer, made)
        made.rename(folder)
    return folder.resolve()


def warm_from(folder: Path) -> AbstractContextManager[None]:
    """Warm starts take their result from a folder for as long as the `with` block lasts."""

    def make(_: Any) -> Any:
        def warm_up(learner: LanguageLearner, config: LanguageConfig) -> dict[str, float]:
            if config.warm_start.enabled and not learner.warm_starts and not learner.updates:
                model, _ = load_model(folder)
                learner.policy.language_model.load_state_dict(model.state_dict())
                learner.warm_starts += 1
            return {}

        return warm_up

    return replaced(LanguageLearner, "warm_up", make)
