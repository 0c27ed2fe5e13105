"""Integer enclosures of the real numbers that decide a draw.

An enclosure of a real ``y`` is a function of a number of bits that returns two whole numbers
``low <= y * 2**bits <= high``. Everything here is integer arithmetic with the rounding errors
counted (``proof.md`` 2), so no decision ever rests on a floating-point number.
"""

from __future__ import annotations

from functools import lru_cache

__all__ = ["Bounds", "divide", "exp_neg", "powers", "root"]

Bounds = tuple[int, int]

_GUARD = 32  # bits carried beyond those asked for: the gap is then almost always a single unit
_HALVINGS = 8  # the Taylor series is summed at x / 2**8 and squared back


@lru_cache(maxsize=64)
def _ln2(bits: int) -> int:
    """Return L with ``L <= 2**bits * ln 2 < L + 2`` (twice the series of artanh 1/3)."""
    term = (2 << (bits + 32)) // 3
    total, index = 0, 1
    while term:
        total += term // index
        term //= 9
        index += 2
    return total >> 32


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
    precision = bits + _GUARD
    fixed = (numerator << precision) // denominator
    ln2 = _ln2(precision)
    halvings_of_one = fixed // (ln2 + 2)
    step = (fixed - halvings_of_one * ln2) >> _HALVINGS
    term = total = 1 << precision
    index = 0
    while term:
        index += 1
        term = term * step // (index << precision)
        total += -term if index & 1 else term
    for _ in range(_HALVINGS):
        total = total * total >> precision
    error = ((2 * index + 5) << _HALVINGS) + 2 * halvings_of_one + 2
    drop = _GUARD + halvings_of_one
    return max(0, total - error) >> drop, ((total + error) >> drop) + 1


def powers(numerator: int, denominator: int, count: int, bits: int) -> tuple[list[int], list[int]]:
    """Enclose ``exp(-k * numerator/denominator)`` for ``k = 0 .. count-1`` by repeated products."""
    low_step, high_step = exp_neg(numerator, denominator, bits)
    low, high = [1 << bits], [1 << bits]
    for _ in range(count - 1):
        low.append(low[-1] * low_step >> bits)
        high.append((high[-1] * high_step >> bits) + 1)
    return low, high


def divide(upper: Bounds, lower: Bounds, bits: int) -> Bounds:
    """Enclose a quotient of two reals at least 0, from their enclosures at the same bits.

    Where the divisor may be 0 as far as its enclosure tells, the quotient is bounded by the caller's
    promise that it is at most 1.
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
