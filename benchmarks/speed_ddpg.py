"""Environment steps per second: our DDPG and TD3 against Stable-Baselines3's and SBX's, in one run.

Same environment (Pendulum-v1), networks (256, 256), batch, one update per step, one thread. Each
round measures the pure matrix products, ours, SB3, SBX and ours without a compiler one after the
other; figures are medians over rounds. Run it on an idle machine.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path
from typing import Any

from common import PEER_PYTHON, SBX_PYTHON, conclude, ratio, require_peers, run_json

HERE = Path(__file__).resolve().parent
STEPS = {64: 2300, 256: 1500, 1024: 700}
TD3 = ("--twin-critics", "--policy-delay", 2, "--target-noise", 0.2)


def main() -> None:
    """Measure all batch sizes and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="1 round, fewer steps")
    parser.add_argument("--json", action="store_true", help="only the last line")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batch-sizes", type=int, nargs="+", default=[64, 256, 1024])
    parser.add_argument("--algorithm", choices=["ddpg", "td3"], default="ddpg")
    parser.add_argument("--bf16", action="store_true", help="also ours in bf16 (needs native bf16)")
    arguments = parser.parse_args()
    require_peers(SBX_PYTHON)
    rounds = 1 if arguments.quick else arguments.rounds
    results, versions = {}, {}
    for size in arguments.batch_sizes:
        steps = STEPS.get(size, 1000) if not arguments.quick else 600
        flags = ("--batch-size", size, "--steps", steps)
        names = ("ours", "sb3", "sbx", "uncompiled")
        samples: dict[str, list[float]] = {name: [] for name in ("products", *names)}
        if arguments.bf16:
            samples["ours_bf16"] = []
        for _ in range(rounds):
            floor = run_json(sys.executable, HERE / "matmul_share.py", "--batch-size", size)
            samples["products"].append(floor["seconds"])
            for name in (*names, "ours_bf16"):
                if name in samples:
                    found = _measure(name, arguments.algorithm, flags)
                    samples[name].append(found["steps_per_second"])
                    versions |= found["versions"]
        results[size] = _summary(samples)
        if not arguments.json:
            sys.stdout.write(f"batch {size}: {results[size]}\n")
            sys.stdout.flush()
    kept = not arguments.quick
    record = {"rounds": rounds, "batch": results, "versions": versions}
    conclude(f"speed_{arguments.algorithm}", record, keep=kept)


def _measure(name: str, algorithm: str, flags: tuple[Any, ...]) -> dict[str, Any]:
    if name == "sb3":
        script = HERE / "peers" / "sb3_ddpg.py"
        return run_json(PEER_PYTHON, script, *flags, "--algorithm", algorithm)
    if name == "sbx":
        script = HERE / "peers" / "sbx_speed.py"
        return run_json(SBX_PYTHON, script, *flags, "--algorithm", algorithm)
    precision = "bf16" if name == "ours_bf16" else "fp32"
    extra = TD3 if algorithm == "td3" else ()
    if name == "uncompiled":
        extra += ("--uncompiled",)
    script = HERE / "ours_ddpg.py"
    return run_json(sys.executable, script, *flags, *extra, "--precision", precision)


def _summary(samples: dict[str, list[float]]) -> dict[str, Any]:
    ours = samples["ours"]
    summary: dict[str, Any] = {"ours": {"steps_per_second": round(statistics.median(ours), 1)}}
    for name in ("sb3", "sbx"):
        summary[name] = ratio(ours, samples[name])
    # Where there is no compiler: against the same rounds of SBX.
    summary["uncompiled"] = ratio(samples["uncompiled"], samples["sbx"]) | {
        "steps_per_second": round(statistics.median(samples["uncompiled"]), 1)
    }
    if "ours_bf16" in samples:
        summary["ours_bf16_to_sb3"] = ratio(samples["ours_bf16"], samples["sb3"])
    for name in ("ours", "sb3", "sbx"):
        shares = [p * s for p, s in zip(samples["products"], samples[name], strict=True)]
        summary[name]["matmul_share"] = round(statistics.median(shares), 3)
    return summary


main()
