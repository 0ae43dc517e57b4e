"""The same work for both sides of the comparison of language trainers: prompts and a reward."""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path

SHOTS = "23 + 45 = 68\n67 + 18 = 85\n51 + 32 = 83\n"


def arguments(description: str | None) -> argparse.Namespace:
    """What both sides are told."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("model", type=Path)
    parser.add_argument("--shots", action="store_true")
    parser.add_argument("--groups", type=int, default=12)
    parser.add_argument("--samples", type=int, default=8)
    parser.add_argument("--micro-batch", type=int, default=32)
    parser.add_argument("--tokens", type=int, default=8)
    parser.add_argument("--updates", type=int, default=4)
    parser.add_argument("--rate", type=float, default=2e-5)
    return parser.parse_args()


def prompts(count: int, *, shots: bool) -> list[str]:
    """Two-digit sums; with solved ones before them for models that have read some."""
    numbers = random.Random(0)
    pairs = [(numbers.randint(10, 99), numbers.randint(10, 99)) for _ in range(count)]
    if shots:
        return [f"{SHOTS}{a} + {b} = " for a, b in pairs]
    return [f"{a}+{b}=" for a, b in pairs]


def variety(completion: str, _answer: str = "") -> float:
    """Different characters: a reward that differs within a group, so that there is a gradient."""
    return len(set(completion)) / 8


def write_problems(path: Path, count: int, *, shots: bool) -> None:
    """As our trainer reads them."""
    lines = [json.dumps({"prompt": p, "answer": "0"}) for p in prompts(count, shots=shots)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
