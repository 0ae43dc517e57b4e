"""What the live view costs: the share of a run's time that is spent on drawing it.

Measured inside one run, as for the monitor (overhead_watch.py): the processor's time of the thread
that draws, and what the trainer's own thread spends on telling it of its Steps. The terminal is a
pseudo-terminal that somebody reads.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import statistics
import struct
import sys
import tempfile
import termios
import threading
import time
from pathlib import Path
from typing import Any

from common import conclude
from rich.console import Console

from steadyrl.cli.progress import Frames, TrainingProgress
from steadyrl.core.presets import load_config
from steadyrl.core.records import Step
from steadyrl.run import train

SIZES = {"80 columns": 80, "200 columns": 200}


def main() -> None:
    """Median share over several runs, by width of the terminal."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="1 run, fewer steps")
    parser.add_argument("--json", action="store_true", help="only the last line")
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    runs, steps = (1, 30_000) if arguments.quick else (arguments.runs, 100_000)
    result: dict[str, Any] = {"runs": runs, "environment": f"ppo/cartpole, {steps:,} env steps"}
    for name, width in SIZES.items():
        found = [_measure(steps, width) for _ in range(runs)]
        if not arguments.json:
            sys.stdout.write(f"{name}: {found}\n")
        shares = [one["share"] for one in found]
        result[name] = {
            "share_of_run_time": statistics.median(shares),
            "range": [min(shares), max(shares)],
            "milliseconds_per_frame": statistics.median(one["frame"] for one in found),
            "microseconds_per_step": statistics.median(one["telling"] for one in found),
            "frames_per_second": statistics.median(one["rate"] for one in found),
        }
    conclude("overhead_live", result, keep=not arguments.quick)


def _measure(taken: int, width: int) -> dict[str, float]:
    spent = {"drawing": 0.0, "telling": 0.0, "frames": 0.0}
    refresh, show = Frames.refresh, TrainingProgress.show_step

    def timed_refresh(self: Frames) -> None:
        began = time.thread_time()
        refresh(self)
        spent["drawing"] += time.thread_time() - began
        spent["frames"] += 1

    def timed_show(self: TrainingProgress, step: Step) -> None:
        began = time.thread_time()
        show(self, step)
        spent["telling"] += time.thread_time() - began

    config = load_config("ppo/cartpole", {"total_env_steps": taken})
    Frames.refresh, TrainingProgress.show_step = timed_refresh, timed_show  # type: ignore[method-assign]
    try:
        with tempfile.TemporaryDirectory() as folder, _terminal(width) as console:
            began, worked = time.perf_counter(), time.process_time()
            with TrainingProgress("run", config, console=console) as progress:
                train(config, Path(folder) / "run", observers=progress.observers())
            seconds, worked = time.perf_counter() - began, time.process_time() - worked
    finally:
        Frames.refresh, TrainingProgress.show_step = refresh, show  # type: ignore[method-assign]
    return {
        # Of what the process itself used: on a busy machine the clock on the wall flatters.
        "share": (spent["drawing"] + spent["telling"]) / worked,
        "telling": 1e6 * spent["telling"] / (taken / config.samples_per_update),
        "frame": 1e3 * spent["drawing"] / max(spent["frames"], 1),
        "rate": spent["frames"] / seconds,
    }


class _terminal:  # noqa: N801 - used like a function
    """A pseudo-terminal of a width, read by a thread until it is closed."""

    def __init__(self, width: int) -> None:
        self._ours, theirs = os.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
        self._file = os.fdopen(theirs, "w", encoding="utf-8")
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        try:
            while os.read(self._ours, 65536):
                pass
        except OSError:
            return

    def __enter__(self) -> Console:
        return Console(file=self._file, force_terminal=True, color_system="truecolor")

    def __exit__(self, *_: object) -> None:
        self._file.close()


if __name__ == "__main__":
    main()
