"""Reading TensorBoard's event files: ours, EventAccumulator (size_guidance 0) and tbparse.

The same folder of at least 100 MB in two runs of two files each, every reader in a process of its
own, one after the other, several rounds. All must read the same values: counts and sums are
compared for every tag, and steps, times and values one by one where a file is small enough.
"""

from __future__ import annotations

import argparse
import json
import statistics
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from common import PEER_PYTHON, conclude, require_peers

from steadyrl.store.foreign.checksums import masked_crc32c

TAGS = [
    "rollout/ep_rew_mean",
    "rollout/ep_len_mean",
    "time/fps",
    "train/approx_kl",
    "train/clip_fraction",
    "train/clip_range",
    "train/entropy_loss",
    "train/explained_variance",
    "train/learning_rate",
    "train/loss",
    "train/policy_gradient_loss",
    "train/value_loss",
    "train/std",
    "eval/mean_reward",
    "eval/mean_ep_length",
]

VERSION = b"\x09" + struct.pack("<d", 1.0) + b"\x1a\x0dbrain.Event:2"

OURS = """
import json, sys, time
from pathlib import Path
from steadyrl.store.foreign.event_folder import EventFolder
start = time.perf_counter()
found = {}
for folder in sorted(p for p in Path(sys.argv[1]).iterdir()):
    for tag, series in EventFolder(folder).read().items():
        found[f"{folder.name}:{tag}"] = [len(series), float(series.values.sum())]
print(json.dumps({"seconds": time.perf_counter() - start, "found": found}))
"""
ACCUMULATOR = """
import json, sys, time
from pathlib import Path
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
start = time.perf_counter()
found = {}
for folder in sorted(p for p in Path(sys.argv[1]).iterdir()):
    events = EventAccumulator(str(folder), size_guidance={"scalars": 0}).Reload()
    for tag in events.Tags()["scalars"]:
        values = [event.value for event in events.Scalars(tag)]
        found[f"{folder.name}:{tag}"] = [len(values), float(sum(values))]
print(json.dumps({"seconds": time.perf_counter() - start, "found": found}))
"""
TBPARSE = """
import json, sys, time
from tbparse import SummaryReader
start = time.perf_counter()
table = SummaryReader(sys.argv[1], extra_columns={"dir_name"}).scalars
found = {
    f"{run}:{tag}": [len(group), float(group["value"].sum())]
    for (run, tag), group in table.groupby(["dir_name", "tag"])
}
print(json.dumps({"seconds": time.perf_counter() - start, "found": found}))
"""


def varint(value: int) -> bytes:
    """Protobuf's variable-length number."""
    parts = []
    while True:
        parts.append(value & 0x7F | (0x80 if value > 0x7F else 0))
        value >>= 7
        if not value:
            return bytes(parts)


def write_file(path: Path, steps: range, rng: np.random.Generator) -> None:
    """An event file as SummaryWriter would write it, made in one go."""
    parts = [framed(np.frombuffer(VERSION, dtype=np.uint8)[None]).tobytes()]
    by_width: dict[int, list[int]] = {}
    for step in steps:
        by_width.setdefault(len(varint(step)), []).append(step)
    for width, block in by_width.items():
        at = np.array(block)
        frames = [scalars(tag, at, width, rng.normal(size=len(at))) for tag in TAGS]
        parts.append(np.concatenate(frames, axis=1).tobytes())
    path.write_bytes(b"".join(parts))


def scalars(tag: str, steps: Any, width: int, values: Any) -> Any:
    """Frames of one tag, a row each, of steps whose numbers take `width` bytes."""
    name = tag.encode()
    value = b"\x0a" + varint(len(name)) + name + b"\x15" + bytes(4)
    summary = b"\x0a" + varint(len(value)) + value
    event = b"\x09" + bytes(8) + b"\x10" + bytes(width) + b"\x2a" + varint(len(summary)) + summary
    rows = np.tile(np.frombuffer(event, dtype=np.uint8), (len(steps), 1))
    rows[:, 1:9] = (1.7e9 + steps / 100.0).astype("<f8").view(np.uint8).reshape(-1, 8)
    for place in range(width):
        more = 0x80 if place < width - 1 else 0
        rows[:, 10 + place] = (steps >> (7 * place)) & 0x7F | more
    rows[:, -4:] = values.astype("<f4").view(np.uint8).reshape(-1, 4)
    return framed(rows)


