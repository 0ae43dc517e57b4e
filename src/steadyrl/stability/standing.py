"""How a run stands at the end of its record: has it learned, has it kept it, what has passed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from steadyrl.core.numbers import amount
from steadyrl.core.records import Finding, number_to_json
from steadyrl.stability.course import FEWEST, Course, Dip, Learned
from steadyrl.stability.rewards import CLEARLY, accuracy_gained
from steadyrl.stability.rules import Detector
from steadyrl.stability.score import called, few_episodes, score_of
from steadyrl.stability.window import SCORES, TRAINING_RETURN, Window

if TYPE_CHECKING:
    from steadyrl.core.traits import Unit

RUNNING = 100  # episodes whose mean programs log
SPANS = 3.0  # so many of which a record must be long, or else the rise be FAR beyond chance
FAR = 9.0
FARTHER = 30.0  # where nothing says how long episodes are
LOST = 0.4  # of the best gain: with less left, what was learned is lost
KEPT = 0.7  # of the best gain: so much left is a run that ended well
# Rules about the return itself: what they say of a past that was left behind, dips say better.
WHOLE = frozenset({"D009", "D011"})
OF_THE_RETURN = frozenset({"D009", "D011", "D145", "D146", "D156", "D157"})


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known of a run's score, from its first to its last value."""

    score: str = ""  # what it is called; empty: none was recorded
    values: int = 0
    first: float = math.nan
    best: float = math.nan
    last: float = math.nan
    learned: Learned = "cannot tell"
    kept: float = math.nan  # of the best gain
    dips: Sequence[Dip] = ()

    @property
    def well(self) -> bool:
        """Whether it learned and stands near its best: then what went wrong has passed."""
        return self.learned == "yes" and not self.kept < KEPT

    @property
    def sentence(self) -> str:
        """First, best and last, and whether that is learning."""
        if not self.score:
            return "no return or other score was recorded"
        said = {
            "yes": "it learned",
            "no": "it learned nothing that chance does not explain",
            "cannot tell": "whether it learned cannot be told",
        }[self.learned]
        if self.learned == "no" and self.kept < LOST:
            said = "what it had learned is lost"
        if self.values == 1:
            return f"{self.score} {amount(self.last)}, a single value: {said}"
        return (
            f"{self.score} {amount(self.first)} at first, {amount(self.best)} at best, "
            f"{amount(self.last)} at last ({self.values:,} values): {said}"
        )

    def told_dips(self, unit: Unit) -> list[str]:
        """What was lost for a while, a line each."""
        return [
            f"{unit.one} {dip.begun:,} to {dip.over:,}: the {self.score} lost "
            f"{min(dip.lost, 1.0):.0%} of its gain and came back"
            for dip in self.dips
        ]

    def to_json(self) -> dict[str, Any]:
        """As a plain dictionary."""
        numbers = {"first": self.first, "best": self.best, "last": self.last, "kept": self.kept}
        return {
            "score": self.score,
            "values": self.values,
            "learned": self.learned,
            **{name: number_to_json(value) for name, value in numbers.items()},
            "dips": [{"begun": d.begun, "over": d.over, "lost": d.lost} for d in self.dips],
        }


def courses(window: Window) -> dict[str, Course]:
    """Every score of which there are enough values."""
    found = {name: window.course(name) for name in SCORES}
    return {name: c for name, c in found.items() if c is not None and c.values >= FEWEST}


def learned(window: Window) -> Learned:
    """Whether any score stands above its beginning.

    Any: a fast learner's first evaluation is as good as its last, and an evaluation of few
    episodes hides what training episodes show. Of a language model also whether it answers better
    than the one that training began with.
    """
    if accuracy_gained(window) > CLEARLY:
        return "yes"
    answers = {_answer(window, name, course) for name, course in courses(window).items()}
    if "yes" in answers:
        return "yes"
    return "no" if answers == {"no"} else "cannot tell"


def _answer(window: Window, name: str, course: Course) -> Learned:
    """A course's own answer, unless it is a running mean of hardly more episodes than it spans."""
    length = window.first("rollout.length_mean")
    running = name in (TRAINING_RETURN, "rollout.success_rate") and not window.has_any("language.")
    if running and few_episodes(window):
        return "cannot tell"
    if not running or course.learned != "yes" or not window.step:
        return course.learned
    if length > 0:
        spans = window.step.taken / (RUNNING * length)
    else:  # nothing says how many episodes a row is
        spans = SPANS if course.independent else course.values / RUNNING * SPANS
    clear = course.final - course.start > (FAR if length > 0 else FARTHER) * course.noise
    return "yes" if spans >= SPANS or clear else "cannot tell"


def standing(window: Window) -> Standing:
    """How the score went."""
    name = score_of(window)
    course = window.course(name) if name else None
    if name is None or course is None:
        return Standing()
    answer = learned(window)
    return Standing(
        score=called(window, name),
        values=course.values,
        first=course.start,
        best=course.best,
        last=course.final,
        learned=answer,
        kept=course.kept,
        dips=course.dips if answer == "yes" else (),
    )


def passed(
    rules: Sequence[Detector], findings: Sequence[Finding], window: Window, *, foreign: bool = False
) -> set[str]:
    """Rules that found something and, asked at the end, see it no more.

    Only of a run that stands well: elsewhere what was found explains how it stands. Of another
    program's run rules about the return have looked at the whole of it, and may take back what
    they said on the way.
    """
    well = standing(window).well
    found = {finding.rule for finding in findings if well or (foreign and finding.rule in WHOLE)}
    return {
        rule.id for rule in rules if rule.id in found and rule.detect(window, rule.limits) is None
    }
