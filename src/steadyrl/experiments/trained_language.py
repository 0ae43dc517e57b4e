"""The language model of a run, out of one of its checkpoints: to be asked, or taken elsewhere."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from steadyrl.algorithms.language.config import LanguageConfig
from steadyrl.algorithms.language.learner import LanguageLearner
from steadyrl.core.errors import CheckpointError, ConfigError
from steadyrl.environments.language.generation import Completions, generate
from steadyrl.environments.language.models import save_model
from steadyrl.environments.language.sampling import Sampling
from steadyrl.store.files import disk_errors
from steadyrl.store.reader import RunReader

SCORE = "eval.return_mean"


@dataclass(frozen=True)
class Trained:
    """A policy as it stood at a Step of its run."""

    learner: LanguageLearner
    config: LanguageConfig
    step: int
    chosen: str  # why this checkpoint, in words


def load_trained(run: Path, which: str = "best") -> Trained:
    """The policy of a checkpoint: `best` evaluated, `last`, or that of a Step.

    The scorer of a run is not needed for this, nor is it looked for.
    """
    store = RunReader.open(run)
    if not isinstance(store.config, LanguageConfig):
        raise ConfigError(
            f"{run}: a run of {store.config.algorithm} has trained no language model."
        )
    step, chosen = choose_checkpoint(store, which)
    state = store.checkpoints.load(step)
    config = LanguageConfig.parse(state["config"]["now"], source=str(run))
    learner = LanguageLearner(config.replaced({"problems.scorer": "exact"}), torch.device("cpu"))
    learner.weights.load_state_dict(state["learner"]["parts"]["policy"])
    return Trained(learner, config, step, chosen)


def choose_checkpoint(store: RunReader, which: str) -> tuple[int, str]:
    """(Step, why) of the checkpoint that is meant."""
    kept = store.checkpoints.steps()
    if not kept:
        raise CheckpointError(f"{store.path}: no checkpoint yet, so there is no policy to load.")
    if which == "last":
        return kept[-1], f"the last checkpoint, update {kept[-1]}"
    if which == "best":
        return _best(store, kept)
    if not which.isdecimal() or int(which) not in kept:
        raise ConfigError(
            f"--checkpoint '{which}': use best, last, or one of the updates that were kept: "
            f"{', '.join(map(str, kept))}."
        )
    return int(which), f"update {int(which)}"


def _best(store: RunReader, kept: list[int]) -> tuple[int, str]:
    """The kept checkpoint with the best evaluation at its Step, or else the last before it."""
    evaluations = {s.index: s.signals[SCORE] for s in store.steps() if SCORE in s.signals}
    known: dict[int, float] = {}
    for step in kept:
        before = [index for index in evaluations if index <= step]
        if before:
            known[step] = evaluations[max(before)]
    if not known:
        return kept[-1], f"the last checkpoint, update {kept[-1]}: none was evaluated"
    best = max(known, key=lambda step: (known[step], step))
    chosen = f"the best checkpoint that was kept, update {best}, evaluated at {known[best]:.4g}"
    top = max(evaluations, key=lambda index: evaluations[index])
    if evaluations[top] > known[best]:
        chosen += f" (update {top} reached {evaluations[top]:.4g}, but its weights were not kept)"
    return best, chosen


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
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"{folder} exists and is not empty: give a new folder for the model.")
    with disk_errors(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as scratch:
            made = Path(scratch) / "model"
            save_model(policy, trained.learner.tokenizer, made, adapter=adapter)
            shutil.rmtree(folder, ignore_errors=True)  # an empty one
            made.replace(folder)
