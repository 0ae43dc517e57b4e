"""Who is killed by kills.py: every algorithm, and every command that writes, made small."""

from __future__ import annotations

import importlib
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import transformers  # noqa: F401 - all that is slow to import, before the forks
import yaml
from common import ROOT

import steadyrl.environments  # noqa: F401
from steadyrl.cli.main import main as steadyrl_main
from steadyrl.core.registry import ALGORITHMS, trainer_of
from steadyrl.experiments.executor import LocalExecutor
from steadyrl.experiments.fault_bench import SUITES
from steadyrl.experiments.fault_bench.bench import run_bench, summarise, write_results
from steadyrl.experiments.fault_bench.suite import Suite
from steadyrl.store.checkpoints import has_checkpoint

sys.path.insert(0, str(ROOT))
importlib.import_module("tests.conftest")  # registers the patient's environment
for _name in ALGORITHMS:
    trainer_of(_name)

NETWORK = {"hidden_sizes": [16, 16]}
OFTEN = {"evaluation": {"every": 100, "episodes": 2}, "checkpoints": {"every": 60}}
PENDULUM = {"environment": {"id": "Pendulum-v1"}, **NETWORK, **OFTEN}
CARTPOLE = {
    "environment": {"id": "CartPole-v1", "count": 2},
    "total_env_steps": 800,
    "rollout_length": 16,
    **NETWORK,
    "evaluation": {"every": 200, "episodes": 2},
    "checkpoints": {"every": 80},
}
DDPG: dict[str, Any] = {
    "algorithm": "ddpg",
    "total_env_steps": 600,
    "log_every": 20,
    "batch_size": 16,
    "buffer_size": 400,
    "learning_starts": 40,
    **PENDULUM,
}
PPO: dict[str, Any] = {"algorithm": "ppo", "minibatch_size": 16, "epochs": 2, **CARTPOLE}
CONFIGS: Mapping[str, dict[str, Any]] = {
    "ddpg": DDPG | {"replay": "prioritised"},
    "ppo": PPO,
    "trpo": {"algorithm": "trpo", **CARTPOLE},
    "replay": PPO | {"replay": {"enabled": True}},
    "cloning": {
        "algorithm": "bc",
        "total_gradient_steps": 600,
        "log_every": 25,
        "batch_size": 16,
        "demonstrations": {"trajectories": 3},
        **NETWORK,
        "evaluation": {"episodes": 0},
        "checkpoints": {"every": 60},
    },
    "language": {
        "algorithm": "language",
        "total_samples": 48,
        "model": {"layers": 1, "width": 16, "heads": 2},
        "problems": {"digits": 1, "max_new_tokens": 4},
        "prompts_per_update": 2,
        "samples_per_prompt": 4,
        "epochs": 2,
        "evaluation": {"every": 16, "episodes": 4},
        "checkpoints": {"every": 16},
    },
}
SHORT = DDPG | {"total_env_steps": 200}
# A target that never follows, where that costs most: found out, tried, and proved on fresh seeds.
SICK: dict[str, Any] = {
    "algorithm": "ddpg",
    "environment": {"id": "test/Investment-v0"},
    "tau": 0.0,
    "total_env_steps": 500,
    "log_every": 25,
    "batch_size": 32,
    "hidden_sizes": [32, 32],
    "learning_starts": 100,
    "learning_rate": 3e-3,
    "evaluation": {"every": 100, "episodes": 2},
    "checkpoints": {"every": 100},
}
Begin = Callable[[Path], int]  # does the work in a folder, or goes on with it


@dataclass(frozen=True)
class Victim:
    """A command, and the file that holds its result."""

    begin: Begin
    result: str | None = None


def _trained(config: dict[str, Any]) -> Begin:
    def begin(folder: Path) -> int:
        run, file = folder / "run", folder / "config.yaml"
        if has_checkpoint(run):
            return steadyrl_main(["train", "--resume", str(run), "--quiet"])
        shutil.rmtree(run, ignore_errors=True)  # killed before its first checkpoint
        _write(file, config)
        return steadyrl_main(
            ["train", str(file), "--runs", str(folder), "--name", "run", "--quiet"]
        )

    return begin


def _experiment(config: dict[str, Any], *command: str, configs: int = 1) -> Begin:
    def begin(folder: Path) -> int:
        files = [folder / f"config-{number}.yaml" for number in range(configs)]
        for number, file in enumerate(files):
            _write(file, config | {"batch_size": 16 * (number + 1)})
        name, *flags = command
        place = ["--output", str(folder / "result"), "--workers", "1"]
        code = steadyrl_main([name, *map(str, files), *flags, *place])
        return 0 if code in (0, 1) else code  # 1: nothing was verified, or recommended

    return begin


def _study(folder: Path) -> int:
    place = ["--output", str(folder / "result"), "--workers", "1"]
    return steadyrl_main(["study", "C10", "--quick", "--seeds", "1", *place])


def _bench(folder: Path) -> int:
    """The cloning suite, cut down to one fault and one control of a few hundred steps."""
    whole = SUITES["cloning"]
    patient, base = next(iter(whole.patients.items()))
    short = {**base, "total_gradient_steps": 400, "checkpoints": {"every": 60}}
    fault = next(fault for fault in whole.faults if patient in fault.patients)
    suite: Suite = replace(
        whole,
        patients={patient: short},
        healthy={},
        special=(),
        faults=(replace(fault, patients=(patient,)),),
    )
    where = folder / "result"
    judged = run_bench(
        suite, where, seeds=1, healthy_seeds=1, executor=LocalExecutor(1), say=lambda _: None
    )
    write_results(summarise(judged), where / "results.json")
    return 0


def _report(folder: Path) -> int:
    run = folder / "run"
    if not (run / "summary.json").is_file():
        shutil.rmtree(run, ignore_errors=True)
        code = _trained(SHORT)(folder)
        if code:
            return code
    return steadyrl_main(["report", str(run), "--output", str(folder / "page.html")])


def _write(file: Path, config: dict[str, Any]) -> None:
    scratch = file.with_suffix(".partial")
    scratch.write_text(yaml.safe_dump(config), encoding="utf-8")
    scratch.replace(file)


VICTIMS: Mapping[str, Victim] = {
    **{name: Victim(_trained(config)) for name, config in CONFIGS.items()},
    "rescue": Victim(_experiment(SICK, "rescue", "--seeds", "3"), "result/rescue.json"),
    "ladder": Victim(
        _experiment(SHORT, "ladder", "--batch-sizes", "16,32", "--seeds", "5"), "result/ladder.json"
    ),
    "compare": Victim(
        _experiment(SHORT, "compare", "--seeds", "2", configs=2), "result/compare.json"
    ),
    "study": Victim(_study, "result/result.json"),
    "bench": Victim(_bench, "result/results.json"),
    "report": Victim(_report),
}
