"""Charts as plain JSON for plotly: data and axes; colours are the page's, for light and dark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def chart(
    traces: Sequence[Mapping[str, Any]], *, x: str, y: str, label: str, **layout: Any
) -> dict[str, Any]:
    """A chart; a trace's ``tone`` (accent, danger, ok, muted) names its colour in the theme."""
    axes = {
        "xaxis": {"title": {"text": x}, **layout.pop("xaxis", {})},
        "yaxis": {"title": {"text": y}, **layout.pop("yaxis", {})},
    }
    return {"label": label, "traces": list(traces), "layout": {**axes, **layout}}


def series(points: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A publication with the standard deviation of each period."""
    trace = {
        "type": "scatter",
        "mode": "lines+markers",
        "x": [point["period"] for point in points],
        "y": [point["value"] for point in points],
        "error_y": {"type": "data", "array": [point.get("error") for point in points]},
        "tone": "accent",
    }
    return chart([trace], x="period", y="released value", label="The released series")
