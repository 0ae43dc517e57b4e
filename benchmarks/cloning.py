"""Behaviour cloning against `imitation`: gradient steps per second on the same 418 transitions.

The same network (two layers of 32), batch (32), objective (likelihood with one deviation for all
states) and passes over the data in turn; one thread each, interleaved, median of the ratios. Run it
on an idle machine.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

from common import ROOT, conclude, run_json

import steadyrl
from steadyrl.algorithms.common.training import prepare
from steadyrl.core.presets import parse_config
from steadyrl.environments.demonstrated import scripted_demonstrations
from steadyrl.experience.demonstration_files import write_npz

PEER = ROOT / ".venv-imitation" / "bin" / "python"
BATCHES = (32, 256)


def ours(file: Path, batch: int, steps: int) -> float:
    """Gradient steps per second, everything that a Step measures included."""
    config = parse_config(
        {
            "algorithm": "bc",
            "total_gradient_steps": steps + 200,
            "log_every": 200,
            "demonstrations": {"path": str(file)},
            "hidden_sizes": [32, 32],
            "activation": "tanh",
            "std": "global",
            "batch_size": batch,
            "sampling": "epoch",
            "learning_rate": 1e-3,
        }
    )
    marks = [(step.taken, time.perf_counter()) for step in prepare(config).steps]
    first, last = marks[0], marks[-1]
    return (last[0] - first[0]) / (last[1] - first[1])


def main() -> None:
    """Measure, interleaved."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="1 round, keep nothing")
    parser.add_argument("--json", action="store_true", help="only the last line")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    if not PEER.exists():
        sys.exit("imitation is not installed: run 'make bench-imitation-env' first")
    results: dict[str, object] = {"versions": {"steadyrl": steadyrl.__version__}}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "demo.npz"
        write_npz(scripted_demonstrations(1, 418, 0), file)
        for batch in BATCHES:
            mine, theirs = [], []
            for _ in range(1 if arguments.quick else arguments.rounds):
                mine.append(ours(file, batch, 3000))
                script = ROOT / "benchmarks" / "peers" / "imitation_bc.py"
                found = run_json(PEER, script, file, "--batch", batch)
                theirs.append(found["steps_per_second"])
            ratios = [a / b for a, b in zip(mine, theirs, strict=True)]
            results[f"batch {batch}"] = {
                "ours_steps_per_second": round(statistics.median(mine)),
                "imitation_steps_per_second": round(statistics.median(theirs)),
                "ratio": round(statistics.median(ratios), 2),
                "ratio_range": [round(min(ratios), 2), round(max(ratios), 2)],
            }
            if not arguments.json:
                sys.stderr.write(f"batch {batch}: {results[f'batch {batch}']}\n")
    conclude("speed_cloning", results, keep=not arguments.quick)


if __name__ == "__main__":
    main()
