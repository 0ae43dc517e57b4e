"""One run in two processes, also with sharded weights: gradients and Steps are those of one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from steadyrl.algorithms.common.training import prepare
from steadyrl.core.errors import ConfigError
from steadyrl.core.presets import parse_config
from steadyrl.core.records import Step
from steadyrl.nets.processes import ALONE, Processes, joined
from steadyrl.run import resume, train
from steadyrl.store.reader import RunReader
from tests.unit import language_processes

REPOSITORY = Path(__file__).parents[2]


_SHARDED = ["--use_fsdp", "--fsdp_version=2", "--fsdp_auto_wrap_policy=TRANSFORMER_BASED_WRAP"]
PAIRS = {"whole": ["--multi_gpu"], "sharded": _SHARDED}  # what each of the two processes holds
Folders = dict[str, Path]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    """What one process and what pairs of two have left behind."""
    found = {name: tmp_path_factory.mktemp(name) for name in ("one", *PAIRS)}
    for folder in found.values():
        language_processes.write_problems(folder)
    with ExitStack() as stack:
        pairs = [stack.enter_context(_launched(found[name], PAIRS[name])) for name in PAIRS]
        language_processes.run_all(found["one"])  # at the same time
        for pair in pairs:
            _, complaints = pair.communicate(timeout=600)
            assert pair.returncode == 0, complaints
    return found


def _launched(
    folder: Path, kind: list[str], *program: str, **environment: str
) -> subprocess.Popen[str]:
    places = os.pathsep.join([str(REPOSITORY / "src"), str(REPOSITORY)])
    command = [sys.executable, "-m", "accelerate.commands.accelerate_cli", "launch", *kind]
    command += ["--num_processes=2", "--num_machines=1", "--main_process_port=0"]
    command += ["--mixed_precision=no", "--dynamo_backend=no", "-m"]
    command += program or (language_processes.__name__, str(folder))
    environment |= {"PYTHONPATH": places, "HF_HOME": str(folder / "no-user-settings")}
    environment = {**os.environ, **environment}
    return subprocess.Popen(command, env=environment, cwd=folder, stderr=subprocess.PIPE, text=True)


def _told(folder: Path, rank: int) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / f"rank-{rank}.json").read_text("utf-8"))
    return found


def _files(run: Path) -> Counter[Path]:
    """How many files of which kind; TensorBoard's are named after moment and process."""
    found = [path.relative_to(run) for path in run.rglob("*") if path.is_file()]
    return Counter(path.parent if path.parent.name == "tensorboard" else path for path in found)


def _steps(run: Path) -> list[Step]:
    return list(RunReader.open(run).steps())


def _assert_same(ours: list[Step], theirs: list[Step]) -> None:
    """But for what a clock says, and for last digits."""
    assert len(ours) == len(theirs) > 0
    for one, two in zip(ours, theirs, strict=True):
        assert (one.index, one.taken) == (two.index, two.taken)
        measured = [name for name in one.signals if not name.startswith(("time.", "machine."))]
        assert {name: two.signals[name] for name in measured} == pytest.approx(
            {name: one.signals[name] for name in measured}, rel=1e-3, abs=1e-5
        )


@pytest.mark.parametrize("name", language_processes.GRADIENTS)
@pytest.mark.parametrize("kind", PAIRS)
def test_two_processes_find_the_gradient_of_one(folders: Folders, kind: str, name: str) -> None:
    pair = (folders["one"], folders[kind])
    np.testing.assert_array_equal(*(np.load(folder / f"tokens-{name}.npy") for folder in pair))
    one, two = (np.load(folder / f"gradient-{name}.npy") for folder in pair)
    assert np.linalg.norm(one) > 0
    assert np.linalg.norm(one - two) / np.linalg.norm(one) < 1e-5


@pytest.mark.parametrize("name", ["ppo", "grpo", "healed"])
@pytest.mark.parametrize("kind", PAIRS)
def test_two_processes_make_the_steps_of_one(folders: Folders, kind: str, name: str) -> None:
    one, two = (_steps(folders[place] / name) for place in ("one", kind))
    _assert_same(one, two)
    assert one[-1].signals["policy.gradient_norm"] > 0


@pytest.mark.parametrize("kind", ["one", *PAIRS])
def test_a_run_that_was_stopped_goes_on_as_if_it_had_not_been(folders: Folders, kind: str) -> None:
    folder = folders[kind]
    assert "resumed" in [event["event"] for event in RunReader.open(folder / "resumed").events()]
    _assert_same(_steps(folder / "grpo"), _steps(folder / "resumed"))


@pytest.mark.parametrize("kind", ["one", *PAIRS])
def test_where_one_process_diverges_all_go_back_and_on_with_the_remedy(
    folders: Folders, kind: str
) -> None:
    run = RunReader.open(folders[kind] / "healed")
    summary = run.summary()
    assert summary is not None
    assert summary["status"] == "finished"
    assert [change.name for change in run.changes()] == ["epochs"]
    assert any(event["event"] == "action" for event in run.events())


