"""What tests/unit/test_language_processes.py runs in one process and in pairs, started only once.

Every process goes through the same scenarios; each leaves its runs in a folder, and what it printed
and met in a file that bears its rank.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steadyrl import guarding
from steadyrl.algorithms.common.training import prepare
from steadyrl.algorithms.language import ppo
from steadyrl.algorithms.language.learner import LanguageLearner
from steadyrl.algorithms.language.ppo import estimate, find_gradient, sample
from steadyrl.cli.main import main as command_line
from steadyrl.core.errors import SteadyError, TrainingDiverged
from steadyrl.core.launch import launched
from steadyrl.core.presets import parse_config
from steadyrl.core.records import Diagnosis
from steadyrl.core.run_config import RunConfig
from steadyrl.environments.language import generation
from steadyrl.nets.processes import leave
from steadyrl.run import Observers, resume, train
from steadyrl.stability.guard import Action

NEVER = 1 << 30
KILLED = "STEADYRL_TEST_KILLED"  # the rank that `deadly` kills, if any
TINY = {"layers": 2, "width": 16, "heads": 2}
_fails_in = NEVER


def different_digits(completion: str, answer: str) -> float:
    """A score that a model with random weights earns now and then, and that tells texts apart."""
    global _fails_in
    _fails_in -= 1
    if _fails_in == 0:
        raise ValueError("no score today")
    return _score(completion, answer)


def _score(completion: str, answer: str) -> float:
    return len(set(completion)) / 4 + 0.1 * (completion[:1] == answer[:1])


def deadly(completion: str, answer: str) -> float:
    """The same score, which one process does not survive: in its third update, without a word."""
    global _fails_in
    if os.environ.get(KILLED) == str(launched().rank):
        _fails_in = 30 if _fails_in == NEVER else _fails_in - 1
        if _fails_in == 0:
            os.kill(os.getpid(), signal.SIGKILL)
    return _score(completion, answer)


def write_problems(folder: Path) -> None:
    """Prompts of unequal length; before any process is started that reads them."""
    lines = [json.dumps({"prompt": f"{n * n}?" * (1 + n % 3), "answer": str(n)}) for n in range(60)]
    (folder / "problems.jsonl").write_text("\n".join(lines), encoding="utf-8")


def config(folder: Path, scorer: str = "different_digits", **settings: Any) -> RunConfig:
    """Four updates of a tiny model; of GRPO's three prompts per step one process gets two."""
    values = {
        "algorithm": "language",
        "total_samples": 96,
        "model": TINY,
        "problems": {
            "name": "jsonl",
            "path": str(folder / "problems.jsonl"),
            "scorer": f"{__name__}:{scorer}",
            "max_new_tokens": 4,
        },
        "prompts_per_update": 6,
        "samples_per_prompt": 4,
        "epochs": 2,
        "micro_batch_size": 3,
        "learning_rate": 1e-3,
        "entropy_weight": 0.01,
        "evaluation": {"every": 48, "episodes": 5},
        "checkpoints": {"every": 24},
    }
    return parse_config({**values, **settings})


PPO: dict[str, Any] = {"kl": "reward"}
GRPO: dict[str, Any] = {"advantage": "group", "kl": "loss", "minibatch_size": 12}
GRADIENTS: dict[str, dict[str, Any]] = {
    "ppo": PPO,
    "grpo": GRPO,
    "in one pass": {**GRPO, "micro_batch_size": None, "minibatch_size": None},
    "recomputed": {**PPO, "model": {**TINY, "recompute": True}},
    "adapters": {**GRPO, "model": {**TINY, "lora_rank": 2}},
}


def gradients(folder: Path) -> None:
    """The gradient of the first batch."""
    for name, settings in GRADIENTS.items():
        training = prepare(config(folder, **settings))
        learner, now = training.learner, training.live.now
        assert isinstance(learner, LanguageLearner)
        batch, _ = estimate(learner, *sample(learner, now), now)
        find_gradient(learner, batch, slice(0, len(batch)), now)
        found = learner.weights.whole_gradient()
        if not launched().follows:
            np.save(folder / f"gradient-{name}.npy", found.numpy())
            np.save(folder / f"tokens-{name}.npy", batch.completions.tokens.numpy())


