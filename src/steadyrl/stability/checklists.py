"""Health by phase: before, early, middle and late, each item passed, failed or not measured.

A checklist says what a healthy run looks like at its age; findings say what is wrong. Items speak
of signals, so that any algorithm that measures them is asked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from steadyrl.core.numbers import amount
from steadyrl.core.records import Finding
from steadyrl.maths.robust import Floats, median, trend
from steadyrl.stability.check import check_config
from steadyrl.stability.checklist_record import NOT_REACHED, Answer, Ask, Item, Phase, Record
from steadyrl.stability.language_checklist import LANGUAGE_ITEMS

if TYPE_CHECKING:
    from steadyrl.core.coarsen import Columns
    from steadyrl.core.run_config import RunConfig

PHASES: tuple[Phase, ...] = ("before", "early", "middle", "late")
# Shares of the budget at which a phase begins and ends.
BOUNDS: dict[Phase, tuple[float, float]] = {
    "early": (0.0, 0.15),
    "middle": (0.15, 0.6),
    "late": (0.6, math.inf),  # the last update may pass the budget, and a run may be extended
}


@dataclass(frozen=True, slots=True)
class Line:
    """An item with its answer."""

    phase: Phase
    statement: str
    passed: bool | None
    seen: str


def go_through(
    config: RunConfig, columns: Columns | None, findings: Sequence[Finding]
) -> list[Line]:
    """Every item that concerns the run, phase by phase; phases not reached are not measured."""
    total, lines = config.budget, []
    for item in sorted(ITEMS, key=lambda item: PHASES.index(item.phase)):
        begin, end = (share * total for share in BOUNDS.get(item.phase, (0.0, 0.0)))
        spoken = [finding for finding in findings if begin < finding.taken <= end]
        record = Record(config, columns, begin, end, spoken)
        answer = item.ask(record)
        if answer is not None:
            lines.append(Line(item.phase, item.statement, answer.passed, answer.seen))
    return lines


def _no_objection(record: Record) -> Answer:
    concerns = [c for c in check_config(record.config) if c.severity != "note"]
    seen = "; ".join(f"{c.rule} {c.message}" for c in concerns) or "none"
    return Answer(not concerns, seen)


def _evaluated(record: Record) -> Answer | None:
    if not (record.config.is_a("acts") or record.config.is_a("language")):
        return None
    episodes = record.config.evaluation.episodes
    return Answer(episodes > 0, f"{episodes} episodes per evaluation")


def _clipped(record: Record) -> Answer | None:
    if not record.config.is_a("clipped") or not record.config.has("gradient_clip"):
        return None
    clip = record.config.value_of("gradient_clip")
    return Answer(clip is not None, f"gradient_clip is {clip}")


def _bounded(name: str, unit: str, *, high: float | None = None, low: float | None = None) -> Ask:
    """The median of a signal lies within bounds."""

    def ask(record: Record) -> Answer | None:
        values = record.values(name)
        if not len(values):
            return record.not_measured(name)
        middle = median(values)
        passed = (high is None or middle <= high) and (low is None or middle >= low)
        return Answer(passed, f"median {middle:.3g} {unit}".rstrip())

    return ask


def _mostly(name: str, share: float) -> Ask:
    """The mean of something that either happens or does not."""

    def ask(record: Record) -> Answer | None:
        values = record.values(name)
        if not len(values):
            return record.not_measured(name)
        return Answer(bool(values.mean() >= share), f"{values.mean():.0%} of them")

    return ask


def _always_below(name: str, limit: float) -> Ask:
    def ask(record: Record) -> Answer | None:
        values = record.values(name)
        if not len(values):
            return record.not_measured(name)
        return Answer(bool(values.max() <= limit), f"at most {values.max():.3g}")

    return ask


def _not_falling(record: Record) -> Answer:
    values = record.values("eval.return_mean")
    if not record.reached:
        return NOT_REACHED
    if len(values) < 3:
        return Answer(None, f"{len(values)} evaluations: too few to tell")
    upward = trend(values)
    falls = upward.slope < 0 and upward.p_value < 0.05
    return Answer(not falls, f"{amount(values[0])} to {amount(values[-1])}")


def _rises(record: Record) -> Answer | None:
    if record.config.is_a("language"):
        return None  # the most likely answers may be right from the start: it has its own item
    values = record.values("eval.return_mean")
    before = record.values("eval.return_mean", earlier=True)
    if not record.reached:
        return NOT_REACHED
    if len(values) < 3 or not len(before):
        return Answer(None, f"{len(values)} evaluations: too few to tell")
    first, best = median(before), median(values[-3:])
    return Answer(best > first, f"{amount(first)} early, {amount(best)} at the phase's end")


def _holds(record: Record) -> Answer:
    values = record.values("eval.return_mean")
    before = record.values("eval.return_mean", earlier=True)
    if not record.reached:
        return NOT_REACHED
    if len(values) < 3 or len(before) < 3:
        return Answer(None, f"{len(values)} evaluations: too few to tell")
    start = median(before[:2])
    best = max(_best_median(before), _best_median(values))
    last = median(values[-3:])
    kept = (last - start) / (best - start) if best > start else 1.0
    return Answer(kept >= 0.8, f"{kept:.0%} of what was gained")


def _best_median(values: Floats) -> float:
    """The best of the medians of three: a single lucky evaluation is no level."""
    return float(np.median(np.lib.stride_tricks.sliding_window_view(values, 3), axis=1).max())


def _calm(record: Record) -> Answer:
    if not record.reached:
        return NOT_REACHED
    severe = sorted({f"{f.rule} {f.name}" for f in record.findings if f.severity == "severe"})
    return Answer(not severe, ", ".join(severe) or "none")


def _explain(record: Record) -> Answer | None:
    """Not asked of language models: whether a sampled answer is right is mostly chance."""
    ask = _bounded("value.explained_variance", "of the variance", low=0.0)
    return None if record.config.is_a("language") else ask(record)


def _learned(record: Record) -> Answer | None:
    if record.config.is_a("language"):
        return None
    values = record.values("value.explained_variance")
    if not len(values):
        return record.not_measured("value.explained_variance")
    later = median(values[-3:])
    return Answer(later > 0, f"{values[0]:.2f} to {later:.2f}")


ITEMS: tuple[Item, ...] = (
    Item("before", "No static check objects", _no_objection),
    Item("before", "Evaluation is on", _evaluated),
    Item("before", "Gradients are clipped", _clipped),
    Item(
        "early",
        "Before the first gradient step every ratio is one",
        _always_below("policy.first_ratio_error", 1e-3),
    ),
    Item("early", "KL per update stays below 0.1", _bounded("policy.kl", "nats", high=0.1)),
    Item(
        "early",
        "The policy has not committed yet",
        _bounded("policy.entropy_share", "of the largest entropy", low=0.3),
    ),
    Item("early", "The values begin to explain the returns", _learned),
    Item("early", "The return does not fall", _not_falling),
    Item("early", "Nothing severe", _calm),
    Item("middle", "The return has risen", _rises),
    Item("middle", "KL per update stays below 0.1", _bounded("policy.kl", "nats", high=0.1)),
    Item("middle", "Fewer than 45 % are clipped", _bounded("policy.clip_fraction", "", high=0.45)),
    Item(
        "middle",
        "Line searches succeed",
        _mostly("trpo.line_search_success", 0.7),
    ),
    Item("middle", "The values explain the returns", _explain),
    Item("middle", "|Q| stays within its bound", _bounded("q.bound_ratio", "of it", high=1.2)),
    Item("middle", "Nothing severe", _calm),
    Item("late", "What was gained is kept", _holds),
    Item("late", "KL per update stays below 0.1", _bounded("policy.kl", "nats", high=0.1)),
    Item("late", "|Q| stays within its bound", _bounded("q.bound_ratio", "of it", high=1.2)),
    Item("late", "Nothing severe", _calm),
    *LANGUAGE_ITEMS,
)
