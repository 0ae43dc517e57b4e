"""Traces, cases and limits of the rules for experience replay."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.rules.evidence import Weighed
from tests.rules.language import FLAT, Changes, Value
from tests.rules.limits import Case

SHARE, OLD, YOUNG = (
    "aged.effective_share",
    "aged.effective_share_old",
    "aged.effective_share_young",
)
SPREAD, SIZE, WEIGHT = "aged.priority_spread", "aged.size", "aged.weight_min"
USE, USES, CROWD = "train.sample_efficiency", "aged.uses_max", "aged.birth_crowding"
BY_AGE: Mapping[str, Value] = {SHARE: 0.2, OLD: 0.1, YOUNG: 0.6}

TRACES: Mapping[str, tuple[Changes, Changes]] = {
    "D160": ({USE: 1.2, SIZE: 40.0}, {USE: 1.6, SIZE: 40.0}),
    "D161": (BY_AGE, {SHARE: 0.35, OLD: 0.2, YOUNG: 0.6}),
    "D162": ({SPREAD: 0.1, SIZE: 100.0}, {SPREAD: 0.3, SIZE: 100.0}),
    "D163": ({SPREAD: 0.9, WEIGHT: 1.0}, {SPREAD: 0.9, WEIGHT: 0.8}),
    "D164": ({"aged.ratio_error": 0.2}, {"aged.ratio_error": 1e-5}),
    "D165": ({"aged.priority_error": 1.0}, {"aged.priority_error": 0.0}),
    "D166": ({CROWD: 3.0}, {CROWD: 1.0}),
    "D167": ({USES: 11.0}, {USES: 10.0}),
}

LIMITS = [
    Case("D160", "half of the budget", {USE: 1.49, SIZE: 9.0}, 30, {USE: 1.49, SIZE: 9.0}),
    Case("D160", "used enough", {USE: [1.5] * 60, SIZE: 9.0}),
    Case("D160", "without a buffer", {USE: [1.0] * 60}),
    Case("D161", "three in a row", {SHARE: 0.29, OLD: 0.1, YOUNG: 0.5}, 3,
         {SHARE: 0.29, OLD: 0.1, YOUNG: 0.5}),
    Case("D161", "one that counts", {SHARE: [0.2, 0.2, 0.3] * 5}),
    Case("D162", "three in a row", {SPREAD: 0.19, SIZE: 50.0}, 3, {SPREAD: 0.19, SIZE: 50.0}),
    Case("D162", "a small buffer", {SPREAD: [0.1] * 9, SIZE: 49.0}),
    Case("D162", "spread enough", {SPREAD: [0.1, 0.1, 0.2] * 3, SIZE: 50.0}),
    Case("D163", "three in a row", {SPREAD: 0.97, WEIGHT: 0.9995}, 3,
         {SPREAD: 0.97, WEIGHT: 0.9995}),
    Case("D163", "even draws", {SPREAD: [0.98] * 5, WEIGHT: 1.0}),
    Case("D163", "corrected", {SPREAD: [0.5] * 5, WEIGHT: 0.999}),
    Case("D164", "its evidence", {"aged.ratio_error": [0.0, 2e-3]}, 2, {"aged.ratio_error": 2e-3}),
    Case("D164", "rounding", {"aged.ratio_error": [1e-3] * 3}),
    Case("D165", "its evidence", {"aged.priority_error": [0.0, 0.02]}, 2,
         {"aged.priority_error": 0.02}),
    Case("D165", "one in a hundred", {"aged.priority_error": [0.01] * 3}),
    Case("D166", "its evidence", {CROWD: [1.0, 1.5]}, 2, {CROWD: 1.5}),
    Case("D167", "its evidence", {USES: [10.0, 11.0]}, 2, {USES: 11.0}),
]  # fmt: skip


def of_ppo(**replay: Any) -> dict[str, Any]:
    """Settings of a PPO run that replays."""
    given = {f"replay.{name}": value for name, value in replay.items()}
    return {"algorithm": "ppo", "replay.enabled": True, **given}


CASES: Mapping[str, tuple[Mapping[str, Any], Changes]] = {
    "C290": (of_ppo(), {USE: 1.2, SIZE: 40.0}),
    "C291": (of_ppo(staleness=1000), BY_AGE),
    "C292": (of_ppo(reuse=50), {USES: 30.0}),
    "C293": (of_ppo(priority="advantage", beta=0.0), {SPREAD: 0.9, WEIGHT: 1.0}),
    "C294": (of_ppo(), {"aged.ratio_error": 0.2, **FLAT}),
}

AGED: Mapping[str, float] = {SHARE: 0.2, OLD: 0.1, YOUNG: 0.6}
EVEN: Mapping[str, float] = {SHARE: 0.2, OLD: 0.2, YOUNG: 0.2}


def on(**settings: Any) -> dict[str, Any]:
    return {"replay": {"enabled": True, **settings}}


WEIGHED = [
    Weighed("C290", "D160", {}, 0.6),
    Weighed("C291", "D161", {}, 0.0, 0, evidence=AGED, ours=True),  # replay is off
    Weighed("C291", "D161", on(), 0.65, evidence=AGED, ours=True),
    Weighed("C291", "D161", on(), 0.4, 1, 1, evidence=EVEN, ours=True),
    Weighed("C291", "D161", on(staleness=201), 0.85, 2, evidence=AGED, ours=True),
    Weighed("C291", "D161", on(staleness=200), 0.65, evidence=AGED, ours=True),
    Weighed("C291", "D011", on(staleness=201), 0.3, 2, ours=True),
    Weighed("C291", "D011", on(staleness=200), 0.0, 0, ours=True),
    Weighed("C292", "D167", on(reuse=9), 0.75, 2, ours=True),
    Weighed("C292", "D167", on(reuse=8), 0.0, 0, ours=True),
    Weighed("C292", "D161", on(reuse=9), 0.35, 2, ours=True),
    Weighed("C292", "D167", {"replay": {"enabled": False, "reuse": 9}}, 0.0, 0, ours=True),
    Weighed("C292", "D102", on(reuse=9), 0.0, 0, ours=True),
    Weighed("C293", "D162", on(), 0.7, ours=True),
    Weighed("C293", "D162", on(alpha=0.7), 0.8, 2, ours=True),
    Weighed("C293", "D163", on(), 0.7, ours=True),
    Weighed("C293", "D163", on(beta=0.0), 0.9, 2, ours=True),
    Weighed("C294", "D164", {}, 0.95),
    Weighed("C294", "D166", {}, 0.95),
]

MORE = {"replay.capacity": 2_000, "replay.reuse": 6, "replay.staleness": 150}
PROPOSALS: dict[str, list[tuple[Any, Any]]] = {
    "R380": [
        ({}, None),
        (on(), MORE),
        (on(capacity=2_000, reuse=6, staleness=150), None),
        (on(capacity=3_000, reuse=5, staleness=150), {"replay.reuse": 6}),
    ],
    "R381": [
        ({}, None),
        (on(), {"replay.staleness": 25, "replay.reuse": 2}),
        (on(staleness=1_000, reuse=1), {"replay.staleness": 50}),
        (on(staleness=8, reuse=2), {"replay.staleness": 4}),
        (on(staleness=4, reuse=2), None),
        (on(staleness=4, reuse=2, priority="advantage"), {"replay.priority": "uniform"}),
    ],
    "R382": [
        ({}, None),
        (on(), None),
        (on(priority="advantage"), {"replay.priority": "uniform"}),
        ({"replay": {"priority": "advantage"}}, None),
    ],
    "R383": [({}, None), (on(), {"replay.enabled": False})],
}

CHECKED: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("S025", on(reuse=10), on(reuse=11)),
    ("S025", on(staleness=500), on(staleness=501)),
    ("S025", on(ratio_bound=10.0), on(ratio_bound=10.1)),
    ("S025", {"replay": {"reuse": 50}}, on(reuse=50)),
    ("S026", on(priority="advantage", beta=0.1, beta_growth=0.0),
     on(priority="advantage", beta=0.0, beta_growth=0.0)),
    ("S026", on(priority="advantage", beta=0.0, beta_growth=0.001),
     on(priority="advantage", beta=0.0, beta_growth=0.0)),
    ("S026", on(beta=0.0, beta_growth=0.0),
     on(priority="td_error", beta=0.0, beta_growth=0.0)),
]  # fmt: skip
