"""What all benchmarks share: the peers' interpreter, the machine's description, the last line."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch

from steadyrl.core.machine import commit, processor
from steadyrl.core.records import without_nan
from steadyrl.maths.statistics import SignFlips

ROOT = Path(__file__).resolve().parent.parent
PEER_PYTHON = ROOT / ".venv-bench" / "bin" / "python"
SBX_PYTHON = ROOT / ".venv-sbx" / "bin" / "python"  # jax wants other versions than the others
ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"}

# How accelerate launches two processes of which each holds all weights, or its shards of them.
PAIRS = {
    "2 processes": ["--multi_gpu"],
    "2 processes, weights in shards": [
        "--use_fsdp",
        "--fsdp_version=2",
        "--fsdp_auto_wrap_policy=TRANSFORMER_BASED_WRAP",
    ],
}


def run_json(
    python: Path | str, script: Path, *arguments: object, environment: dict[str, str] | None = None
) -> dict[str, Any]:
    """Run a script, on one thread unless told otherwise, and read the JSON on its last line."""
    command = [str(python), str(script), *map(str, arguments)]
    # What importing steadyrl has set here is not for other programs.
    own = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")
    inherited = {name: value for name, value in os.environ.items() if name not in own}
    environment = {**inherited, **(environment or ONE_THREAD)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr}")
    result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return result


def two_at_a_time(work: Iterable[Callable[[], dict[str, Any]]]) -> list[dict[str, Any]]:
    """Results of other processes in the order of the work; neither core waits for a slower side."""
    with ThreadPoolExecutor(2) as pool:
        return [job.result() for job in [pool.submit(one) for one in work]]


def in_two_processes(kind: str, script: str, *arguments: object) -> None:
    """Run a script in two processes that train together, each holding what `kind` says."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "accelerate.commands.accelerate_cli", "launch"]
        command += [*PAIRS[kind], "--num_processes=2", "--num_machines=1"]
        command += ["--mixed_precision=no", "--dynamo_backend=no", "--main_process_port=0"]
        command += [script, *map(str, arguments)]
        environment = {**os.environ, "HF_HOME": folder}  # no accelerate config of the user's
        subprocess.run(command, check=True, env=environment)


def require_peers(*pythons: Path) -> None:
    """Stop with the remedy if the peers are not installed."""
    if not all(python.exists() for python in (PEER_PYTHON, *pythons)):
        sys.exit("the peers are not installed: run 'make bench-env bench-sbx-env' first")


def ratio(ours: list[float], theirs: list[float]) -> dict[str, Any]:
    """Median and range of each round's ratio, and the median rates."""
    ratios = [o / t for o, t in zip(ours, theirs, strict=True)]
    return {
        "steps_per_second": round(statistics.median(theirs), 1),
        "ratio": round(statistics.median(ratios), 3),
        "ratio_range": [round(min(ratios), 3), round(max(ratios), 3)],
    }


def paired(ours: list[float], theirs: list[float]) -> dict[str, Any]:
    """Means of two sides and their difference seed by seed; its interval is null below 6 seeds."""
    test = SignFlips((len(ours),))
    differences = np.array(ours) - np.array(theirs)
    found = test.interval(differences)
    record: dict[str, Any] = without_nan(
        {
            "ours": float(np.mean(ours)),
            "theirs": float(np.mean(theirs)),
            "difference": found.value,
            "interval": [found.low, found.high],
            "p_value": test.p_value(differences),
            "scores": {"ours": ours, "theirs": theirs},
        }
    )
    return record


def machine() -> dict[str, Any]:
    """What a figure must be read with."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "cpu": processor(),
        "vectors": torch.backends.cpu.get_cpu_capability(),  # ratios depend on it
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "commit": commit(),
    }


def conclude(name: str, result: dict[str, Any], *, keep: bool) -> None:
    """Store the result if it is a full one, and print it as the last line."""
    result = {"benchmark": name, **result, "machine": machine()}
    if keep:
        file = ROOT / "benchmarks" / "results" / f"{name}.json"
        file.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    sys.stdout.write(json.dumps(result) + "\n")
