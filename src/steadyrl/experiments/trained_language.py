"""The language model of a run, out of one of its checkpoints: to be asked, or taken elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from steadyrl.algorithms.language.config import LanguageConfig
from steadyrl.algorithms.language.learner import LanguageLearner
from steadyrl.core.errors import ConfigError
from steadyrl.environments.language.completions import Completions
from steadyrl.environments.language.generation import generate
from steadyrl.environments.language.models import save_model
from steadyrl.environments.language.sampling import Sampling
from steadyrl.experiments.model_card import card
from steadyrl.store.choosing import choose_checkpoint
from steadyrl.store.files import new_folder
from steadyrl.store.reader import RunReader


@dataclass(frozen=True)
class Trained:
    """A policy as it stood at a Step of its run."""

    learner: LanguageLearner
    config: LanguageConfig
    run: Path
    step: int
    chosen: str  # why this checkpoint, in words


def load_trained(run: Path, which: str | int = "best") -> Trained:
    """The policy of a checkpoint: `best` evaluated, `last`, or that of a Step.

    The scorer of a run is not needed for this, nor is it looked for.
    """
    store = RunReader.open(run)
    if not isinstance(store.config, LanguageConfig):
        raise ConfigError(
            f"{run}: a run of {store.config.algorithm} has trained no language model."
        )
    chosen = choose_checkpoint(store, which)
    state = store.checkpoints.load(chosen.step)
    config = LanguageConfig.parse(state["config"]["now"], source=str(run))
    learner = LanguageLearner(config.replaced({"problems.scorer": "exact"}), torch.device("cpu"))
    learner.weights.load_state_dict(state["learner"]["parts"]["policy"])
    return Trained(learner, config, run, chosen.step, chosen.because)


def ask(
    trained: Trained,
    questions: Sequence[str],
    *,
    temperature: float | None = None,
    samples: int = 1,
    seed: int = 0,
    max_new_tokens: int | None = None,
) -> Completions:
    """What the policy answers: the most probable text, or texts drawn at a temperature.

    Each question gets what its task sets before every prompt (solved examples, if it has any).
    """
    learner = trained.learner
    room = max_new_tokens or trained.config.problems.max_new_tokens
    sampling = Sampling(room, temperature or 1.0, greedy=temperature is None)
    return generate(
        learner.policy,
        learner.tokenizer,
        [learner.task.preamble + question for question in questions],
        sampling,
        generator=torch.Generator().manual_seed(seed),
        ends=learner.ends,
        stop=learner.task.stop,
        samples_per_prompt=samples,
    )


def export(trained: Trained, folder: Path, *, adapter: bool = False) -> None:
    """Write a folder that plain transformers loads (or peft, with `adapter`), whole or not at all.

    The value head is no part of it: it belongs to the training.
    """
    policy = trained.learner.policy
    if adapter and not policy.adapted:
        raise ConfigError(
            "--adapter: this run trained all weights (model.lora_rank = 0), so there is no adapter "
            "to keep apart. Leave the flag out."
        )
    with new_folder(folder) as made:
        save_model(policy, trained.learner.tokenizer, made, adapter=adapter)
        (made / "README.md").write_text(_card(trained), "utf-8")


def _card(trained: Trained) -> str:
    body = [
        "```python",
        "from transformers import AutoModelForCausalLM, AutoTokenizer",
        'model = AutoModelForCausalLM.from_pretrained(".")',
        'tokenizer = AutoTokenizer.from_pretrained(".")',
        "```",
        "",
        "The value head, if there was one, is left out: it belongs to the training.",
    ]
    return card(trained.run, trained.config, trained.chosen, body)
