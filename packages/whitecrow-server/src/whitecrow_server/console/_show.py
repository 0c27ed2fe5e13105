"""How numbers, moments and balances are written on a page."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from whitecrow.privacy import odds_factor, rounded_down, rounded_up
from whitecrow.rendering import bound, chance, number
from whitecrow.terms import COVERS, LINES

_LONGEST, _MOST_ITEMS = 128, 50


def up(amount: object) -> str:
    """A spent amount, rounded up.

    Examples
    --------
    >>> up("1/3"), down("1/3"), up("unbounded")
    ('0.3334', '0.3333', 'unbounded')
    """
    return str(amount) if amount == "unbounded" else rounded_up(Fraction(str(amount)))


def down(amount: object) -> str:
    return rounded_down(Fraction(str(amount)))


def moment(at: object) -> str:
    """A moment in UTC, to the minute.

    Examples
    --------
    >>> moment("2026-01-02T03:04:05.678+00:00"), moment(0)
    ('2026-01-02 03:04', '1970-01-01 00:00')
    """
    if isinstance(at, int | float):
        parsed = datetime.datetime.fromtimestamp(at, datetime.UTC)
    else:
        parsed = datetime.datetime.fromisoformat(str(at))
    return f"{parsed:%Y-%m-%d %H:%M}"


def written(value: object) -> str:
    """JSON for people; long texts, such as the bytes of a detector, are only measured.

    Examples
    --------
    >>> print(written({"detector": 200 * "A"}))
    {
      "detector": "(200 characters)"
    }
    """
    return json.dumps(_shortened(value), indent=2, ensure_ascii=False)


def _shortened(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _shortened(part) for name, part in value.items()}
    if isinstance(value, list):
        more = [f"({len(value) - _MOST_ITEMS:,} more)"] if len(value) > _MOST_ITEMS else []
        return [_shortened(part) for part in value[:_MOST_ITEMS]] + more
    long = isinstance(value, str) and len(value) > _LONGEST and " " not in value
    return f"({len(value):,} characters)" if long else value


def gauges(dataset: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A dataset's balance, one gauge for each line that the policy admits.

    The bar shows what is left, as the number does; the tightest cap decides.
    """
    admitted = dataset["policy"]["notions"] if "policy" in dataset else LINES
    shown = []
    for line in LINES:
        if line not in admitted:
            continue
        cap = Fraction((dataset["allowance"] or dataset["budget"])[line])
        cap = min(cap, Fraction(dataset["budget"][line]))
        left = Fraction(dataset["remaining"].get(line, "0"))
        rest = float(left / cap) if cap else 0.0
        shown.append(
            {
                "line": line,
                "words": _covers(line),
                "cap": cap,
                "left": left,
                "percent": round(100 * min(1.0, max(0.0, rest)), 1),
                "unbounded": line in dataset["unbounded"],
            }
        )
    return shown


def _covers(notion: str) -> str:
    words = COVERS.get(notion, notion)
    return words[:1].upper() + words[1:]


# Charts as plain JSON for plotly: data and axes; colours are the page's, for light and dark


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


def series_chart(points: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A publication with the standard deviation of each period."""
    x, y = ([point[key] for point in points] for key in ("period", "value"))
    errors = {"type": "data", "array": [point.get("error") for point in points]}
    line = trace("lines+markers", x, y, error_y=errors, tone="accent")
    return chart([line], x="period", y="released value", label="The released series")


FILTERS: dict[str, Callable[..., Any]] = {
    "up": up,
    "down": down,
    "moment": moment,
    "number": number,
    "bound": bound,
    "chance": chance,
    "factor": odds_factor,
    "written": written,
    "meaning": _covers,
    "gauges": gauges,
}
