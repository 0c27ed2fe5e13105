"""Signed exact numbers at the border: clips and starts may be negative, budgets may not."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from whitecrow.errors import invalid
from whitecrow.privacy import exact

__all__ = ["signed"]


def signed(value: object, *, owner: str, parameter: str) -> Fraction:
    """Read a number exactly, with its sign; a float is the decimal it prints as.

    Examples
    --------
    >>> signed("-0.5", owner="Publish", parameter="clip"), signed(0.1, owner="", parameter="")
    (Fraction(-1, 2), Fraction(1, 10))
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float | Fraction | Decimal):
        raise invalid(owner, parameter, "a finite number", value)
    written = value.strip() if isinstance(value, str) else repr(value)
    negative = written.startswith("-") if isinstance(value, str | float) else value < 0
    magnitude = written[1:] if isinstance(value, str) and negative else value
    if negative and not isinstance(magnitude, str):
        magnitude = -magnitude
    number = exact(magnitude, owner=owner, parameter=parameter, positive=False)
    return -number if negative else number
