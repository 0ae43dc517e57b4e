"""D030: training has become much slower than it was."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.maths.robust import median
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Recent Steps all below a share of the run's own median speed."""
    steps, past = int(limits["steps"]), int(limits["past"])
    if not window.fresh("time.rate"):
        return None
    if window.latest("time.rate") > limits["share"] * window.highest("time.rate"):
        return None
    rates = window.last("time.rate", steps + past)
    # Before learning begins every run is faster.
    learned = max(window.count("critic.loss"), window.count("value.loss"))
    if len(rates) < steps + past or learned < len(rates):
        return None
    usual, now = median(rates[:-steps]), float(rates[-steps:].max())
    if now > limits["share"] * usual:
        return None
    return Sighting(
        f"{now:.0f} steps per second; it was {usual:.0f}",
        {"time.rate": now, "usual": usual},
    )


RULE = Detector(
    id="D030",
    name="throughput-collapse",
    severity="warning",
    symptom="Environment steps per second fall to a fraction of the run's own pace.",
    why="Another process took the cores, threads spin against each other, or memory swaps.",
    false_alarms="Evaluations or checkpoints inside most Steps.",
    reads=("time.rate",),
    limits={"steps": 5, "past": 20, "share": 0.3},
    calibrated_on="healthy bench runs, 10 variants x 2 seeds, two at a time: at worst 0.72 of the"
    " usual; no faulty run was made for it",
    detect=detect,
    concerns="machine",
)
