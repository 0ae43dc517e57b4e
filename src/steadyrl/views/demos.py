"""Demonstrations as plain data: what a file is like, and whether a clone reproduces it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from steadyrl.experience.demonstrations import Demonstrations
from steadyrl.views.curves import curve
from steadyrl.views.pages import Block, Page, chart, charts, sentence, table

SHOWN = 8  # components
TONES = {
    "reproduced": "good",
    "covariate shift": "doubtful",
    "not learned": "bad",
    "bad data": "bad",
}
REPLAYED = {
    "prediction": ("Actions on recorded states", "squared error over the actions' variance"),
    "recorded": ("Recorded actions, played again", "distance in deviations"),
    "clone": ("The clone by itself", "distance in deviations"),
}


def inspection_page(
    rows: Sequence[tuple[str, str]], concerns: Sequence[str], data: Demonstrations
) -> Page:
    """Counts, concerns, actions over time and their distribution."""
    drawn: list[Block] = []
    first = data.trajectory(0)
    for component in range(min(SHOWN, data.actions.shape[1])):
        title, values = f"Action {component}", first.actions[:, component]
        drawn.append(_chart(title, values, about="first trajectory"))
        counts, edges = np.histogram(data.actions[:, component], bins=40)
        middle = (edges[1:] + edges[:-1]) / 2
        drawn.append(_chart(title, counts, middle, about="how often each value", by="value"))
    return Page(
        kind="demos",
        title="Demonstrations",
        tone="doubtful" if concerns else "good",
        headline="look at this" if concerns else "no concerns",
        told=[_inspected(data, concerns), *(sentence(concern) for concern in concerns)],
        blocks=[table("What is in it", ("", ""), rows), charts("Actions", drawn)],
    )


def _inspected(data: Demonstrations, concerns: Sequence[str]) -> str:
    count = data.trajectories
    many = "1 recording" if count == 1 else f"{count:,} recordings"
    found = {0: "nothing speaks against cloning it", 1: "there is one concern"}
    said = found.get(len(concerns), f"there are {len(concerns)} concerns")
    return sentence(f"{many} with {len(data.actions):,} transitions: {said}")


def replay_page(verdict: str, because: str, errors: Mapping[str, Sequence[float]]) -> Page:
    """The verdict and the errors over time."""
    drawn = [
        _chart(REPLAYED[name][0], values, about=REPLAYED[name][1])
        for name, values in errors.items()
        if values
    ]
    title = "Replay of the demonstrations"
    return Page(
        kind="demos",
        title=title,
        tone=TONES.get(verdict, "unknown"),
        headline=verdict,
        told=[because],
        blocks=[charts("", drawn)],
    )


def _chart(title: str, y: Any, x: Any = None, *, about: str, by: str = "step") -> Block:
    """Values by step, or over x."""
    values = np.asarray(y, dtype=np.float64)
    places = np.arange(len(values)) if x is None else x
    drawn = curve(np.asarray(places, dtype=np.float64), values).to_json()
    return chart(title, [{"name": title, **drawn}], about=about, x=by)
