"""What watching costs: the same run with and without the monitor, paired and interleaved."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

from common import ONE_THREAD, conclude

STEPS = 4000


def main() -> None:
    """Median over pairs of (watched - unwatched) / unwatched."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="2 pairs, fewer steps")
    parser.add_argument("--json", action="store_true", help="only the last line")
    parser.add_argument("--pairs", type=int, default=7)
    arguments = parser.parse_args()
    pairs, steps = (2, 1500) if arguments.quick else (arguments.pairs, STEPS)
    shares = []
    for pair in range(pairs):
        order = ("off", "watch") if pair % 2 else ("watch", "off")  # drift must not favour one
        seconds = {guard: _seconds(guard, steps) for guard in order}
        shares.append(seconds["watch"] / seconds["off"] - 1.0)
        if not arguments.json:
            sys.stdout.write(f"pair {pair}: {seconds} overhead {shares[-1]:+.2%}\n")
            sys.stdout.flush()
    result = {
        "overhead": statistics.median(shares),
        "range": [min(shares), max(shares)],
        "pairs": pairs,
        "environment": "Pendulum-v1",
        "env_steps": steps,
    }
    conclude("overhead_watch", result, keep=not arguments.quick)


def _seconds(guard: str, steps: int) -> float:
    """CPU seconds of a whole training process, which other programs disturb less than the clock."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", SCRIPT, guard, str(steps), folder]
        environment = {**os.environ, **ONE_THREAD}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
        return float(json.loads(done.stdout.strip().splitlines()[-1]))


SCRIPT = """
import json, sys, time
from steadyrl.core.configs import load_config
from steadyrl.run import train
guard, steps, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
config = load_config("ddpg/pendulum", {"total_env_steps": steps, "batch_size": 64})
started = time.process_time()
train(config, folder / "run", guard=guard)
print(json.dumps(time.process_time() - started))
"""


if __name__ == "__main__":
    main()
