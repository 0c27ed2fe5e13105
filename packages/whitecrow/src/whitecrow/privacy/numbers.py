"""Exact numbers at the border: budgets are rationals, never floats."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from whitecrow.errors import invalid

Exactly = str | int | float | Fraction | Decimal
"""What a user may write for a budget."""

_LONGEST = 200
_SIMPLE = 5000  # every such denominator is one that accounts add up exactly
_MOST_BITS = 14_000  # what Python still writes as text


def exact(
    value: object, *, owner: str, parameter: str = "epsilon", positive: bool = True
) -> Fraction:
    """Read a budget exactly.

    A float is taken as the simple fraction that it is the nearest double to (denominators up to
    5000), and else as the decimal it prints as: ``0.1`` means one tenth, and ``1 / 292`` means
    1/292. As a decimal that quotient is off in the 17th place, and a batch of 292 would be refused
    for the difference.

    Parameters
    ----------
    value : str, int, float, Decimal or Fraction
        ``"1/10"``, ``"0.1"``, ``0.1`` and ``Fraction(1, 10)`` are the same number.
    owner, parameter : str
        Who asks, for the error message.
    positive : bool
        Refuse zero as well as negative numbers.

    Examples
    --------
    >>> exact(0.1, owner="Identify")
    Fraction(1, 10)
    >>> exact("1/3", owner="Identify"), exact(0.1 / 292, owner="Identify")
    (Fraction(1, 3), Fraction(1, 2920))
    """
    must = "a number above 0" if positive else "a number of at least 0"
    hint = "Write it as text such as '0.1' or '1/10', a whole number, or a Fraction."
    if isinstance(value, bool) or not isinstance(value, str | int | float | Fraction | Decimal):
        raise invalid(owner, parameter, must, value, hint)
    if isinstance(value, str) and len(value) > _LONGEST:
        raise invalid(owner, parameter, must, value[:20] + "...", hint)
    try:
        number = _of_float(float(value)) if isinstance(value, float) else _fraction(value)
    except (ValueError, ZeroDivisionError, OverflowError):
        raise invalid(owner, parameter, must, value, hint) from None
    if number < 0 or (positive and number == 0) or _too_long(number):
        raise invalid(owner, parameter, must, value, hint)
    return number


def _of_float(value: float) -> Fraction:
    """What a float stands for: a simple fraction, or the decimal that it prints as."""
    simple = Fraction(value).limit_denominator(_SIMPLE)
    return simple if float(simple) == value else Fraction(repr(value))


def _too_long(number: Fraction) -> bool:
    """Whether the ledger could not write it."""
    return max(number.numerator.bit_length(), number.denominator.bit_length()) > _MOST_BITS


def _fraction(value: str | int | Fraction | Decimal) -> Fraction:
    """Read text without letting a short text such as '1e999999999' grow into a huge integer."""
    if isinstance(value, str) and "e" in value.lower():
        exponent = value.lower().rpartition("e")[2]
        if abs(int(exponent)) > _LONGEST:
            raise ValueError(value)
    if isinstance(value, Decimal) and value.is_finite() and abs(value.adjusted()) > _LONGEST:
        raise ValueError(value)
    return Fraction(value)


def rounded_up(number: Fraction, digits: int = 4) -> str:
    """Show an amount spent: at most ``digits`` significant digits, never less than the truth.

    Examples
    --------
    >>> rounded_up(Fraction(1, 3))
    '0.3334'
    """
    return _rounded(number, digits, ROUND_CEILING)


def rounded_down(number: Fraction, digits: int = 4) -> str:
    """Show what remains: at most ``digits`` significant digits, never more than the truth.

    Examples
    --------
    >>> rounded_down(Fraction(2, 3))
    '0.6666'
    """
    return _rounded(number, digits, ROUND_FLOOR)


def unrounded(number: float) -> str:
    """Write a number in full: a radius that is rounded up covers more records than were promised.

    Examples
    --------
    >>> unrounded(2.0), unrounded(0.123456789)
    ('2', '0.123456789')
    """
    short = f"{number:g}"
    return short if float(short) == number else repr(number)


def _rounded(number: Fraction, digits: int, rounding: str) -> str:
    if number == 0:
        return "0"
    size = max(0, math.floor(math.log10(abs(number.numerator)) - math.log10(number.denominator)))
    context = Context(prec=max(digits, size + 1), rounding=rounding)
    value = context.divide(Decimal(number.numerator), Decimal(number.denominator)).normalize(
        context
    )
    return format(value, "f")
