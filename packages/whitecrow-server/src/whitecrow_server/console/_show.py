"""How numbers, moments and balances are written on a page."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from whitecrow.privacy import odds_factor, rounded_down, rounded_up
from whitecrow.rendering import bound, chance, number
from whitecrow.terms import COVERS, LINES

__all__ = ["FILTERS", "chance", "gauges", "number"]

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
        found = datetime.datetime.fromtimestamp(at, datetime.UTC)
    else:
        found = datetime.datetime.fromisoformat(str(at))
    return f"{found:%Y-%m-%d %H:%M}"


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
        return {name: _shortened(one) for name, one in value.items()}
    if isinstance(value, list):
        more = [f"({len(value) - _MOST_ITEMS:,} more)"] if len(value) > _MOST_ITEMS else []
        return [_shortened(one) for one in value[:_MOST_ITEMS]] + more
    long = isinstance(value, str) and len(value) > _LONGEST and " " not in value
    return f"({len(value):,} characters)" if long else value


def gauges(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A dataset's balance, one gauge for each line that the policy admits.

    The bar shows what is left, as the number does; the tightest cap decides.
    """
    admitted = found["policy"]["notions"] if "policy" in found else LINES
    shown = []
    for line in LINES:
        if line not in admitted:
            continue
        cap = Fraction((found["allowance"] or found["budget"])[line])
        cap = min(cap, Fraction(found["budget"][line]))
        left = Fraction(found["remaining"].get(line, "0"))
        rest = float(left / cap) if cap else 0.0
        shown.append(
            {
                "line": line,
                "words": _covers(line),
                "cap": cap,
                "left": left,
                "percent": round(100 * min(1.0, max(0.0, rest)), 1),
                "unbounded": line in found["unbounded"],
            }
        )
    return shown


def _covers(notion: str) -> str:
    words = COVERS.get(notion, notion)
    return words[:1].upper() + words[1:]


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
}