def framed(rows: Any) -> Any:
    """Lengths and checksums around records of one length."""
    head = np.frombuffer(struct.pack("<Q", rows.shape[1]), dtype=np.uint8)[None]
    head = np.concatenate([head, masked_crc32c(head).view(np.uint8).reshape(-1, 4)], axis=1)
    tail = masked_crc32c(rows).view(np.uint8).reshape(-1, 4)
    return np.concatenate([np.repeat(head, len(rows), axis=0), rows, tail], axis=1)


def timed(python: Path | str, code: str, folder: Path) -> dict[str, Any]:
    """One reader in a process of its own."""
    done = subprocess.run(
        [str(python), "-c", code, str(folder)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"a reader failed:\n{done.stderr[-2000:]}")
    result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return result


def main() -> None:
    """Write, read, compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--megabytes", type=int, default=105)
    parser.add_argument("--quick", action="store_true", help="4 MB, one round, keep nothing")
    parser.add_argument("--json", action="store_true", help="only the last line")
    arguments = parser.parse_args()
    require_peers()
    megabytes = 4 if arguments.quick else arguments.megabytes
    rounds = 1 if arguments.quick else arguments.rounds
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        per_file = int(megabytes * 1e6 / 4 / (len(TAGS) * 56))
        rng = np.random.default_rng(0)
        for run in ("first", "second"):
            (folder / run).mkdir()
            for part in range(2):
                steps = range(part * per_file * 64, (part + 1) * per_file * 64, 64)
                write_file(folder / run / f"events.out.tfevents.{part + 1}.host", steps, rng)
        size = sum(file.stat().st_size for file in folder.rglob("*tfevents*"))
        readers = {
            "ours": (sys.executable, OURS),
            "event_accumulator": (str(PEER_PYTHON), ACCUMULATOR),
            "tbparse": (str(PEER_PYTHON), TBPARSE),
        }
        seconds: dict[str, list[float]] = {reader: [] for reader in readers}
        for number in range(rounds):
            found = {}
            for reader, (python, code) in readers.items():
                result = timed(python, code, folder)
                seconds[reader].append(result["seconds"])
                found[reader] = result["found"]
                if not arguments.json:
                    sys.stderr.write(f"round {number + 1} {reader} {result['seconds']:.2f} s\n")
            same = all(_same(found["ours"], other) for other in found.values())
            if not same:
                sys.exit("the readers do not agree")
        values = sum(count for count, _ in found["ours"].values())
    medians = {reader: statistics.median(times) for reader, times in seconds.items()}
    ratios = {
        reader: sorted(a / b for a, b in zip(times, seconds["ours"], strict=True))
        for reader, times in seconds.items()
        if reader != "ours"
    }
    conclude(
        "read_events",
        {
            "bytes": size,
            "values": values,
            "seconds": seconds,
            "median_seconds": medians,
            "times_faster_than": {
                reader: {"ratio": statistics.median(r), "ratio_range": [r[0], r[-1]]}
                for reader, r in ratios.items()
            },
        },
        keep=not arguments.quick,
    )


def _same(ours: dict[str, list[float]], other: dict[str, list[float]]) -> bool:
    """The same tags, as many values, and the same sums."""
    return ours.keys() == other.keys() and all(
        count == other[tag][0] and abs(total - other[tag][1]) <= 1e-6 * (1 + abs(total))
        for tag, (count, total) in ours.items()
    )


if __name__ == "__main__":
    main()
