"""Curves for charts: thinned without losing a spike, with a mark wherever there is no number."""

from __future__ import annotations

from typing import Any

import numpy as np

Curve = np.ndarray[Any, Any]
Trace = dict[str, Any]  # as Plotly takes it

POINTS = 2000  # per curve; extremes of each bucket are kept, so spikes stay visible
FEW = 60  # points that are worth a dot each


def curve(name: str, points: Curve, color: str) -> list[Trace]:
    """Rows of x and y as a line, and marks at its edge where y is not a number or infinite.

    The marks are at the lowest value, or at the highest for what is infinitely high.
    """
    x, y = thin(points)
    finite = np.isfinite(y)
    line: Trace = {
        "x": x.tolist(),
        "y": [value if known else None for value, known in zip(y.tolist(), finite, strict=True)],
        "name": name,
        "mode": "lines+markers" if len(x) < FEW else "lines",
        "line": {"width": 1.5, "color": color},
    }
    if finite.all():
        return [line]
    low, high = (y[finite].min(), y[finite].max()) if finite.any() else (0.0, 0.0)
    lost = y[~finite]
    marks: Trace = {
        "x": x[~finite].tolist(),
        "y": np.where(lost > 0, high, low).tolist(),
        "text": ["NaN" if np.isnan(value) else str(value) for value in lost],
        "hovertemplate": "%{text} at %{x}",
        "name": name,
        "mode": "markers",
        "marker": {"symbol": "x", "size": 8, "color": color},
    }
    return [line, marks]


def thin(points: Curve) -> tuple[Curve, Curve]:
    """About POINTS of a curve: of each bucket its lowest and highest point, in order.

    And its first NaN and its first infinity of either sign, if it has them.
    """
    if len(points) <= POINTS:
        return points[:, 0], points[:, 1]
    kept = [0, len(points) - 1]
    for bucket in np.array_split(np.arange(len(points)), POINTS // 2):
        values = points[bucket, 1]
        finite = np.flatnonzero(np.isfinite(values))
        if len(finite):
            known = values[finite]
            kept += [int(bucket[finite[known.argmin()]]), int(bucket[finite[known.argmax()]])]
        if len(finite) < len(values):
            for odd in (np.isnan(values), np.isposinf(values), np.isneginf(values)):
                kept += bucket[odd][:1].tolist()
    chosen = points[np.unique(kept)]
    return chosen[:, 0], chosen[:, 1]
