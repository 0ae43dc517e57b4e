"""The kernel that this machine's C compiler makes of kernel.c, if there is one."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shlex
import stat
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import torch

from steadyrl.core.places import cache_folder

SOURCE = Path(__file__).with_name("kernel.c")
# By what torch finds that the processor can do: not "native", for a home may be shared by several
# machines. ATEN_CPU_CAPABILITY=avx2 tries here what others compute.
INSTRUCTIONS = {"AVX512": ("-mavx512f", "-mavx2", "-mfma"), "AVX2": ("-mavx2", "-mfma")}
SECONDS = 60.0  # it takes half of one
OTHERS = stat.S_IWGRP | stat.S_IWOTH  # who may write


class Library(ctypes.CDLL):
    """One that says which it is: another compiler's has other last digits."""

    digest = ""


@cache
def kernel() -> Library | None:
    """Compiled once and kept in the cache; None where it cannot be had, whatever the reason."""
    instructions = INSTRUCTIONS.get(torch.backends.cpu.get_cpu_capability())
    if sys.platform != "linux" or instructions is None:
        return None
    flags = ("-O3", "-std=gnu11", "-shared", "-fPIC", *instructions)
    try:
        folder = cache_folder() / "kernels"
        if _somebody_elses_home(folder):
            return None
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        above = folder.parent.stat()
        if not _ours_alone(folder) or above.st_uid != os.getuid():
            return None
        folder.parent.chmod(stat.S_IMODE(above.st_mode) & ~OTHERS)  # or they could put another here
        return _kept(flags, folder) or _loaded(_compiled(flags, folder))
    except (OSError, ValueError, subprocess.SubprocessError, AttributeError):
        return None


def _kept(flags: Sequence[str], folder: Path) -> Library | None:
    """The library that was made of this source before, if it is still whole."""
    for file in sorted(folder.glob(f"{_name(flags)}-*.so")):
        if found := _loaded(file):
            return found
    return None


def _loaded(file: Path) -> Library | None:
    """One that was cut short would end the process, so the name of each tells its contents."""
    if not _ours_alone(file):
        return None
    digest = _digest(file.read_bytes())
    if not file.stem.endswith(digest):
        file.unlink(missing_ok=True)
        return None
    library = _declared(Library(str(file)))
    library.digest = digest
    return library


def _compiled(flags: Sequence[str], folder: Path) -> Path:
    compiler = shlex.split(os.environ.get("CC") or "cc")  # or several words: "ccache gcc"
    with tempfile.TemporaryDirectory(dir=folder) as aside:
        made = Path(aside) / "made.so"
        command = [*compiler, *flags, "-o", str(made), str(SOURCE)]
        subprocess.run(command, check=True, capture_output=True, timeout=SECONDS)
        made.chmod(0o700)
        file = folder / f"{_name(flags)}-{_digest(made.read_bytes())}.so"
        made.replace(file)
    return file


def _name(flags: Sequence[str]) -> str:
    return f"dense-{_digest(SOURCE.read_bytes(), *(flag.encode() for flag in flags))}"


def _digest(*parts: bytes) -> str:
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def _ours_alone(path: Path) -> bool:
    """What is loaded can do anything: nobody else may have put it there."""
    found = path.stat()
    return found.st_uid == os.getuid() and not found.st_mode & OTHERS


def _somebody_elses_home(folder: Path) -> bool:
    """Whether root works in a user's home: a folder of root's would be in that user's way."""
    there = next(parent for parent in folder.parents if parent.exists())
    return os.getuid() == 0 != there.stat().st_uid


def _declared(library: Library) -> Library:
    number, place = ctypes.c_int, ctypes.c_void_p
    library.stride_of.argtypes = [number]
    library.forward.argtypes = [number, place, number, place, place, place, place, place]
    library.backward.argtypes = [
        *(number, place, number, place, place, place),
        *(place, place, number, place, number, place),
    ]
    library.forward.restype = library.backward.restype = None
    return library
