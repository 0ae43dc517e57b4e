"""A confidence is a frequency: of answers with such a weight of evidence, the share that was right.

Causes add up hand-set weights. How often answers of a weight were right is measured over runs whose
fault is known (benchmarks/reliability.py); the monotone map from the one to the other is data of
this package, with the fingerprint of the rules that it was fitted for.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np

FILE = "confidence.json"
RULES = ("causes", "detectors")


@dataclass(frozen=True, slots=True)
class Reliability:
    """Where the map goes through, and what it was fitted on."""

    weights: tuple[float, ...]
    shares: tuple[float, ...]
    fitted_on: str
    rules: str  # fingerprint

    @property
    def current(self) -> bool:
        """Whether the rules are those that it was fitted for; if not, it is due to be refitted."""
        return self.rules == fingerprint()


@cache
def reliability() -> Reliability:
    """The map that is in force."""
    text = resources.files("steadyrl").joinpath("stability", FILE).read_text("utf-8")
    read = json.loads(text)
    weights, shares = zip(*read["points"], strict=True)
    return Reliability(weights, shares, read["fitted_on"], read["rules"])


def frequency(weight: float) -> float:
    """How often an answer of this weight was right."""
    known = reliability()
    return float(np.interp(weight, known.weights, known.shares))


def fingerprint() -> str:
    """Of every rule that finds or weighs, as it is written."""
    digest = hashlib.sha256()
    root = resources.files("steadyrl").joinpath("stability")
    files = [root.joinpath("diagnose.py")]
    for folder in RULES:
        inside = (f for f in root.joinpath(folder).iterdir() if f.name.endswith(".py"))
        files += sorted(inside, key=lambda file: file.name)
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]
