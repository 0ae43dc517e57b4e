"""Gates: what a run must show before the next rung of a ladder may be tried.

A gate names a measure and the bounds beyond which to continue or to retreat; between them the
answer is open. A rung is asked at most twice, and what chance alone would say in more than 5 % of
all cases is open too. Gate sets are YAML files, `relative` and `document` among them.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from steadyrl.core.config import Settings, setting
from steadyrl.core.errors import ConfigError
from steadyrl.core.final import final_mean, first_mean
from steadyrl.core.records import Step
from steadyrl.core.signals import CATALOGUE
from steadyrl.core.yaml_text import read_yaml
from steadyrl.maths.statistics import Estimate, median_interval

# How often each look may answer by chance; together 5 %. Five seeds beyond a bound are 1 in 32.
LOOKS = (0.032, 0.018)
WORDS = ("final", "largest", "smallest", "gain")
WHOLE = ("severe findings", "misfit", "return shortfall")

GateAnswer = Literal["continue", "open", "retreat", "not measured"]


class Gate(Settings):
    """One question, with the bounds of its answers."""

    measure: str = setting(..., "what is looked at, e.g. 'final critic.loss'")
    rungs: Literal["all", "first", "later"] = setting("all", "which rungs it is asked on")
    continue_below: float | None = setting(None, "all is well below this")
    continue_above: float | None = setting(None, "all is well above this")
    retreat_below: float | None = setting(None, "step back below this")
    retreat_above: float | None = setting(None, "step back above this")

    def answer(self, value: Estimate) -> GateAnswer:
        """By the whole interval: what only part of it says is open."""
        if not math.isfinite(value.value):
            return "not measured"
        if self.retreat_above is not None and value.low > self.retreat_above:
            return "retreat"
        if self.retreat_below is not None and value.high < self.retreat_below:
            return "retreat"
        low_enough = self.continue_below is None or value.high < self.continue_below
        high_enough = self.continue_above is None or value.low > self.continue_above
        return "continue" if low_enough and high_enough else "open"


class GateSet(Settings):
    """Gates that are asked together."""

    about: str = setting("", "one sentence")
    stop_at_severe: bool = setting(True, "end a run at its first severe finding: it is lost")
    gates: Annotated[tuple[Gate, ...], Field(strict=False, min_length=1)] = setting(..., "all")

    def on(self, first: bool) -> list[Gate]:
        """Those that are asked on the first rung, or on later ones."""
        wanted = ("all", "first" if first else "later")
        return [gate for gate in self.gates if gate.rungs in wanted]


@dataclass(frozen=True)
class Measured:
    """What gates may look at in one run."""

    steps: Sequence[Step]
    severe: int

    def values(self, name: str) -> list[float]:
        """All values of a signal; |name| for absolute ones."""
        bare = name.strip("|")
        values = [step.signals[bare] for step in self.steps if bare in step.signals]
        return [abs(value) for value in values] if name != bare else values

    def final(self, name: str) -> float:
        """The mean of its end."""
        return final_mean(self.values(name))

    def start(self, name: str) -> float:
        """The mean of its beginning."""
        return first_mean(self.values(name))

    def measure(self, text: str) -> float:
        """A gate's measure, as its words say; NaN if the run does not have it."""
        if text == "severe findings":
            return float(self.severe)
        if text == "misfit":
            spread = self.final("td.target_std")
            return self.final("critic.loss") / spread**2 if spread > 0 else math.nan
        word, _, name = text.partition(" ")
        values = self.values(name)
        if not values:
            return math.nan
        match word:
            case "final":
                return self.final(name)
            case "largest":
                return max(values)
            case "smallest":
                return min(values)
            case _:
                return self.final(name) - self.start(name)


def interval(values: Sequence[float], look: int = 0) -> Estimate:
    """Median over seeds at a look; seeds that lack the measure do not count."""
    return median_interval([value for value in values if not math.isnan(value)], LOOKS[look])


def fewest_seeds(look: int) -> int:
    """How many seeds it takes before a gate can be answered at a look."""
    return math.ceil(-math.log2(LOOKS[look]))


def load_gates(name: str) -> GateSet:
    """A gate set by its name, or from a YAML file."""
    known = gate_sets()
    if name in known:
        text, source = (_folder() / f"{name}.yaml").read_text("utf-8"), name
    else:
        path = Path(name)
        if not path.is_file():
            close = difflib.get_close_matches(name, known, n=1)
            hint = f" Did you mean '{close[0]}'?" if close else ""
            raise ConfigError(
                f"gates = '{name}' is neither a file nor one of: {', '.join(known)}.{hint}"
            )
        text, source = path.read_text("utf-8"), name
    gates = GateSet.parse(read_yaml(text, source=source), source=source)
    for gate in gates.gates:
        _refuse_unknown(gate.measure, source)
    return gates


def gate_sets() -> list[str]:
    """The names of the gate sets that come with the package."""
    return sorted(file.name[:-5] for file in _folder().iterdir() if file.name.endswith(".yaml"))


def _folder() -> Path:
    return Path(str(resources.files("steadyrl") / "gates"))


def _refuse_unknown(measure: str, source: str) -> None:
    word, _, name = measure.partition(" ")
    if measure in WHOLE or (word in WORDS and name.strip("|") in CATALOGUE):
        return
    raise ConfigError(
        f"{source}: measure '{measure}' is not known. Use one of {', '.join(WORDS)} and a signal "
        f"('steadyrl signals' lists them), or one of: {', '.join(WHOLE)}."
    )
