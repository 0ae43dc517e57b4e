"""How much memory does each of two processes need that train a language model in shards?

Compared with two that hold all weights each. A Llama with random weights, GRPO on sums, two updates
with a checkpoint before and after them: the peak of each process over its life, the interpreter and
its libraries included.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
from pathlib import Path

from common import PAIRS, conclude, in_two_processes

from steadyrl.core.launch import launched
from steadyrl.core.presets import load_config
from steadyrl.run import train
from steadyrl.store.reader import RunReader

LAYERS, WIDTH = 8, 768


def main() -> None:
    """Both kinds of pairs, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small model, keep nothing")
    parser.add_argument("--json", action="store_true", help="only the last line")
    parser.add_argument("--into", type=Path, help=argparse.SUPPRESS)  # one of two processes
    arguments = parser.parse_args()
    quick = ["--quick"] if arguments.quick else []
    if arguments.into is not None:
        _train(arguments.into, layers=1 if quick else LAYERS)
        return
    # Else glibc keeps the layers that were let go, and the peak is above that of whole weights.
    os.environ.setdefault("MALLOC_MMAP_THRESHOLD_", "262144")
    records: dict[str, object] = {"layers": LAYERS, "width": WIDTH}
    for kind in PAIRS:
        with tempfile.TemporaryDirectory() as folder:
            in_two_processes(kind, __file__, "--into", folder, *quick)
            peaks = [float((Path(folder) / f"peak-{rank}").read_text()) for rank in (0, 1)]
            arrays = RunReader.open(Path(folder) / "run").checkpoints.path(2).glob("*.safetensors")
            # Weights and two moments of each.
            records["weights_mb"] = round(sum(file.stat().st_size for file in arrays) / 3e6)
        records[kind] = {"peaks_mb": [round(peak) for peak in peaks]}
        if not arguments.json:
            sys.stderr.write(f"{kind}: {records[kind]}\n")
    conclude("sharded_memory", records, keep=not quick)


def _train(into: Path, *, layers: int) -> None:
    config = load_config("language/tiny-grpo").replaced(
        {
            "model.layers": layers,
            "model.width": WIDTH,
            "model.heads": 12,
            "warm_start.enabled": False,
            "prompts_per_update": 4,
            "samples_per_prompt": 4,
            "epochs": 1,
            "minibatch_size": None,
            "micro_batch_size": 4,
            "total_samples": 32,
            "evaluation.episodes": 0,
            "compute.threads": 1,
        }
    )
    train(config, into / "run")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    (into / f"peak-{launched().rank}").write_text(str(peak))


if __name__ == "__main__":
    main()
