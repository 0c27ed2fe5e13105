"""Integer enclosures of the real numbers that decide a draw.

An enclosure of a real ``y`` is a function of a number of bits that returns two whole numbers
``low <= y * 2**bits <= high``. Everything here is integer arithmetic with the rounding errors
counted (``proof.md`` 2), so no decision ever rests on a floating-point number.
"""

from __future__ import annotations

from functools import lru_cache
from math import factorial

__all__ = ["Bounds", "divide", "exp_neg", "powers", "root"]

Bounds = tuple[int, int]

_SPARE = 30  # extra bits in which the tables are built
_LIMB = 30  # precisions are multiples of CPython's digit, so that no digit is half used
_ERROR = 16  # units in which the product of the factors may be off (``proof.md`` 2)


@lru_cache(maxsize=64)
def _factors(precision: int) -> tuple[list[int], list[int], list[int], range]:
    """Return what one exponential at this precision needs.

    Three tables of ``2**precision * e^-y`` to 2 units: for whole ``y`` below the precision, for
    64ths below 1, for 4096ths below 1/64; and the indices of the Taylor terms, highest first, that
    matter for a rest below 1/4096.
    """
    fine = precision + _SPARE
    fines = _descend(_taylor(1 << (fine - 12), fine, range(fine // 12, 0, -1)), 65, fine)
    coarses = _descend(fines[64], 65, fine)
    wholes = _descend(coarses[64], precision, fine)
    terms = 1
    while 12 * (terms + 1) + factorial(terms + 1).bit_length() <= precision:
        terms += 1
    return (
        [value >> _SPARE for value in wholes],
        [value >> _SPARE for value in coarses],
        [value >> _SPARE for value in fines],
        range(terms, 0, -1),
    )


def _descend(step: int, count: int, precision: int) -> list[int]:
    """Return the powers 0 .. count-1 of a number below 1, each rounded down."""
    values = [1 << precision]
    for _ in range(count - 1):
        values.append(values[-1] * step >> precision)
    return values


def _taylor(rest: int, precision: int, terms: range) -> int:
    """Return ``2**precision * e^(-rest / 2**precision)`` to 3 units, by Horner's rule."""
    value = one = 1 << precision
    for index in terms:
        value = one - (rest * value >> precision) // index
    return value


def exp_neg(numerator: int, denominator: int, bits: int) -> Bounds:
    """Enclose ``exp(-numerator/denominator)`` for a rational that is not negative.

    Examples
    --------
    >>> exp_neg(1, 1, 16)  # 2**16 / e = 24109.3...
    (24109, 24110)
    >>> exp_neg(0, 1, 16)
    (65536, 65536)
    """
    if numerator == 0:
        return 1 << bits, 1 << bits
    if numerator > denominator * bits:  # then e^-x < 2^-bits
        return 0, 1
    precision = (bits + 49) // _LIMB * _LIMB  # at least 20 bits more than asked for
    wholes, coarses, fines, terms = _factors(precision)
    fixed = (numerator << precision) // denominator
    head = fixed >> (precision - 12)
    value = wholes[head >> 12] * coarses[head >> 6 & 63] >> precision
    value = value * fines[head & 63] >> precision
    rest = fixed - (head << (precision - 12))
    value = value * _taylor(rest, precision, terms) >> precision
    drop = precision - bits
    return max(0, value - _ERROR) >> drop, ((value + _ERROR) >> drop) + 1


def powers(base: Bounds, count: int, bits: int) -> tuple[list[int], list[int]]:
    """Enclose the powers 0 .. count of a number in [0, 1], given its enclosure.

    Examples
    --------
    >>> powers((128, 128), 3, bits=8)
    ([256, 128, 64, 32], [256, 129, 65, 33])
    """
    low_base, high_base = base
    least = most = 1 << bits
    low, high = [least], [most]
    for _ in range(count):
        least = least * low_base >> bits
        most = (most * high_base >> bits) + 1
        low.append(least)
        high.append(most)
    return low, high


def divide(upper: Bounds, lower: Bounds, bits: int) -> Bounds:
    """Enclose a quotient of two reals at least 0, from their enclosures at the same bits.

    Where the divisor may be 0 as far as its enclosure tells, the quotient is bounded by 1, which
    the caller promises.
    """
    low = (upper[0] << bits) // lower[1]
    if lower[0] == 0:
        return low, max(low, 1 << bits)
    return low, -((-upper[1] << bits) // lower[0])


def root(value: int, degree: int) -> int:
    """Return the whole part of the ``degree``-th root of a whole number.

    Examples
    --------
    >>> root(80, 4), root(81, 4)
    (2, 3)
    """
    if degree == 1 or value < 2:
        return value
    guess = 1 << -(-value.bit_length() // degree)
    while True:
        better = ((degree - 1) * guess + value // guess ** (degree - 1)) // degree
        if better >= guess:
            return guess
        guess = better
