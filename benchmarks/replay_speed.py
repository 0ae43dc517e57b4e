"""Drawing from a prioritised buffer: ours against cpprb's, interleaved in one run.

Buffers of 1,000, 100,000 and a million items of 8 floats are full; 256 are drawn by priority with
their weights, and get new priorities. Every side in a process of its own, one after the other,
several rounds; medians of the rounds, and of each round's ratio to the faster peer.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path
from typing import Any

from common import PEER_PYTHON, conclude, require_peers, run_json

SIZES = (1_000, 100_000, 1_000_000)
PEERS = ("cpprb",)  # TorchRL 0.14's trees do not load beside torch 2.13: see replay_sides.py
SCRIPT = Path(__file__).with_name("replay_sides.py")


def measure(size: int, rounds: int, repeats: int) -> dict[str, Any]:
    """All sides in turn."""
    found: dict[str, list[dict[str, float]]] = {side: [] for side in ("ours", *PEERS)}
    for _ in range(rounds):
        for side, results in found.items():
            python = sys.executable if side == "ours" else PEER_PYTHON
            results.append(run_json(python, SCRIPT, side, size, repeats))
    ratios = [
        min(found[peer][at]["microseconds"] for peer in PEERS) / found["ours"][at]["microseconds"]
        for at in range(rounds)
    ]
    return {
        **{
            side: {
                name: round(statistics.median(result[name] for result in results), 1)
                for name in ("microseconds", "megabytes")
            }
            for side, results in found.items()
        },
        "ratio": round(statistics.median(ratios), 2),
        "ratio_range": [round(min(ratios), 2), round(max(ratios), 2)],
    }


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one short round")
    parser.add_argument("--json", action="store_true", help="only the last line")
    arguments = parser.parse_args()
    require_peers()
    rounds, repeats = (1, 30) if arguments.quick else (5, 100)
    found = {}
    for size in SIZES:
        found[f"{size:,} items"] = measure(size, rounds, repeats)
        if not arguments.json:
            sys.stdout.write(f"{size:>9,} items: {found[f'{size:,} items']}\n")
            sys.stdout.flush()
    conclude("replay_speed", {"rounds": rounds, **found}, keep=not arguments.quick)


if __name__ == "__main__":
    main()
