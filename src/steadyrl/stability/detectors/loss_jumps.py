"""D120: the likelihood loss leaps."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.maths.robust import median
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """The worst batch of a Step far above the usual loss of the Steps before."""
    steps = int(limits["steps"])
    past = window.last("bc.nll", steps + 1)[:-1]
    if window.count("bc.nll") < limits["warm_up"]:
        return None
    if window.highest("bc.log_std_min") == window.lowest("bc.log_std_min"):
        return (
            None  # deviations are not learned: the likelihood is a squared error on another scale
        )
    usual, worst = median(past), window.latest("bc.nll_max")
    if not worst - usual > limits["leap"]:
        return None
    errors = window.last("bc.mse", steps + 1)[:-1]
    moved = window.latest("bc.mse_max") / max(median(errors), 1e-12)
    return Sighting(
        f"a batch costs {worst:.3g} nats where {usual:.3g} is usual; the squared error is "
        f"{moved:.2g} times the usual",
        {"bc.nll_max": worst, "usual": usual, "mse_ratio": moved},
        severity="severe" if worst - usual > limits["severe_leap"] else "warning",
    )


RULE = Detector(
    id="D120",
    name="loss-jumps",
    severity="severe",
    symptom="The negative log-likelihood of a batch leaps by tens of nats.",
    why="The policy was thrown off where it had become very sure of itself; it may take hundreds "
    "of steps to come back, or be saved in that state.",
    false_alarms="The first steps, which are left out; a changed dataset; with the usual least "
    "deviation a single batch may leap by a dozen nats and leave no trace: a warning.",
    reads=("bc.nll", "bc.nll_max", "bc.mse"),
    limits={"steps": 10, "warm_up": 15, "leap": 10.0, "severe_leap": 20.0},
    calibrated_on="scripted expert, 418 transitions, seed 0, 20,000 steps: batch 256 leaps 45 "
    "times, by up to 75 nats at an unchanged squared error; with std_floor 0.05 by 1 at most. When "
    "it is severe: 84 healthy runs of the fault bench (seeds 8000, 8001), of which one leapt, once "
    "and by 11.8 nats, beside 11 with faults (seed 1300), each by 21.9 or more at its worst; "
    "judged on seeds 9000, 9001 and 1400",
    detect=detect,
    traits=("cloning",),
)
