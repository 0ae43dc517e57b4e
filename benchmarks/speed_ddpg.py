"""Environment steps per second: ours against Stable-Baselines3's DDPG, interleaved in one run.

Same environment (Pendulum-v1), networks (256, 256), batch, one update per step, one thread. Each
round measures the pure matrix products, ours and SB3 one after the other; figures are medians over
rounds. Run it on an idle machine.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path
from typing import Any

from common import PEER_PYTHON, conclude, require_peers, run_json

HERE = Path(__file__).resolve().parent
STEPS = {64: 2300, 256: 1500, 1024: 700}


def main() -> None:
    """Measure all batch sizes and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="1 round, fewer steps")
    parser.add_argument("--json", action="store_true", help="only the last line")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batch-sizes", type=int, nargs="+", default=[64, 256, 1024])
    parser.add_argument("--bf16", action="store_true", help="also ours in bf16 (needs native bf16)")
    arguments = parser.parse_args()
    require_peers()
    rounds = 1 if arguments.quick else arguments.rounds
    results, versions = {}, {}
    for size in arguments.batch_sizes:
        steps = STEPS.get(size, 1000) if not arguments.quick else 600
        flags = ("--batch-size", size, "--steps", steps)
        samples: dict[str, list[float]] = {"products": [], "ours": [], "sb3": []}
        if arguments.bf16:
            samples["ours_bf16"] = []
        for _ in range(rounds):
            floor = run_json(sys.executable, HERE / "matmul_share.py", "--batch-size", size)
            samples["products"].append(floor["seconds"])
            for name in ("ours", "sb3", "ours_bf16"):
                if name in samples:
                    found = _measure(name, flags)
                    samples[name].append(found["steps_per_second"])
                    versions |= found["versions"]
        results[size] = _summary(samples)
        if not arguments.json:
            sys.stdout.write(f"batch {size}: {results[size]}\n")
            sys.stdout.flush()
    kept = not arguments.quick
    conclude("speed_ddpg", {"rounds": rounds, "batch": results, "versions": versions}, keep=kept)


def _measure(name: str, flags: tuple[Any, ...]) -> dict[str, Any]:
    if name == "sb3":
        return run_json(PEER_PYTHON, HERE / "peers" / "sb3_ddpg.py", *flags)
    precision = "bf16" if name == "ours_bf16" else "fp32"
    return run_json(sys.executable, HERE / "ours_ddpg.py", *flags, "--precision", precision)


def _summary(samples: dict[str, list[float]]) -> dict[str, Any]:
    ratios = [o / s for o, s in zip(samples["ours"], samples["sb3"], strict=True)]
    summary: dict[str, Any] = {
        "ours_steps_per_second": round(statistics.median(samples["ours"]), 1),
        "sb3_steps_per_second": round(statistics.median(samples["sb3"]), 1),
        "ratio": round(statistics.median(ratios), 3),
        "ratio_range": [round(min(ratios), 3), round(max(ratios), 3)],
    }
    for name in ("ours", "sb3"):
        shares = [p * s for p, s in zip(samples["products"], samples[name], strict=True)]
        summary[f"{name}_matmul_share"] = round(statistics.median(shares), 3)
    if "ours_bf16" in samples:
        fast = [o / s for o, s in zip(samples["ours_bf16"], samples["sb3"], strict=True)]
        summary["ratio_bf16"] = round(statistics.median(fast), 3)
    return summary


main()