@pytest.mark.parametrize("kind", PAIRS)
def test_a_failure_in_one_process_is_told_once_and_ends_all(folders: Folders, kind: str) -> None:
    leader, follower = (dict(_told(folders[kind], rank)["errors"]) for rank in (0, 1))
    leaders, followers = (errors.pop("stranded") for errors in (leader, follower))
    assert "no score today" in leader["failed"]
    assert leader["failed"].startswith("EnvironmentFault")
    assert "there is a run here already" in leader["taken"]
    assert "cannot be shared by 2 processes" in leader["too_small"]
    assert leader["out_of_memory"].startswith("OutOfMemory")
    assert "sample_at_once" in leader["out_of_memory"]  # what would fit
    assert leader.keys() == follower.keys() == {"failed", "taken", "too_small", "out_of_memory"}
    for problem in follower.values():
        assert problem.startswith("LeaderFailed: the first process has failed")
    if kind == "sharded":  # nobody else could be told in the middle of a pass
        leaders, followers = followers, leaders
        assert followers.startswith("WorkerLost: process 0 has lost another one")
    else:
        assert followers.startswith("LeaderFailed: the first process has failed")
    assert leaders.startswith("OutOfMemory")
    assert "micro_batch_size" in leaders


@pytest.mark.parametrize("kind", PAIRS)
def test_one_process_goes_on_where_two_had_to_stop(
    folders: Folders, kind: str, tmp_path: Path
) -> None:
    shutil.copytree(folders[kind] / "stranded", tmp_path / "run")
    assert len(_steps(tmp_path / "run")) == 1
    assert resume(tmp_path / "run").status == "finished"
    _assert_same(_steps(folders["one"] / "grpo"), _steps(tmp_path / "run"))


@pytest.mark.slow
@pytest.mark.parametrize("kind", PAIRS)
@pytest.mark.parametrize("rank", [0, 1])
def test_where_one_of_two_processes_is_killed_the_other_says_so_and_the_run_goes_on(
    rank: int, kind: str, tmp_path: Path
) -> None:
    language_processes.write_problems(tmp_path)
    config = language_processes.config(tmp_path, "deadly", **language_processes.GRPO)
    (tmp_path / "my.yaml").write_text(config.to_yaml(), encoding="utf-8")
    command = ["steadyrl", "train", "my.yaml", "--runs", ".", "--name", "run", "--quiet"]
    killed = {language_processes.KILLED: str(rank)}
    with _launched(tmp_path, PAIRS[kind], *command, **killed) as pair:
        _, said = pair.communicate(timeout=600)
    assert pair.returncode != 0
    assert f"error: process {1 - rank} has lost another one, which was killed" in said
    if rank == 1:  # whoever leads knows how to go on
        assert "continue with: steadyrl train --resume run" in said
        assert (RunReader.open(tmp_path / "run").summary() or {})["status"] == "failed"
    made = _steps(tmp_path / "run")
    assert 0 < len(made) < 4
    train(config, tmp_path / "unbroken")
    assert resume(tmp_path / "run").status == "finished"
    _assert_same(_steps(tmp_path / "unbroken"), _steps(tmp_path / "run"))


@pytest.mark.parametrize("kind", PAIRS)
def test_only_the_first_process_writes_and_speaks(folders: Folders, kind: str) -> None:
    one, two = folders["one"], folders[kind]
    printed = _told(two, 0)["printed"]
    assert "finished" in printed
    assert printed.count("there is a run here already") == 1
    assert _told(two, 1)["printed"] == ""
    for name in ("ppo", "grpo", "resumed", "healed"):
        steps, more_steps = (folder / name / "steps.jsonl" for folder in (one, two))
        assert len(steps.read_text("utf-8").splitlines()) == 4
        assert len(more_steps.read_text("utf-8").splitlines()) == 4
        assert _files(one / name) == _files(two / name)


@pytest.mark.parametrize("together", [1, 4])
@pytest.mark.parametrize("rows", [slice(0, 20), slice(20, 40), slice(4, 8), slice(0, 1)])
def test_shares_make_up_the_rows_and_keep_samples_of_one_prompt_together(
    rows: slice, together: int
) -> None:
    shares = []
    for rank in range(3):
        process = Processes()
        process.rank, process.count = rank, 3
        shares.append(process.share(rows, together))
    ends = [rows.start, *(share.stop for share in shares)]
    assert [share.start for share in shares] == ends[:-1]
    assert ends[-1] == rows.stop
    if rows.stop - rows.start == 20 and together == 4:
        assert all(share.start % 4 == 0 for share in shares)
    lengths = [share.stop - share.start for share in shares]
    assert max(lengths) - min(lengths) <= together


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ({"ACCELERATE_MIXED_PRECISION": "bf16"}, r"compute\.precision"),
        ({"ACCELERATE_USE_DEEPSPEED": "true"}, "DeepSpeed.*distributed_type: FSDP"),
        ({"ACCELERATE_USE_MEGATRON_LM": "true"}, "Megatron-LM"),
        ({"FSDP_VERSION": "1"}, "fsdp_version: 2"),
        ({"FSDP_OFFLOAD_PARAMS": "true"}, "fsdp_offload_params = true"),
        ({"FSDP_ACTIVATION_CHECKPOINTING": "true"}, r"model\.recompute"),
        ({"FSDP_AUTO_WRAP_POLICY": "SIZE_BASED_WRAP"}, "TRANSFORMER_BASED_WRAP"),
    ],
)
def test_what_an_accelerate_config_asks_for_and_would_not_get_is_refused(
    monkeypatch: pytest.MonkeyPatch, asked: dict[str, str], answer: str
) -> None:
    device = torch.device("cpu")
    assert joined(device) is ALONE
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    if any(name.startswith("FSDP") for name in asked):
        asked = {"ACCELERATE_USE_FSDP": "true", "FSDP_VERSION": "2", **asked}
    for name, value in asked.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError, match=answer):
        joined(device)


def test_algorithms_that_train_in_one_process_refuse_several(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    config = parse_config({"algorithm": "bc", "demonstrations": {"expert_length": 20}})
    with pytest.raises(ConfigError, match="2 processes were launched"):
        prepare(config)
