"""Pages of demonstrations: what a file is like, and whether a clone reproduces it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from steadyrl.experience.demonstrations import Demonstrations
from steadyrl.report.page import COLORS, Chart, card, page, table
from steadyrl.store.files import write_atomically

SHOWN = 8  # components


def write_inspection(
    rows: Sequence[tuple[str, str]], concerns: Sequence[str], data: Demonstrations, output: Path
) -> Path:
    """Counts, concerns, actions over time and their distribution."""
    charts: list[Chart] = []
    cards = []
    first = data.trajectory(0)
    for component in range(min(SHOWN, data.actions.shape[1])):
        values = data.actions[:, component]
        charts.append(
            {
                "id": f"time{component}",
                "traces": [_line(np.arange(len(first)), first.actions[:, component], 0)],
                "x": "step",
            }
        )
        cards.append(card(f"Action {component}", "first trajectory", f"time{component}"))
        counts, edges = np.histogram(values, bins=40)
        charts.append(
            {
                "id": f"spread{component}",
                "traces": [_line((edges[1:] + edges[:-1]) / 2, counts, 1)],
                "x": "value",
            }
        )
        cards.append(card(f"Action {component}", "how often each value", f"spread{component}"))
    listed = "".join(f"<li>{escape(text)}</li>" for text in concerns)
    body = (
        f"{table(('', ''), rows)}<h2>Concerns</h2>"
        f"<ul>{listed or '<li>none</li>'}</ul><div class='grid'>{''.join(cards)}</div>"
    )
    write_atomically(output, page("Demonstrations", body, charts).encode())
    return output


def write_replay(
    verdict: str, because: str, errors: Mapping[str, Sequence[float]], output: Path
) -> Path:
    """The verdict and the errors over time."""
    titles = {
        "prediction": ("Actions on recorded states", "squared error over the actions' variance"),
        "recorded": ("Recorded actions, played again", "distance in deviations"),
        "clone": ("The clone by itself", "distance in deviations"),
    }
    charts: list[Chart] = []
    cards = []
    for number, (name, values) in enumerate(errors.items()):
        title, about = titles[name]
        if values:
            charts.append(
                {
                    "id": f"replay{number}",
                    "traces": [_line(np.arange(len(values)), np.array(values), number)],
                    "x": "step",
                }
            )
            cards.append(card(title, about, f"replay{number}"))
    body = (
        f"<h2>{escape(verdict)}</h2><p>{escape(because)}</p>"
        f"<div class='grid'>{''.join(cards)}</div>"
    )
    write_atomically(output, page("Replay of the demonstrations", body, charts).encode())
    return output


def _line(x: Any, y: Any, color: int) -> dict[str, Any]:
    line = {"width": 1.5, "color": COLORS[color % len(COLORS)]}
    return {
        "x": np.asarray(x, dtype=float).tolist(),
        "y": np.asarray(y, dtype=float).tolist(),
        "mode": "lines",
        "line": line,
    }