def plain_runs(folder: Path) -> None:
    """Whole runs, with a short warm start; the first through the command line."""
    warm = {"enabled": True, "low": 0.99, "high": 1.0, "max_steps": 50}
    file = folder / f"ppo-{launched().rank}.yaml"
    file.write_text(config(folder, **PPO, warm_start=warm).to_yaml(), encoding="utf-8")
    command = ["train", str(file), "--runs", str(folder), "--name", "ppo"]
    assert command_line(command) == 0
    # There is a run now. A follower that reported it too would have its leader ended by launchers.
    assert command_line(command) == (0 if launched().follows else 2)
    train(config(folder, **GRPO), folder / "grpo")


def interrupted(folder: Path) -> None:
    """Ctrl-C after the second Step, which reaches the leader alone, and a resume."""

    def interrupt(step: Any) -> None:
        if step.index == 2:
            os.kill(os.getpid(), signal.SIGINT)

    train(config(folder, **GRPO), folder / "resumed", observers=Observers(step=interrupt))
    resume(folder / "resumed")


def diverged(folder: Path) -> None:
    """The last process loses its weights in the third update; the guard goes back and remedies."""

    def slower(*_: Any, severe: bool, anew: bool) -> Action | None:
        if not severe:
            return None
        cause = Diagnosis(
            cause="C201",
            name="too-fast",
            confidence=1.0,
            onset=2,
            explains=(),
            evidence_for=(),
            evidence_against=(),
            would_decide="",
            remedies=(),
        )
        return Action(cause, "R301", {"epochs": 1})

    with pytest.MonkeyPatch.context() as patch:
        _fail_in_the_last_process(patch, TrainingDiverged("not a number"))
        patch.setattr(guarding, "choose_action", slower)
        settings = config(folder, **GRPO, evaluation={"episodes": 0})
        train(settings, folder / "healed", guard="act")


def out_of_memory(folder: Path) -> None:
    """The last process alone has no room for the third batch."""
    with pytest.MonkeyPatch.context() as patch:
        _fail_in_the_last_process(patch, RuntimeError("out of memory: tried to allocate 9 GB"))
        train(config(folder, **GRPO, evaluation={"episodes": 0}), folder / "full")


def stranded(folder: Path) -> None:
    """The last process alone has no room for a pass with gradients of the second update.

    Where weights are sharded the other one waits in such a pass: nothing can follow this.
    """
    inner, calls = ppo.losses_of, 0

    def fails(*arguments: Any, **more: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 20 and launched().rank == launched().count - 1:
            raise RuntimeError("out of memory: tried to allocate 9 GB")
        return inner(*arguments, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ppo, "losses_of", fails)
        train(config(folder, **GRPO), folder / "stranded")


def _fail_in_the_last_process(patch: pytest.MonkeyPatch, error: Exception) -> None:
    """Once, when it samples for the third time."""
    inner, calls = generation._sample, 0

    def fails_once(*arguments: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 3 and launched().rank == launched().count - 1:
            raise error
        inner(*arguments)

    patch.setattr(generation, "_sample", fails_once)


def failed(folder: Path) -> None:
    """A scorer fails in the last process alone."""
    global _fails_in
    _fails_in = 3 if launched().rank == launched().count - 1 else NEVER
    try:
        train(config(folder), folder / "failed")
    finally:
        _fails_in = NEVER


def taken(folder: Path) -> None:
    """There is a run already: only the leader notices."""
    train(config(folder), folder / "grpo")


def too_small(folder: Path) -> None:
    """An optimiser step of fewer completions than processes, if there are two."""
    train(config(folder, minibatch_size=1, epochs=1, total_samples=24), folder / "small")


SCENARIOS: tuple[Callable[[Path], None], ...] = (
    gradients,
    plain_runs,
    interrupted,
    diverged,
    out_of_memory,
    failed,
    taken,
    too_small,
    stranded,
)


def run_all(folder: Path) -> None:
    """Every scenario in turn; what went wrong, and what was printed, by the rank's name."""
    errors: dict[str, str] = {}
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        for scenario in SCENARIOS:
            try:
                scenario(folder)
            except SteadyError as error:
                errors[scenario.__name__] = f"{type(error).__name__}: {error}"
    report = {"errors": errors, "printed": said.getvalue()}
    (folder / f"rank-{launched().rank}.json").write_text(json.dumps(report), encoding="utf-8")


if __name__ == "__main__":
    from tests.unit import language_processes  # under its name, as scorers are looked up

    language_processes.run_all(Path(sys.argv[1]))
    leave(0)
