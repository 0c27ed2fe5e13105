"""Signed exact numbers at the border: clips and starts may be negative, budgets may not."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from whitecrow.errors import invalid
from whitecrow.privacy import Exactly, exact


def signed(value: object, *, owner: str, parameter: str) -> Fraction:
    """Read a number exactly, with its sign; a float is the decimal it prints as.

    Examples
    --------
    >>> signed("-0.5", owner="Publish", parameter="clip"), signed(0.1, owner="", parameter="")
    (Fraction(-1, 2), Fraction(1, 10))
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float | Fraction | Decimal):
        raise invalid(owner, parameter, "a finite number", value)
    magnitude: Exactly
    if isinstance(value, str):
        negative = value.strip().startswith("-")
        magnitude = value.strip().removeprefix("-")
    else:
        negative = value < 0
        magnitude = -value if negative else value
    number = exact(magnitude, owner=owner, parameter=parameter, positive=False)
    return -number if negative else number
