"""Where the arithmetic runs."""

from __future__ import annotations

import time

import torch

from steadyrl.core.errors import ConfigError
from steadyrl.core.run_config import ComputeConfig


def claim_device(compute: ComputeConfig) -> torch.device:
    """The device and the threads that the config names, refused where they cannot serve."""
    device = choose_device(compute)
    torch.set_num_threads(compute.threads)
    if compute.precision == "bf16" and device.type == "cpu" and not has_fast_bf16():
        raise ConfigError(
            "compute.precision = 'bf16': this processor only emulates bf16, which is several times "
            "slower than fp32. Use fp32 here."
        )
    return device


def has_fast_bf16() -> bool:
    """Whether bf16 products beat fp32 ones on this CPU. Measured: emulation loses tenfold."""

    def seconds(kind: torch.dtype) -> float:
        left = torch.ones(256, 256, dtype=kind)
        times = []
        for _ in range(5):
            started = time.perf_counter()
            torch.mm(left, left)
            times.append(time.perf_counter() - started)
        return min(times)

    return seconds(torch.bfloat16) < seconds(torch.float32)


def choose_device(compute: ComputeConfig) -> torch.device:
    """The device the config names; `auto` takes CUDA, then MPS, then the CPU."""
    if compute.device == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        device = torch.device(compute.device)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise ConfigError(
            f"compute.device = '{compute.device}' cannot be used here ({reason}). "
            "Use cpu, cuda, cuda:N, mps or auto."
        ) from None
    return device
