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


@cache
def kernel() -> ctypes.CDLL | None:
    """Compiled once and kept in the cache; None where it cannot be had, whatever the reason."""
    instructions = INSTRUCTIONS.get(torch.backends.cpu.get_cpu_capability())
    if sys.platform != "linux" or instructions is None:
        return None
    flags = ("-O3", "-std=gnu11", "-shared", "-fPIC", *instructions)
    try:
        compiler = shlex.split(os.environ.get("CC") or "cc")  # or several words: "ccache gcc"
        file = _compiled(compiler, flags, cache_folder() / "kernels")
        try:
            return _declared(file)
        except (OSError, AttributeError):  # it is not what was put there
            file.unlink()
            return _declared(_compiled(compiler, flags, file.parent))
    except (OSError, ValueError, subprocess.SubprocessError, AttributeError):
        return None


def _compiled(compiler: Sequence[str], flags: tuple[str, ...], folder: Path) -> Path:
    """The library's file; whoever else compiles it at the same time makes the same."""
    content = SOURCE.read_bytes()
    name = hashlib.sha256(b"\0".join((content, *(flag.encode() for flag in flags)))).hexdigest()
    file = folder / f"dense-{name[:16]}.so"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not _ours_alone(folder):
        raise PermissionError(f"others may write into {folder}")
    if file.is_file() and _ours_alone(file):
        return file
    with tempfile.TemporaryDirectory(dir=folder) as aside:
        made = Path(aside) / "made.so"
        command = [*compiler, *flags, "-o", str(made), str(SOURCE)]
        subprocess.run(command, check=True, capture_output=True, timeout=SECONDS)
        made.chmod(0o700)
        with made.open("rb") as written:
            os.fsync(written.fileno())  # or a power cut may leave a name with nothing behind it
        made.replace(file)
    return file


def _ours_alone(path: Path) -> bool:
    """What is loaded can do anything: nobody else may have put it there."""
    found = path.stat()
    return found.st_uid == os.getuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _declared(file: Path) -> ctypes.CDLL:
    library = ctypes.CDLL(str(file))
    number, place = ctypes.c_int, ctypes.c_void_p
    library.stride_of.argtypes = [number]
    library.forward.argtypes = [number, place, number, place, place, place, place, place]
    library.backward.argtypes = [
        *(number, place, number, place, place, place),
        *(place, place, number, place, number, place),
    ]
    library.forward.restype = library.backward.restype = None
    return library
