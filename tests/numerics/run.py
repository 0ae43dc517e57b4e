"""The suite with other last digits, as other processors compute them: `make test-numerics`.

    python -m tests.numerics.run [--only NAME ...] [arguments of pytest]

Switches of torch, MKL, oneDNN and OpenBLAS choose other instructions. Those that change no digit
on this processor are not run again. Weights that begin slightly otherwise stand for processors
that no switch can imitate.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence

import numpy as np
import torch

NATIVE = "native"
OTHERWISE = "other weights"
WAYS: Mapping[str, Mapping[str, str]] = {
    NATIVE: {},
    "default": {"ATEN_CPU_CAPABILITY": "default"},
    "avx2": {"ATEN_CPU_CAPABILITY": "avx2"},
    "old kernels": {
        "MKL_CBWR": "COMPATIBLE",
        "ONEDNN_MAX_CPU_ISA": "SSE41",
        "OPENBLAS_CORETYPE": "Prescott",
    },
    OTHERWISE: {"STEADYRL_PERTURB": "1"},
}
PLUGIN = ("-p", "tests.numerics.perturb")


def digits() -> str:
    """A fingerprint of what this processor makes of products, functions, sums and pictures."""
    generator = np.random.default_rng(0)
    numbers = generator.standard_normal((64, 64))
    rows = torch.from_numpy(numbers.astype(np.float32))
    picture, filters = rows[:, :49].reshape(1, 1, 56, 56), rows[:, :9].reshape(64, 1, 3, 3)
    results = [rows @ rows.T, rows.tanh(), rows.exp(), rows.sum(dim=1), rows.log_softmax(dim=1)]
    results.append(torch.nn.functional.conv2d(picture, filters))
    parts = [numbers @ numbers.T, *(result.numpy() for result in results)]
    return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()


def _fingerprint(switches: Mapping[str, str]) -> str:
    """The digits under these switches; empty if this processor cannot work with them."""
    code = "from tests.numerics.run import digits; print(digits())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **switches},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() if done.returncode == 0 else ""


def _suite(way: str, arguments: Sequence[str]) -> tuple[bool, str]:
    """Whether the tests pass this way, and pytest's last line."""
    command = [sys.executable, "-m", "pytest", *(PLUGIN if way == OTHERWISE else ()), *arguments]
    last = ""
    with subprocess.Popen(
        command, env={**os.environ, **WAYS[way]}, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            sys.stdout.write(line)
            sys.stdout.flush()
            last = line.strip() or last
    return process.returncode == 0, last


def main() -> int:
    """Run every way that differs, and tell which one failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--only", nargs="+", choices=WAYS, default=list(WAYS), metavar="NAME")
    chosen, arguments = parser.parse_known_args()
    seen: dict[str, str] = {}
    told, passed = [], True
    for way in chosen.only:
        found = way if way == OTHERWISE else _fingerprint(WAYS[way])
        if not found:
            told.append(f"{way}: not possible on this processor")
        elif found in seen:
            told.append(f"{way}: the same digits as {seen[found]}, not run again")
        else:
            seen[found] = way
            fine, last = _suite(way, arguments or ["-n", "2", "--dist", "worksteal", "-q"])
            passed &= fine
            switches = " ".join(f"{name}={value}" for name, value in WAYS[way].items())
            told.append(f"{way}: {'passed' if fine else f'FAILED with {switches}'} ({last})")
    sys.stdout.write("\n" + "\n".join(told) + "\n")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
