"""Pages of demonstrations: what a file is like, and whether a clone reproduces it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from steadyrl.experience.demonstrations import Demonstrations
from steadyrl.report.curves import curve
from steadyrl.report.page import COLORS, Chart, write_page

SHOWN = 8  # components
REPLAYED = {
    "prediction": ("Actions on recorded states", "squared error over the actions' variance"),
    "recorded": ("Recorded actions, played again", "distance in deviations"),
    "clone": ("The clone by itself", "distance in deviations"),
}


def write_inspection(
    rows: Sequence[tuple[str, str]], concerns: Sequence[str], data: Demonstrations, output: Path
) -> Path:
    """Counts, concerns, actions over time and their distribution."""
    charts: list[Chart] = []
    first = data.trajectory(0)
    for component in range(min(SHOWN, data.actions.shape[1])):
        title, values = f"Action {component}", first.actions[:, component]
        over_time = _chart(f"time{component}", title, values, color=0)
        counts, edges = np.histogram(data.actions[:, component], bins=40)
        middle = (edges[1:] + edges[:-1]) / 2
        spread = _chart(f"spread{component}", title, counts, middle, color=1)
        charts.append({**over_time, "about": "first trajectory"})
        charts.append({**spread, "about": "how often each value", "x": "value"})
    title = "Demonstrations"
    return write_page(output, "inspection", title, charts, rows=rows, concerns=concerns)


def write_replay(
    verdict: str, because: str, errors: Mapping[str, Sequence[float]], output: Path
) -> Path:
    """The verdict and the errors over time."""
    charts: list[Chart] = []
    for number, (name, values) in enumerate(errors.items()):
        title, about = REPLAYED[name]
        if values:
            chart = _chart(f"replay{number}", title, values, color=number)
            charts.append({**chart, "about": about})
    title = "Replay of the demonstrations"
    return write_page(output, "replay", title, charts, verdict=verdict, because=because)


def _chart(identity: str, title: str, y: Any, x: Any = None, *, color: int) -> Chart:
    """Values by step, or over x."""
    points = np.column_stack((np.arange(len(y)) if x is None else x, y)).astype(float)
    drawn = curve("", points, COLORS[color % len(COLORS)])
    return {"id": identity, "title": title, "traces": drawn, "x": "step"}
