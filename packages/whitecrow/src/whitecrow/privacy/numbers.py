"""Exact numbers at the border: budgets are rationals, never floats; clips may be negative."""

from __future__ import annotations

import math
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from whitecrow.errors import invalid

Exactly = str | int | float | Fraction | Decimal
"""What a user may write for a budget."""

_HINT = "Write it as text such as '0.1' or '1/10', a whole number, or a Fraction."
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
    if type(value) is Fraction and value.numerator > 0 and not _too_long(value):
        return value  # most are read several times on their way
    must = "a number above 0" if positive else "a number of at least 0"
    number = signed(value, owner=owner, parameter=parameter, must=must)
    if number < 0 or (positive and number == 0):
        raise invalid(owner, parameter, must, value, _HINT)
    return number


def signed(value: object, *, owner: str, parameter: str, must: str = "a finite number") -> Fraction:
    """Read a number exactly, with its sign; a float as :func:`exact` does.

    Examples
    --------
    >>> signed("-0.5", owner="Publish", parameter="clip"), signed(0.1, owner="", parameter="")
    (Fraction(-1, 2), Fraction(1, 10))
    """
    try:
        if isinstance(value, float):
            number = Fraction(value).limit_denominator(_SIMPLE)
            if float(number) != value:
                number = Fraction(repr(float(value)))  # numpy's print otherwise
        elif isinstance(value, str | int | Fraction | Decimal) and not isinstance(value, bool):
            number = _fraction(value)
        else:
            raise ValueError(value)
        if _too_long(number):
            raise ValueError(value)
    except (ValueError, ZeroDivisionError, OverflowError):
        raise invalid(owner, parameter, must, value, _HINT) from None
    return number


def _too_long(number: Fraction) -> bool:
    return max(number.numerator.bit_length(), number.denominator.bit_length()) > _MOST_BITS


def _fraction(value: str | int | Fraction | Decimal) -> Fraction:
    """Read text without letting a short text such as '1e999999999' grow into a huge integer."""
    size = 0
    if isinstance(value, str):
        size = max(len(value), abs(int(value.lower().partition("e")[2] or 0)))
    elif isinstance(value, Decimal) and value.is_finite():
        size = abs(value.adjusted())
    if size > _LONGEST:
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
    value = context.divide(Decimal(number.numerator), Decimal(number.denominator))
    return format(value.normalize(context), "f")


# Certified rational upper bounds of the few transcendental functions that accounting needs.
#
# `decimal` rounds ``exp`` and ``ln`` correctly to the last digit; one step upward makes the
# result a proved upper bound. Budgets therefore never pass through binary floating point.

_DIGITS = 40


def _context(rounding: str) -> Context:
    return Context(prec=_DIGITS, rounding=rounding, Emax=MAX_EMAX, Emin=MIN_EMIN)


def _decimal(number: Fraction, rounding: str) -> Decimal:
    return _context(rounding).divide(Decimal(number.numerator), Decimal(number.denominator))


def exp_upper(x: Fraction) -> Fraction:
    """Return a rational at least ``exp(x)``, by less than one part in 10^38."""
    context = _context(ROUND_CEILING)
    return Fraction(context.next_plus(_decimal(x, ROUND_CEILING).exp(context)))


def float_up(number: Fraction) -> float:
    """Return the least double that is not below an exact number."""
    nearest = float(number)
    return nearest if Fraction(nearest) >= number else math.nextafter(nearest, math.inf)


def odds_factor(epsilon: Fraction) -> str:
    """Write by how many times odds may change: e^ε with two decimals, never less than the truth.

    Examples
    --------
    >>> [odds_factor(Fraction(one)) for one in ("0.25", "1", "8", "100")]
    ['1.29', '2.72', '2,981', 'e^100']
    """
    if epsilon > 20:
        return f"e^{math.ceil(epsilon * 100) / 100:g}"
    upper = exp_upper(epsilon)
    return f"{math.ceil(upper * 100) / 100:.2f}" if upper < 1000 else f"{math.ceil(upper):,}"


def log_inverse_upper(delta: Fraction) -> Fraction:
    """Return a rational at least ``ln(1/delta)`` for a positive rational."""
    if delta == 1:  # exact; a step below 0 would be a decimal with a quintillion places
        return Fraction(0)
    context = _context(ROUND_FLOOR)
    return -Fraction(context.next_minus(_decimal(delta, ROUND_FLOOR).ln(context)))


def sqrt_upper(x: Fraction) -> Fraction:
    """Return a rational at least ``sqrt(x)``, by at most 2^-64 relative to the scale of x."""
    scale = x.denominator << 64
    square = x.numerator * (scale * scale) // x.denominator
    root = math.isqrt(square)
    exactly = root * root * x.denominator == x.numerator * scale * scale
    return Fraction(root if exactly else root + 1, scale)
