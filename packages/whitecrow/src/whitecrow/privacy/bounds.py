"""Certified rational upper bounds of the few transcendental functions that accounting needs.

`decimal` rounds ``exp`` and ``ln`` correctly to the last digit; one step upward makes the result a
proved upper bound. Budgets therefore never pass through binary floating point.
"""

from __future__ import annotations

import math
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

_DIGITS = 40


def _context(rounding: str) -> Context:
    return Context(prec=_DIGITS, rounding=rounding, Emax=MAX_EMAX, Emin=MIN_EMIN)


def _decimal(number: Fraction, rounding: str) -> Decimal:
    return _context(rounding).divide(Decimal(number.numerator), Decimal(number.denominator))


def exp_upper(x: Fraction) -> Fraction:
    """Return a rational at least ``exp(x)``, by less than one part in 10^38.

    Examples
    --------
    >>> float(exp_upper(Fraction(1))) > 2.718281828459045 - 1e-15
    True
    """
    context = _context(ROUND_CEILING)
    return Fraction(context.next_plus(_decimal(x, ROUND_CEILING).exp(context)))


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
    """Return a rational at least ``ln(1/delta)`` for ``0 < delta <= 1``.

    Examples
    --------
    >>> log_inverse_upper(Fraction(1))
    Fraction(0, 1)
    """
    if delta == 1:
        # Exact; a step below 0 would be a decimal with a quintillion places.
        return Fraction(0)
    context = _context(ROUND_FLOOR)
    return -Fraction(context.next_minus(_decimal(delta, ROUND_FLOOR).ln(context)))


def log_upper(x: Fraction) -> Fraction:
    """Return a rational at least ``ln(x)`` for a positive rational.

    Examples
    --------
    >>> 0 < log_upper(Fraction(2)) - Fraction(693147180559945309, 10**18) < Fraction(1, 10**17)
    True
    """
    if x == 1:  # as above
        return Fraction(0)
    context = _context(ROUND_CEILING)
    return Fraction(context.next_plus(_decimal(x, ROUND_CEILING).ln(context)))


def sqrt_upper(x: Fraction) -> Fraction:
    """Return a rational at least ``sqrt(x)``, by at most 2^-64 relative to the scale of x.

    Examples
    --------
    >>> sqrt_upper(Fraction(9, 4))
    Fraction(3, 2)
    """
    scale = x.denominator << 64
    square = x.numerator * (scale * scale) // x.denominator
    root = math.isqrt(square)
    exactly = root * root * x.denominator == x.numerator * scale * scale
    return Fraction(root if exactly else root + 1, scale)
