"""A run in one row: its verdict, and no curves but a small one."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from steadyrl.core.records import without_nan
from steadyrl.judging import Judged, judged
from steadyrl.stability.score import score_of
from steadyrl.views import wording
from steadyrl.views.curves import rounded
from steadyrl.views.facts import eta, heard

if TYPE_CHECKING:
    from steadyrl.judging import Recorded


@dataclass(frozen=True, kw_only=True)
class Brief:
    """What a table of runs shows of each."""

    tone: str
    headline: str
    told: str
    onset: int | None
    cause: str
    confidence: float | None
    spark: list[float]
    taken: int
    budget: int
    eta_seconds: float | None
    heard: float

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        record: dict[str, Any] = without_nan(asdict(self))
        return record


def brief(store: Recorded) -> Brief:
    """Read and judge a run once."""
    return brief_of(store, judged(store))


def brief_of(store: Recorded, found: Judged) -> Brief:
    """The row of a judged run; the small curve is the score as the judge remembers it."""
    verdict, window, budget = found.verdict, found.window, found.config.budget or 0
    score = score_of(window)
    course = window.course(score) if score else None
    first = next(iter(verdict.diagnoses), None)
    begun = [f.taken for f in verdict.present if f.severity != "note"]  # as on the run's page
    taken, seconds = (window.step.taken, window.step.seconds) if window.step else (0, 0.0)
    return Brief(
        tone=wording.TONES[verdict.headline],
        headline=verdict.headline,
        told=" ".join(text for text in (wording.what(verdict), wording.why(verdict)) if text),
        onset=min(begun, default=None),
        cause=f"{first.cause} {first.name}" if first else "",
        confidence=first.confidence if first else None,
        spark=rounded(course.means) if course is not None else [],
        taken=taken,
        budget=budget,
        eta_seconds=eta(verdict, taken, seconds, budget),
        heard=heard(store),
    )
