"""How numbers, moments and balances are written on a page."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from whitecrow.ledger import LINES
from whitecrow.privacy import rounded_down, rounded_up
from whitecrow.privacy.bounds import exp_upper

__all__ = ["FILTERS", "factor", "gauges"]

NOTIONS = {
    "differential": "Everyone alike",
    "concentrated": "Everyone alike, Gaussian noise",
    "sensitive": "Records with company",
    "conditional": "On a condition",
}
"""What each notion means, in few words."""


def up(amount: object) -> str:
    """A spent amount, rounded up.

    Examples
    --------
    >>> up("1/3"), down("1/3"), up("unbounded")
    ('0.3334', '0.3333', 'unbounded')
    """
    return str(amount) if amount == "unbounded" else rounded_up(Fraction(str(amount)))


def down(amount: object) -> str:
    """A remaining amount, rounded down."""
    return rounded_down(Fraction(str(amount)))


def moment(at: object) -> str:
    """A moment in UTC, to the minute.

    Examples
    --------
    >>> moment("2026-01-02T03:04:05.678+00:00"), moment(0)
    ('2026-01-02 03:04', '1970-01-01 00:00')
    """
    if isinstance(at, int | float):
        found = datetime.datetime.fromtimestamp(at, datetime.UTC)
    else:
        found = datetime.datetime.fromisoformat(str(at))
    return f"{found:%Y-%m-%d %H:%M}"


def number(value: object) -> str:
    """A figure, short."""
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
    >>> chance(0.25), chance(0.00001)
    ('25 %', '1 in 100,000')
    """
    if 0.9995 <= value < 1:
        return "over 99.9 %"
    if value >= 0.001:
        return f"{100 * value:.3g} %"
    return "0" if value <= 0 else f"1 in {round(1 / value):,}"


def factor(epsilon: Fraction) -> str:
    """By which factor the odds may change, rounded up.

    Examples
    --------
    >>> factor(Fraction(1)), factor(Fraction(100))
    ('2.719', '10^44')
    """
    if epsilon > 14:
        return f"10^{math.ceil(epsilon / Fraction(2302585, 1000000))}"
    return rounded_up(exp_upper(epsilon))


def written(value: object) -> str:
    """JSON for people."""
    return json.dumps(value, indent=2, ensure_ascii=False)


def gauges(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A dataset's balance, one gauge for each line that the policy admits.

    The bar shows what can no longer be spent, which the tightest cap decides.
    """
    admitted = found["policy"]["notions"] if "policy" in found else LINES
    shown = []
    for line in LINES:
        if line not in admitted:
            continue
        cap = Fraction((found["allowance"] or found["budget"])[line])
        cap = min(cap, Fraction(found["budget"][line]))
        left = Fraction(found["remaining"].get(line, "0"))
        used = float(1 - left / cap) if cap else 1.0
        shown.append(
            {
                "line": line,
                "words": NOTIONS[line],
                "cap": cap,
                "left": left,
                "percent": round(100 * min(1.0, max(0.0, used)), 1),
                "unbounded": line in found["unbounded"],
            }
        )
    return shown


FILTERS: dict[str, Callable[..., Any]] = {
    "up": up,
    "down": down,
    "moment": moment,
    "number": number,
    "bound": bound,
    "chance": chance,
    "factor": factor,
    "written": written,
    "meaning": lambda notion: NOTIONS.get(notion, notion),
}
