"""Exact draws: enclosures of real numbers, the comparison that decides with them, coins and tables.

An enclosure of a real ``y`` is a function of a number of bits that returns two whole numbers
``low <= y * 2**bits <= high``. Everything here is integer arithmetic with the rounding errors
counted (``proof.md`` 2), so no decision ever rests on a floating-point number.

A draw looks at one machine word and decides almost always; the rare word that falls into the gap of
an enclosure is extended by fresh bits until exact arithmetic decides (``proof.md`` 3 and 4). The
parameter of a coin is often a private fact, so nothing is cached by it: a warm cache would tell
that the same fact was met before.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from itertools import accumulate
from math import factorial

from whitecrow.noise._source import Rational, Source, ratio, refuse, system_source

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
    value = unit = 1 << precision
    for index in terms:
        value = unit - (rest * value >> precision) // index
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
    """Enclose the powers 0 .. count of a number in [0, 1], given its enclosure."""
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


def share(amount: Bounds, factor: int, rest: int, bits: int) -> Bounds:
    """Enclose ``factor y / (rest + y)``, which grows with y: each end comes from one end of y."""
    least, most = amount
    base = rest << bits
    return (factor * least << bits) // (base + least), -((-factor * most << bits) // (base + most))


def root(value: int, degree: int) -> int:
    """Return the whole part of the ``degree``-th root of a whole number, by Newton's method."""
    if degree == 1 or value < 2:
        return value
    guess = 1 << -(-value.bit_length() // degree)
    while True:
        better = ((degree - 1) * guess + value // guess ** (degree - 1)) // degree
        if better >= guess:
            return guess
        guess = better


# Decisions

WIDTH = 64


def undercuts(
    source: Source,
    enclosure: Callable[[int], Bounds],
    value: int = 0,
    bits: int = 0,
    width: int = WIDTH,
) -> bool:
    """Decide ``V < y`` for ``V`` uniform in ``[value, value + 1) / 2**bits``, exactly.

    ``enclosure(bits)`` bounds ``y * 2**bits``; the source gives the further bits of ``V``, so many
    (``width``) at a time.
    """
    while True:
        low, high = enclosure(bits)
        if value < low:
            return True
        if value >= high:
            return False
        value = value << width | source.bits(width)
        bits += width


class Table:
    """Draw an index with probability proportional to real weights known by enclosures.

    The words ``0 .. 2**width - 1`` are cut into one interval an index, each a little longer than
    the weight deserves; a word in the surely deserved part is accepted at once, one past it by an
    exact comparison, one past all intervals is drawn again. That is rejection sampling, so the law
    is exactly that of the weights.

    ``low[i] <= weight[i] * 2**bits <= high[i]``, and ``refine(i, bits)`` gives such bounds at any
    greater precision. A word has fewer than 64 bits only in tests, where all words are enumerated.
    """

    __slots__ = ("_bits", "_refine", "_shift", "_unit", "edges", "safe", "width")

    def __init__(
        self,
        low: Sequence[int],
        high: Sequence[int],
        bits: int,
        refine: Callable[[int, int], Bounds],
        width: int = WIDTH,
    ) -> None:
        self._bits, self._refine, self.width = bits, refine, width
        total = sum(high)
        # One unit an index for rounding up, and one so that the last edge fits in a word.
        room = (1 << width) - len(high) - 1
        self._shift = shift = total.bit_length() + 8
        self._unit = unit = (room << shift) // total
        lengths = [(most * unit >> shift) + 1 for most in high]
        self.edges = edges = list(accumulate(lengths))
        self.safe = [
            edge - length + (least * unit >> shift)
            for edge, length, least in zip(edges, lengths, low, strict=True)
        ]
        self.safe.append(0)  # no word past the last edge is accepted

    def draw(self, source: Source) -> int:
        return self.settle(source, source.bits(self.width))

    def settle(self, source: Source, word: int) -> int:
        """Finish a draw whose first word is known."""
        while True:
            index = bisect_right(self.edges, word)
            if word < self.safe[index]:
                return index
            if index < len(self.edges):
                start = self.edges[index - 1] if index else 0

                def scaled(bits: int, index: int = index) -> Bounds:
                    low, high = self._refine(index, self._bits + bits)
                    return low * self._unit >> self._shift, -(-high * self._unit >> self._shift)

                if undercuts(source, scaled, word - start, 0, self.width):
                    return index
            word = source.bits(self.width)


# Coins

COIN_WIDTH = 32  # bits compared at a time: half a word decides all but one draw in a billion


def bernoulli(p: Rational, source: Source | None = None) -> bool:
    """Return True with probability exactly ``p``.

    Examples
    --------
    >>> from fractions import Fraction
    >>> bernoulli(1), bernoulli(0)
    (True, False)
    >>> bernoulli(Fraction(1, 3)) in (True, False)
    True
    """
    numerator, denominator = ratio(p, "bernoulli", "p", zero=True)
    if numerator > denominator:
        raise refuse("bernoulli", "p", "a probability, at most 1", "a greater number")
    return (source or system_source()).below(denominator) < numerator


def toss(source: Source, chance: Callable[[int], Bounds], width: int = COIN_WIDTH) -> bool:
    """Return True with the probability that ``chance(bits)`` encloses."""
    return undercuts(source, chance, source.bits(width), width, width)


def bernoulli_exp(x: Rational, source: Source | None = None) -> bool:
    """Return True with probability exactly ``exp(-x)``, for ``x >= 0``.

    The law is that of algorithm 1 of Canonne, Kamath and Steinke (2020); the draw is a comparison
    of a lazily drawn uniform number with certified bounds of ``exp(-x)`` (``proof.md`` 3).

    Examples
    --------
    >>> bernoulli_exp(0), bernoulli_exp(10**6)
    (True, False)
    """
    chance = partial(exp_neg, *ratio(x, "bernoulli_exp", "x", zero=True))
    return toss(source or system_source(), chance)


def logistic(numerator: int, denominator: int, bits: int) -> Bounds:
    """Enclose ``e^-x / (1 + e^-x)`` for the rational ``x = numerator/denominator >= 0``."""
    return share(exp_neg(numerator, denominator, bits), 1, 1, bits)


def bernoulli_logistic(x: Rational, source: Source | None = None) -> bool:
    """Return True with probability exactly ``e^-x / (1 + e^-x)``, for ``x >= 0``.

    This is the coin of Construction 1 of sensitive privacy (docs/mechanisms.md 7): the error
    probability at the boundary is ``1 / (1 + e^epsilon)``.

    Examples
    --------
    >>> bernoulli_logistic(10**6)
    False
    """
    chance = partial(logistic, *ratio(x, "bernoulli_logistic", "x", zero=True))
    return toss(source or system_source(), chance)
