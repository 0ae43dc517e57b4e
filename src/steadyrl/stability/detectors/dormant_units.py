"""D024: most hidden units have fallen silent."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.stability.bands import at_most
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Share of dormant units above the limit, and well above the beginning."""
    for part in ("critic", "actor"):
        name = f"{part}.dormant_share"
        if not window.latest(name) > limits["share"]:
            continue
        shares = window.last(name, int(limits["steps"]))
        if len(shares) < limits["steps"]:
            continue
        first, low = window.first(name), float(shares.min())
        if low > limits["share"] and low > first + limits["growth"]:
            return Sighting(
                f"{low:.0%} of the {part}'s hidden units hardly respond any more ({first:.0%} at"
                f" first)",
                {name: low, "first": first},
            )
    return None


RULE = Detector(
    id="D024",
    name="dormant-units",
    severity="warning",
    symptom="A growing share of hidden units is (almost) always zero.",
    why="The network loses the capacity to learn more: large steps or drifting targets killed "
    "them.",
    false_alarms="Very wide networks on tiny tasks.",
    reads=("critic.dormant_share", "actor.dormant_share"),
    limits={"steps": 5, "share": 0.6, "growth": 0.2},
    calibrated_on="healthy bench runs, 10 variants x 2 seeds: at most 0.28 (pendulum), 0.45 "
    "(point-mass)",
    detect=detect,
    bands=at_most("share", "critic.dormant_share", "actor.dormant_share"),
    traits=("off_policy", "climbs_values"),
    references=("Sokar et al. 2023 (ReDo)",),
)
