"""PPO for language models, put together."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from steadyrl.algorithms.common.clock import Clock
from steadyrl.algorithms.common.training import Training
from steadyrl.algorithms.language.config import LanguageConfig
from steadyrl.algorithms.language.learner import LanguageLearner
from steadyrl.algorithms.language.memory import whole_steps
from steadyrl.algorithms.language.ppo import estimate, find_gradient, sample, train_language
from steadyrl.core.config import LiveConfig
from steadyrl.nets.processes import joined


def prepare(config: LanguageConfig, device: torch.device) -> Training:
    """A run at its beginning; a warm start happens with the first Step, not here."""
    live, clock = LiveConfig(config), Clock()
    learner = LanguageLearner(config, device, joined(device))

    def gradients(*, size: int, generator: np.random.Generator, **_: Any) -> dict[str, Any]:
        """Of completions of fresh prompts; the unit is the prompt and all its samples."""
        now = live.now
        prompts = max(1, size // now.samples_per_prompt)
        drawn = now.replaced({"prompts_per_update": prompts, "minibatch_size": None})
        del generator  # drawn from the run's own streams, which a measurement may move on
        completions, scores = sample(learner, drawn)
        batch, _signals = estimate(learner, completions, scores, drawn)
        find_gradient(learner, batch, slice(0, len(batch)), drawn)
        found = learner.weights.whole_gradient()
        learner.optimizer.zero()
        return {"policy": found.float().cpu().numpy()}

    return Training(
        live=live,
        world=clock,
        learner=learner,
        begin=lambda: whole_steps(train_language(live, clock, learner), live, clock, learner),
        examine=dict,
        black_box=lambda: (learner.weights.first_non_finite(), {}),
        gradients=gradients,
        experience=lambda: len(learner.task.train),
        schemes=("drawn",),
        processes=learner.processes,
    )
