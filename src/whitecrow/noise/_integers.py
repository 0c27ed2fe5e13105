"""Exact noise on the whole numbers: geometric, discrete Laplace, discrete Gaussian.

The parameters of these laws are public (a scale is set by epsilon and a sensitivity bound), so the
tables they need are kept for the next draw.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import isqrt

from whitecrow.noise._check import Rational, ratio
from whitecrow.noise._coins import exp_coin
from whitecrow.noise._enclose import Bounds, divide, exp_neg, powers
from whitecrow.noise._source import Source, system_source
from whitecrow.noise._table import WIDTH, Table, undercuts

__all__ = [
    "Gaussian",
    "Geometric",
    "discrete_gaussian",
    "discrete_laplace",
    "geometric",
    "two_sided",
]

_BITS = 128  # precision of the tables before they are cut to words
_REACH = 46  # tables go to weights e^-46 < 2^-64; what lies beyond is one more index


def _series(numerator: int, denominator: int, power: int, bits: int) -> Bounds:
    """Enclose the sum of ``e^(-kx)`` over ``k >= power``, for ``x = numerator/denominator``."""
    head = exp_neg(power * numerator, denominator, bits)
    low, high = exp_neg(numerator, denominator, bits)
    one = 1 << bits
    if high >= one:  # too coarse to tell e^-x from 1: ask again with more bits
        finer = _series(numerator, denominator, power, 2 * bits)
        return finer[0] >> bits, (finer[1] >> bits) + 1
    return divide(head, (one - high, one - low), bits)


class Geometric:
    """The law ``P(k) proportional to e^(-xk)`` on 0, 1, 2, ..., with ``x = numerator/denominator``.

    The digits of such a number are independent (``proof.md`` 5): digit ``i`` in base ``radix`` has
    weights ``e^(-x radix^i k)``. All but the leading digit come from a finite table each; the
    leading one has no upper end, and its table's last index means "this much, and draw again".
    """

    __slots__ = ("digits", "place", "span", "top")

    def __init__(
        self,
        numerator: int,
        denominator: int,
        width: int = WIDTH,
        radix: int = 32,
        reach: int = _REACH,
    ) -> None:
        self.digits: list[tuple[Table, int]] = []
        place = 1
        while numerator * place * radix < reach * denominator:
            self.digits.append((_digit(numerator * place, denominator, radix, width), place))
            place *= radix
        step = numerator * place
        self.place = place
        self.span = span = -(-reach * denominator // step)
        low, high = powers(step, denominator, span, _BITS)
        least, most = _series(step, denominator, span, _BITS)

        def refine(index: int, bits: int) -> Bounds:
            if index == span:
                return _series(step, denominator, span, bits)
            return exp_neg(index * step, denominator, bits)

        self.top = Table([*low, least], [*high, most], _BITS, refine, width)

    def draw(self, source: Source) -> int:
        """Return one draw."""
        total = 0
        for table, place in self.digits:
            total += table.draw(source) * place
        lead = self.top.draw(source)
        while lead == self.span:
            total += self.span * self.place
            lead = self.top.draw(source)
        return total + lead * self.place


def _digit(numerator: int, denominator: int, radix: int, width: int) -> Table:
    """Return the table of one digit: weights ``e^(-k numerator/denominator)``, k below radix."""
    low, high = powers(numerator, denominator, radix, _BITS)
    return Table(
        low, high, _BITS, lambda index, bits: exp_neg(index * numerator, denominator, bits), width
    )


class Gaussian:
    """The law ``P(k) proportional to e^(-k^2 / 2v)`` on the whole numbers, ``v`` rational.

    Magnitudes are cut into blocks of ``block`` numbers. A block is drawn by the weight of its
    smallest member, a member uniformly, and it is kept with the ratio of the two weights, which is
    an exponential coin; the least such ratio in the block settles most of these coins without
    computing an exponential. Past the table the blocks are drawn geometrically, by the tangent of
    the parabola (``proof.md`` 6).
    """

    __slots__ = ("block", "count", "keep", "numerator", "reach", "table", "twice", "width")

    def __init__(
        self,
        numerator: int,
        denominator: int,
        width: int = WIDTH,
        fineness: int = 8,
        reach: int = _REACH,
    ) -> None:
        # The weight of k is exp(-k^2 * self.numerator / self.twice).
        self.numerator, self.twice, self.width = denominator, 2 * numerator, width
        self.reach = reach
        deviation = isqrt(numerator // denominator)
        self.block = block = 1 << max(0, (deviation // fineness).bit_length() - 1)
        step = denominator * block * block
        self.count = count = isqrt(reach * self.twice // step) + 1
        low, high, self.keep = self._weights(step, count)
        least, most = self._tail(_BITS)
        self.table = Table([*low, least], [*high, most], _BITS, self._refine, width)

    def _weights(self, step: int, count: int) -> tuple[list[int], list[int], list[int]]:
        """Enclose ``e^(-i^2 x)``, x = step/twice, and bound the ratio of each to the next."""
        low_ratio, high_ratio = exp_neg(step, self.twice, _BITS)
        low_square, high_square = exp_neg(2 * step, self.twice, _BITS)
        low, high, keep = [1 << _BITS], [1 << _BITS], []
        for _ in range(count):
            low.append(low[-1] * low_ratio >> _BITS)
            high.append((high[-1] * high_ratio >> _BITS) + 1)
            keep.append(low_ratio >> (_BITS - self.width))
            low_ratio = low_ratio * low_square >> _BITS
            high_ratio = (high_ratio * high_square >> _BITS) + 1
        return low[:count], high[:count], keep

    def _tail(self, bits: int) -> Bounds:
        """Enclose the mass of the geometric envelope from block ``count`` on."""
        step = self.numerator * self.block * self.block
        head = exp_neg(self.count * self.count * step, self.twice, bits)
        low, high = _series(2 * self.count * step, self.twice, 0, bits)
        return head[0] * low >> bits, (head[1] * high >> bits) + 1

    def _refine(self, index: int, bits: int) -> Bounds:
        if index == self.count:
            return self._tail(bits)
        start = index * self.block
        return exp_neg(start * start * self.numerator, self.twice, bits)

    def magnitude(self, source: Source) -> int | None:
        """Return one magnitude, or None where the coin says to draw again."""
        index = self.table.draw(source)
        if index == self.count:
            return self.far_magnitude(source)
        start = index * self.block
        if self.block == 1:
            return start
        value = start + source.bits(self.block.bit_length() - 1)
        word = source.bits(self.width)
        if word < self.keep[index] or self.keeps(source, value, start, word):
            return value
        return None

    def keeps(self, source: Source, value: int, start: int, word: int) -> bool:
        """Toss the coin of ratio weight(value) / weight(start), its first word being known."""
        excess = (value * value - start * start) * self.numerator
        return undercuts(
            source,
            lambda bits: exp_neg(excess, self.twice, bits),
            word,
            self.width,
            self.width,
        )

    def far_magnitude(self, source: Source) -> int | None:
        """Return one magnitude of the blocks past the table, or None."""
        slope = 2 * self.count * self.block * self.block
        law = Geometric(slope * self.numerator, self.twice, self.width, reach=self.reach)
        beyond = law.draw(source)
        value = (self.count + beyond) * self.block + source.bits(self.block.bit_length() - 1)
        excess = value * value - (self.count * self.block) ** 2 - slope * beyond
        kept = exp_coin(source, excess * self.numerator, self.twice, self.width)
        return value if kept else None

    def draw(self, source: Source) -> int:
        """Return one draw."""
        return two_sided(self.magnitude, source)


def two_sided(magnitude: Callable[[Source], int | None], source: Source) -> int:
    """Give a magnitude a random sign; draw again where it is None, or a zero with a minus.

    Zero has one sign only: kept with both, it would come twice too often.
    """
    while True:
        value = magnitude(source)
        if value is None:
            continue
        if not source.bits(1):
            return value
        if value:
            return -value


@lru_cache(maxsize=256)
def _geometric(numerator: int, denominator: int) -> Geometric:
    return Geometric(numerator, denominator)


@lru_cache(maxsize=256)
def _gaussian(numerator: int, denominator: int) -> Gaussian:
    return Gaussian(numerator, denominator)


def geometric(x: Rational, source: Source | None = None) -> int:
    """Return k = 0, 1, 2, ... with probability ``(1 - e^-x) e^(-xk)``.

    Parameters
    ----------
    x : Fraction or int
        The rate, greater than 0.
    source : Source, optional
        Where the randomness comes from; the operating system unless given.

    Examples
    --------
    >>> geometric(1000)
    0
    """
    return _geometric(*ratio(x, "geometric", "x")).draw(source or system_source())


def discrete_laplace(scale: Rational, source: Source | None = None) -> int:
    """Return a whole number k with probability proportional to ``e^(-|k|/scale)``.

    Adding it to a count of sensitivity D with ``scale = D/epsilon`` is epsilon-DP (Ghosh,
    Roughgarden and Sundararajan 2012).

    Parameters
    ----------
    scale : Fraction or int
        Greater than 0.
    source : Source, optional
        Where the randomness comes from; the operating system unless given.

    Examples
    --------
    >>> from fractions import Fraction
    >>> discrete_laplace(Fraction(1, 1000))
    0
    """
    numerator, denominator = ratio(scale, "discrete_laplace", "scale")
    return two_sided(_geometric(denominator, numerator).draw, source or system_source())


def discrete_gaussian(variance: Rational, source: Source | None = None) -> int:
    """Return a whole number k with probability proportional to ``e^(-k^2 / (2 variance))``.

    Adding it to a count of sensitivity D is ``D^2 / (2 variance)``-zCDP (Canonne, Kamath and
    Steinke 2020, theorem 4).

    Parameters
    ----------
    variance : Fraction or int
        The parameter of the law (its variance is never greater); greater than 0.
    source : Source, optional
        Where the randomness comes from; the operating system unless given.

    Examples
    --------
    >>> from fractions import Fraction
    >>> discrete_gaussian(Fraction(1, 1000))
    0
    """
    law = _gaussian(*ratio(variance, "discrete_gaussian", "variance"))
    return law.draw(source or system_source())
