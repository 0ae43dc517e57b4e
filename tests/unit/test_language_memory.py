"""Failures in the middle of language training: what is saved, what is said, how to go on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import modeling_utils

from steadyrl.algorithms.common.training import prepare
from steadyrl.algorithms.language import evaluating, ppo
from steadyrl.algorithms.language.config import LanguageConfig
from steadyrl.algorithms.language.memory import out_of_memory, what_fits
from steadyrl.cli.main import main
from steadyrl.core.errors import EnvironmentFault, OutOfMemory
from steadyrl.environments.language import generation
from steadyrl.environments.language.tasks import ProblemSet
from steadyrl.experiments.verify_resume import compare_runs
from steadyrl.judging import judge
from steadyrl.run import resume, train
from steadyrl.store.reader import RunReader
from tests.unit.small_language import small_config

Output = pytest.CaptureFixture[str]

ON_CPU = (
    "[enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate memory: "
    "you tried to allocate 4000000 bytes. Error code 12 (Cannot allocate memory)"
)
ON_GPU = "CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has a total capacity of 24 GiB."


def _config(**settings: Any) -> LanguageConfig:
    """A checkpoint at the end alone, so that only failures make others."""
    return small_config(**{"evaluation.every": 48, "checkpoints.every": 96, **settings})


def _failing(
    monkeypatch: pytest.MonkeyPatch, place: Any, name: str, error: Exception, *, call: int
) -> None:
    """The function raises at one of its calls, and works at all others."""
    works: Callable[..., Any] = getattr(place, name)
    calls = 0

    def sometimes(*arguments: Any, **settings: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == call:
            raise error
        return works(*arguments, **settings)

    monkeypatch.setattr(place, name, sometimes)


# With two epochs, call 7 of the loss is the first of the fourth update, call 8 its second.
@pytest.mark.parametrize(
    ("place", "name", "call", "saved"),
    [
        (ppo, "losses_of", 7, 3),
        (ppo, "losses_of", 8, 0),  # a weight has moved: back to the older checkpoint
        (ppo, "sample", 4, 3),
        (ppo, "estimate", 4, 3),
        (evaluating, "held_out_accuracy", 1, 0),
    ],
)
def test_a_run_out_of_memory_goes_on_as_if_it_had_never_been(
    place: Any, name: str, call: int, saved: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = _config(kl="reward", checkpoints__keep_best=False)
    train(config, tmp_path / "unbroken")
    with monkeypatch.context() as patch:
        _failing(patch, place, name, RuntimeError(ON_CPU), call=call)
        with pytest.raises(OutOfMemory) as caught:
            train(config, tmp_path / "broken")
    assert caught.value.__notes__ == [
        "nothing is lost; when that is mended, continue with: steadyrl train --resume "
        f"{tmp_path / 'broken'} --micro-batch-size 8"
    ]
    assert max(RunReader.open(tmp_path / "broken").checkpoints.steps()) == saved
    verdict = judge(tmp_path / "broken")
    assert verdict.headline == "failed"
    assert "micro_batch_size = 8" in verdict.sentence
    assert "D034" in [finding.rule for finding in verdict.machine]  # a busy machine finds more
    assert "C231" in [diagnosis.cause for diagnosis in verdict.machine_diagnoses]
    assert verdict.changes["R370"] == "micro_batch_size None -> 8"
    resume(tmp_path / "broken")
    assert compare_runs(tmp_path / "unbroken", tmp_path / "broken").differences == []
    assert "D034" not in [finding.rule for finding in judge(tmp_path / "broken").machine]


def test_a_resume_may_change_what_only_memory_depends_on(tmp_path: Path, capsys: Output) -> None:
    run = tmp_path / "run"
    train(_config(total_samples=48, advantage="group"), run)
    flags = ["--micro-batch-size", "8", "--model.recompute", "true", "--model.chunk", "2"]
    flags += ["--sample-at-once", "4", "--total-samples", "96"]
    assert main(["train", "--resume", str(run), "--quiet", *flags]) == 0
    now = RunReader.open(run).config_in_force()
    assert now.value_of("micro_batch_size") == 8
    assert now.value_of("model.recompute") is True
    # The same completions earn the same, however they are cut up.
    train(_config(advantage="group"), tmp_path / "whole")
    returns = [
        [step.signals["rollout.return_mean"] for step in RunReader.open(path).steps()]
        for path in (run, tmp_path / "whole")
    ]
    assert returns[0][:4] == returns[1][:4]
    capsys.readouterr()
    assert main(["train", "--resume", str(run), "--learning-rate", "1"]) == 2
    told = "Only total_samples and checkpoints.every and micro_batch_size"
    assert told in capsys.readouterr().err


def test_activations_are_computed_again_if_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    again: list[Any] = []
    works = modeling_utils.checkpoint

    def counted(*arguments: Any, **settings: Any) -> Any:
        again.append(torch.is_grad_enabled())
        return works(*arguments, **settings)

    monkeypatch.setattr(modeling_utils, "checkpoint", counted)
    plain = next(prepare(_config()).steps)
    assert not any(again)
    recomputed = next(prepare(_config(model__recompute=True)).steps)
    assert any(again)
    assert recomputed.signals["policy.loss"] == pytest.approx(
        plain.signals["policy.loss"], abs=1e-4
    )


def test_what_fits_is_half_of_what_is_in_force() -> None:
    update = what_fits(_config(micro_batch_size=6, model__chunk=64), sampling=False)
    assert update == [
        ("micro_batch_size", 3, 6),
        ("model.recompute", True, False),
        ("model.chunk", 32, 64),
    ]
    least = _config(micro_batch_size=1, model__chunk=1, model__recompute=True)
    assert what_fits(least, sampling=False) == []
    # Without a micro-batch the passes that only read take fewer at once than a whole large batch.
    large = _config(prompts_per_update=256)
    assert what_fits(large, sampling=False)[0] == ("micro_batch_size", 64, "all")
    assert what_fits(_config(), sampling=True) == [("sample_at_once", 256, 512)]
    assert what_fits(_config(sample_at_once=5), sampling=True) == [("sample_at_once", 4, 5)]
    assert what_fits(_config(sample_at_once=4), sampling=True) == []


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError(ON_GPU),
        RuntimeError(ON_CPU),
        RuntimeError("MPS backend out of memory (MPS allocated: 9 GB)"),
        RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate"),
        MemoryError("Unable to allocate 3 GiB for an array"),
    ],
    ids=lambda error: str(error)[:20],
)
def test_every_way_to_run_out_of_memory_is_recognised(error: Any) -> None:
    found = out_of_memory(error, _config())
    assert found is not None
    assert found.exit_code == 1
    assert "micro_batch_size = 8 (all now)" in str(found)


def test_the_wanted_amount_is_told_and_other_errors_are_left_alone() -> None:
    assert "(it wanted 2.50 GiB more)" in str(
        out_of_memory(torch.OutOfMemoryError(ON_GPU), _config())
    )
    assert "(it wanted 4000000 bytes more)" in str(out_of_memory(RuntimeError(ON_CPU), _config()))
    assert out_of_memory(RuntimeError("shapes do not match"), _config()) is None
    least = _config(micro_batch_size=1, model__chunk=1, model__recompute=True)
    assert "a smaller model would fit" in str(out_of_memory(MemoryError(), least))


def test_out_of_memory_while_sampling_speaks_of_sampling(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    _failing(monkeypatch, generation, "choose", MemoryError("no room"), call=9)
    file = tmp_path / "config.yaml"
    file.write_text(_config().to_yaml(), encoding="utf-8")
    arguments = ["train", str(file), "--runs", str(tmp_path), "--name", "run", "--quiet"]
    assert main(arguments) == 1
    first, second, *_ = capsys.readouterr().err.splitlines()
    assert first.startswith("error: out of memory while completions were sampled.")
    assert second.endswith(f"steadyrl train --resume {tmp_path / 'run'} --sample-at-once 256")


def test_an_error_that_is_a_bug_is_not_dressed_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _failing(monkeypatch, ppo, "losses_of", RuntimeError("shapes do not match"), call=1)
    with pytest.raises(RuntimeError, match="shapes do not match"):
        train(_config(), tmp_path / "run")


def test_a_scorer_that_fails_midway_ends_the_run_with_all_its_steps_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = _config()
    train(config, tmp_path / "unbroken")
    with monkeypatch.context() as patch:
        # 16 completions an update, and two times 8 held-out problems after the third.
        error = EnvironmentFault("scorer 'mine' raised KeyError")
        _failing(patch, ProblemSet, "score", error, call=3 * 16 + 16 + 5)
        with pytest.raises(EnvironmentFault, match="KeyError"):
            train(config, tmp_path / "broken")
    assert RunReader.open(tmp_path / "broken").checkpoints.steps()[-1] == 3
    resume(tmp_path / "broken")
    assert compare_runs(tmp_path / "unbroken", tmp_path / "broken").differences == []


def test_a_run_with_adapters_and_the_verifier_goes_on_exactly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sums = [{"prompt": f"{a}+{b}=", "answer": a + b} for a in range(10) for b in range(10)]
    file = tmp_path / "sums.jsonl"
    file.write_text("\n".join(map(json.dumps, sums)), encoding="utf-8")
    config = _config(
        advantage="group",
        model__lora_rank=2,
        problems__name="jsonl",
        problems__path=str(file),
        problems__scorer="math-verify",
    )
    train(config, tmp_path / "unbroken")
    with monkeypatch.context() as patch:
        _failing(patch, ppo, "losses_of", MemoryError(), call=7)
        with pytest.raises(OutOfMemory):
            train(config, tmp_path / "broken")
    resume(tmp_path / "broken")
    assert compare_runs(tmp_path / "unbroken", tmp_path / "broken").differences == []
