"""What the machine is doing while we train: load, our share of it, memory, free disk."""

from __future__ import annotations

import ctypes
import math
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil

EVERY_SECONDS = 2.0
# How long writing is remembered, and how long a run must have lasted before its share is told: a
# checkpoint now and then is no slow disk.
REMEMBERED_SECONDS, TOLD_FROM_SECONDS = 300.0, 60.0


def give_back_memory() -> None:
    """Let the system have what is free again: glibc would keep it, for every thread that used it.

    For who reads much now and then, and lives long.
    """
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


class MachineMeter:
    """Signals about the machine, at most every EVERY_SECONDS: they cost a file read each."""

    def __init__(self, folder: Path, written: Callable[[], float] = lambda: 0.0) -> None:
        """`written`: the seconds that went into writing the run so far."""
        self._folder = folder
        self._writing = WritingShare(written)
        self._at = time.perf_counter()
        self._cpu = time.process_time()
        self._swapped = self._swap_bytes()

    def read(self) -> dict[str, float]:
        """The signals, or nothing if the last reading is recent."""
        now = time.perf_counter()
        seconds = now - self._at
        if seconds < EVERY_SECONDS:
            return {}
        cpu, swapped = time.process_time(), self._swap_bytes()
        memory = psutil.virtual_memory()
        signals = {
            "machine.cpu_share": (cpu - self._cpu) / seconds,
            "machine.load_per_core": psutil.getloadavg()[0] / (os.cpu_count() or 1),
            "machine.memory_free_share": memory.available / memory.total,
            "machine.swap_mb_per_second": (swapped - self._swapped) / seconds / 1e6,
        }
        with suppress(OSError):  # the folder may be gone; that is for its writer to say
            signals["machine.disk_free_gb"] = shutil.disk_usage(self._folder).free / 1e9
        signals |= _gpu() | self._writing.after(seconds)
        self._at, self._cpu, self._swapped = now, cpu, swapped
        return signals

    @staticmethod
    def _swap_bytes() -> float:
        swap = psutil.swap_memory()
        return float(swap.sin + swap.sout)


class WritingShare:
    """How much of the time goes into writing; what is long past counts less and less."""

    def __init__(self, written: Callable[[], float]) -> None:
        self._written = written
        self._before = written()
        self._wrote = self._lasted = 0.0

    def after(self, seconds: float) -> dict[str, float]:
        """The share when so many seconds more have gone by."""
        kept, now = math.exp(-seconds / REMEMBERED_SECONDS), self._written()
        self._wrote = self._wrote * kept + now - self._before
        self._lasted = self._lasted * kept + seconds
        self._before = now
        if self._lasted < TOLD_FROM_SECONDS:
            return {}
        return {"machine.writing_share": self._wrote / self._lasted}


def _gpu() -> dict[str, float]:
    """The GPU's utilisation where torch is loaded, sees one, and can ask its driver."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return {}
    try:
        return {"machine.gpu_share": torch.cuda.utilization() / 100.0}
    except Exception:
        return {}


def describe_machine() -> str:
    """Processor and cores: what a figure must be read with."""
    return f"{processor()}, {os.cpu_count()} cores, Python {platform.python_version()}"


def made_with() -> dict[str, str]:
    """What a run's record keeps of where it was made: versions that matter, and the machine."""
    found = [f"Python {platform.python_version()}"]
    for name in ("steadyrl", "torch", "gymnasium", "numpy", "transformers"):
        with suppress(PackageNotFoundError):
            found.append(f"{name} {version(name)}")
    return {"versions": ", ".join(found), "machine": f"{processor()}, {os.cpu_count()} cores"}


def processor() -> str:
    """The processor's name."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    named = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor()


def commit() -> str:
    """The commit of the source this runs from; "unknown" for an installed package."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    folder = Path(__file__).resolve().parent
    try:
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
    except OSError:
        return "unknown"
    return done.stdout.strip() or "unknown"
