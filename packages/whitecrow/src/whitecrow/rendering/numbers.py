"""How numbers are written for people: short, and chances as they are said."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

PRACTICALLY_NEVER = "below 1 in a billion"
"""How a chance is said that nobody need think of."""


def number(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int) or (value.is_integer() and abs(value) < 1e6):
        return f"{int(value):,}"
    if abs(value) < 1000:
        return f"{value:.4g}"
    return f"{value:,.0f}" if abs(value) < 1e9 else f"{value:.3g}"


def bound(value: object, type: str) -> str:
    """A bound on a card; that of a date is a number of days since 1970.

    Examples
    --------
    >>> bound(19723, "date"), bound(200000, "integer")
    ('2024-01-01', '200,000')
    """
    if type == "date" and isinstance(value, int):
        return str(datetime.date(1970, 1, 1) + datetime.timedelta(days=value))
    return number(value)


def chance(value: float) -> str:
    """A probability.

    Examples
    --------
    >>> chance(0.25), chance(0.00001), chance(1e-12)
    ('25 %', '1 in 100,000', 'below 1 in a billion')
    """
    if 0.9995 <= value < 1:
        return "over 99.9 %"
    if value >= 0.001:
        return f"{100 * value:.3g} %"
    if value < 1e-9:
        return PRACTICALLY_NEVER if value > 0 else "0"
    return f"1 in {float(f'{1 / value:.3g}'):,.0f}"


def figure_rows(
    labels: Mapping[str, tuple[str, str]], figures: Mapping[str, Any]
) -> list[tuple[str, str]]:
    """The figures of a description that have a label, in words.

    A label is the words, and whether it is a "number", a "chance" or a "range".

    Examples
    --------
    >>> figure_rows({"error": ("off by", "number")}, {"error": 6.5, "mechanism": "smooth"})
    [('off by', '6.5')]
    """
    rows = []
    for name, (words, form) in labels.items():
        value = figures.get(name)
        if value is None:
            continue
        if form == "chance":
            rows.append((words, chance(float(value))))
        elif form == "range":
            rows.append((words, f"{number(value[0])} to {number(value[-1])}"))
        else:
            rows.append((words, number(value)))
    return rows
