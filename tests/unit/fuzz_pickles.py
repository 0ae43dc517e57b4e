"""Mutated pickles, one after the other, in a process that must survive them all.

    python -m tests.unit.fuzz_pickles COUNT SEED FILE

Every one must be read, or refused with a DataError. The last one is in FILE, should it end the
process.
"""

from __future__ import annotations

import pickle
import pickletools
import random
import resource
import sys
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from steadyrl.core.errors import DataError
from steadyrl.experience.demonstration_files import read_demonstrations
from tests.unit.pickles import ARRAYS, HOSTILE, VALUES

STEPS = [step.code.encode("latin-1") for step in pickletools.opcodes]
LIES = [
    bytes(8),
    b"\xff" * 4,
    b"\xff" * 8,
    b"\0\0\0\x80",
    b"\x01\0\0\0\0\0\0\0",
    b"\xff\xff\xff\x7f",
]


def corpus() -> list[list[bytes]]:
    """Files in every shape that is read, in every protocol, and programs that are refused.

    Each as its steps.
    """
    rows = [
        {"observations": np.ones(3, "f4"), "actions": np.ones(2), "dones": row == 1, "masks": 1.0}
        for row in range(3)
    ]
    columns = {"obs": {"a": np.ones((4, 2)), "b": np.ones((4, 1))}, "acts": [[1, 2.0]] * 4}
    images = {"states": np.zeros((2, 16, 16, 3), np.uint8), "action": np.ones(2), "done": [0, 1]}
    trajectories = [rows, tuple(rows)]
    episodes = [{"observations": np.ones((3, 2)), "actions": np.ones((2, 1))}] * 2
    values: list[Any] = [rows, columns, images, trajectories, episodes]
    values += [{"observations": array, "actions": array} for array in ARRAYS.values()]
    values += [{"observations": VALUES, "actions": VALUES["numbers"]}]
    files = [pickle.dumps(value, protocol=protocol) for value in values for protocol in range(6)]
    files += [program for program, _ in HOSTILE.values() if len(program) < 2000]
    return [_steps(file) for file in files]


def _steps(file: bytes) -> list[bytes]:
    places = []
    try:
        places += [place or 0 for _, _, place in pickletools.genops(file)]
    except ValueError:  # a hostile one that is broken on purpose
        return [file]
    return [file[start:end] for start, end in pairwise([*places, len(file)])]


def mutated(files: list[list[bytes]], chance: random.Random) -> bytes:
    """A file with a few changes among its steps, and every second time among its bytes."""
    steps = list(chance.choice(files))
    for _ in range(chance.choice([0, 1, 1, 2, 4])):
        place = chance.randrange(len(steps) + 1)
        other = chance.choice(files)
        start = chance.randrange(len(other))
        taken = other[start : start + chance.randint(1, 8)]
        match chance.randrange(4):
            case 0:
                del steps[place : place + 1]
            case 1:
                steps[place:place] = steps[place : place + 3] * chance.choice([1, 2, 50])
            case 2:
                steps[place:place] = taken
            case _:
                steps[place : place + 1] = taken[:1]
    content = bytearray().join(steps)
    for _ in range(chance.choice([0, 0, 1, 2])):
        _change(content, chance)
    return bytes(content)


def _change(content: bytearray, chance: random.Random) -> None:
    """Bytes, steps, lengths that lie, parts that are lost."""
    place = chance.randrange(len(content) + 1)
    match chance.randrange(4):
        case 0:
            content[place : place + 1] = bytes([chance.randrange(256)])
        case 1:
            content[place : place + chance.randint(0, 1)] = chance.choice(STEPS)
        case 2:
            lie = chance.choice(LIES)
            content[place : place + len(lie)] = lie
        case _:
            del content[place : place + chance.randint(1, 12)]


def main(count: int, seed: int, path: Path) -> int:
    """Read them all; tells how many were read and refused, or what else came of one."""
    resource.setrlimit(resource.RLIMIT_AS, (16 * 2**30, 16 * 2**30))
    warnings.simplefilter("error")
    chance, files = random.Random(seed), corpus()
    read = 0
    for _ in range(count):
        path.write_bytes(mutated(files, chance))
        try:
            read_demonstrations(path)
            read += 1
        except DataError:
            pass
    sys.stdout.write(f"{read} read, {count - read} refused\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])))
