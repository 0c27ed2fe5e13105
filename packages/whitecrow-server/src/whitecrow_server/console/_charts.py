"""Charts as plain JSON for plotly: data and axes; colours are the page's, for light and dark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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


def trace(mode: str, x: Iterable[Any], y: Iterable[Any], **more: Any) -> dict[str, Any]:
    """Points, or a line through them; ``more``: its ``name``, its ``tone``."""
    return {"type": "scatter", "mode": mode, "x": list(x), "y": list(y), **more}


def series(points: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A publication with the standard deviation of each period."""
    x, y = ([point[key] for point in points] for key in ("period", "value"))
    errors = {"type": "data", "array": [point.get("error") for point in points]}
    line = trace("lines+markers", x, y, error_y=errors, tone="accent")
    return chart([line], x="period", y="released value", label="The released series")
