"""When a run has nothing to gain any more and ends before its budget, if the config asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def reason_to_stop(window: Window, config: RunConfig) -> str | None:
    """Why the run should end now: no evaluation better than the best for `patience` of them."""
    patience, least = config.stopping.patience, config.stopping.threshold
    score = next((s for s in config.scores if window.has(s.signal)), None)
    if patience is None or score is None or not window.fresh(score.signal):
        return None
    sign = 1.0 if score.higher_is_better else -1.0
    scores = sign * window.last(score.signal)
    best, best_at = scores[0], 0
    for number, value in enumerate(scores):
        if value > best + least:
            best, best_at = value, number
    waited = len(scores) - 1 - best_at
    if waited < patience:
        return None
    by = f" by more than {least:g}" if least else ""
    return (
        f"stopped early: {waited} evaluations without one better{by} than the best "
        f"{score.name}, {sign * best:.4g}"
    )
