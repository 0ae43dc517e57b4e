"""Signals of the machine and the clock; exact resume does not cover them."""

from __future__ import annotations

from steadyrl.core.catalogue.signal import signal

SIGNALS = (
    signal(
        "machine.cpu_share",
        "CPU seconds of this process per second",
        "cores",
        "machine/cpu_share",
        "last",
        deterministic=False,
    ),
    signal(
        "machine.gpu_share",
        "utilisation of the GPU as its driver reports it",
        "share",
        "machine/gpu_share",
        "last",
        deterministic=False,
    ),
    signal(
        "machine.load_per_core",
        "runnable tasks per core, one-minute average",
        "ratio",
        "machine/load_per_core",
        "last",
        deterministic=False,
    ),
    signal(
        "machine.memory_free_share",
        "share of the machine's memory that is not in use",
        "share",
        "machine/memory_free_share",
        "last",
        deterministic=False,
    ),
    signal(
        "machine.swap_mb_per_second",
        "memory moved to and from swap",
        "MB/s",
        "machine/swap_mb_per_second",
        "last",
        deterministic=False,
    ),
    signal(
        "machine.disk_free_gb",
        "free space where the run is written",
        "GB",
        "machine/disk_free_gb",
        "last",
        deterministic=False,
    ),
    signal(
        "machine.writing_share",
        "share of the last five minutes or so that went into writing the run; from a minute on",
        "share",
        "machine/writing_share",
        "last",
        deterministic=False,
    ),
    signal(
        "time.rate",
        "steps of the run's own unit per second since the last Step",
        "1/s",
        "time/fps",
        "last",
        deterministic=False,
    ),
)
