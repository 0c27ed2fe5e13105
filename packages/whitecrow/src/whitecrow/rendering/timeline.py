"""A dataset's history as a picture: what was spent over time, and what happened when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from fractions import Fraction
from typing import Any

from whitecrow.rendering.chart import Axis, Dot, Plot

_UNITS = (("days", 86_400.0), ("hours", 3_600.0), ("minutes", 60.0), ("seconds", 1.0))
_TONES = {
    "revision": "ink",
    "declared": "ink",
    "publication": "ok",
    "alarm": "bad",
    "broken": "bad",
}
_RULED = ("revision", "alarm", "broken")


def history(found: Mapping[str, Any], line: str = "differential") -> Plot:
    """Draw what ``GET /v1/datasets/NAME/timeline`` returns: events, spent and cap of a line."""
    moments = [one["at"] for part in ("events", "spent", "budget") for one in found[part]]
    first = min(map(_seconds, moments), default=0.0)
    span = max((_seconds(at) - first for at in moments), default=0.0)
    unit, length = next((one for one in _UNITS if span >= 2 * one[1]), _UNITS[-1])
    end = max(span / length, 1.0)

    def when(at: str) -> float:
        return (_seconds(at) - first) / length

    spent = _steps(found["spent"], line, when, end)
    cap = _steps(found["budget"], line, when, end, begin=False)
    # An earlier cap may have been far larger; what is left now is to be seen.
    top = max((y for _, y in (*spent, *cap[-1:])), default=1.0) or 1.0
    label = f"{len(found['events'])} events; ε spent and the cap over {end:,.3g} {unit}"
    since = min(moments, key=_seconds)[:16].replace("T", " ") if moments else ""
    plot = Plot(Axis(f"{unit} since {since}", 0, end), Axis("ε", 0, 1.1 * top), label)
    if cap:
        plot.line(cap, "muted", name="cap")
    plot.line(spent, "accent", name="spent")
    for kind, tone in _TONES.items():
        dots = []
        for event in found["events"]:
            if event["kind"] != kind:
                continue
            x = when(event["at"])
            height = next((y for at, y in reversed(spent) if at <= x), 0.0)
            dots.append(Dot(x, height, f"{event['at'][:16]}: {event['says']}", tone))
            if kind in _RULED:
                plot.rule(x, tone, name=kind)
        if dots:
            plot.dots(dots, radius=4, tone=tone, name="" if kind in _RULED else kind)
    return plot


def _steps(
    points: Sequence[Mapping[str, Any]], line: str, when: Any, end: float, *, begin: bool = True
) -> list[tuple[float, float]]:
    """Corners of a line that goes up and down in steps; what has no bound is left out."""
    found: list[tuple[float, float]] = [(0.0, 0.0)] if begin else []
    for point in points:
        if point[line] is not None:
            x, y = when(point["at"]), float(Fraction(point[line]))
            if found:
                found.append((x, found[-1][1]))
            found.append((x, y))
    return [*found, (end, found[-1][1])] if found else []


def _seconds(at: str) -> float:
    return datetime.fromisoformat(at).timestamp()
