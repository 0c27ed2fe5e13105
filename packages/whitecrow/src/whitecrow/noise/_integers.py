"""Exact noise on the whole numbers: geometric, discrete Laplace, discrete Gaussian, heavy tails.

The parameters of the first three are public (a scale is set by epsilon and a sensitivity bound), so
the tables they need are kept for the next draw. The scale of the last is a private fact (a smooth
sensitivity): nothing is cached by it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from math import isqrt

from whitecrow.noise._exact import (
    WIDTH,
    Bounds,
    Table,
    divide,
    exp_neg,
    powers,
    root,
    share,
    toss,
    undercuts,
)
from whitecrow.noise._source import Rational, Source, positive_whole, ratio, system_source

_BITS = 128  # precision of the tables before they are cut to words
_REACH = 46  # tables go to weights e^-46 < 2^-64; what lies beyond is one more index


def _tail(head: Bounds, ratio: Bounds, bits: int) -> Bounds:
    """Enclose ``head + head * ratio + head * ratio^2 + ...``, the ratio surely below 1."""
    one = 1 << bits
    return divide(head, (one - ratio[1], one - ratio[0]), bits)


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
        radix: int = 16,
        reach: int = _REACH,
    ) -> None:
        self.digits: list[tuple[Table, int]] = []
        # Each place takes the radix-th power of the one before, which costs precision.
        bits = _BITS + (denominator // numerator).bit_length()
        base = exp_neg(numerator, denominator, bits)
        place = 1
        while numerator * place * radix < reach * denominator:
            low, high = powers(base, radix, bits)
            refine = partial(_power, numerator * place, denominator, -1)
            table = Table(low[:radix], high[:radix], bits, refine, width)
            self.digits.append((table, place))
            base = low[radix], high[radix]
            place *= radix
        self.place = place
        self.span = span = -(-reach * denominator // (numerator * place))
        low, high = powers(base, span, bits)
        low[span], high[span] = _tail((low[span], high[span]), base, bits)
        refine = partial(_power, numerator * place, denominator, span)
        self.top = Table(low, high, bits, refine, width)

    def draw(self, source: Source) -> int:
        total = 0
        for table, place in self.digits:
            total += table.draw(source) * place
        lead = self.top.draw(source)
        while lead == self.span:
            total += self.span * self.place
            lead = self.top.draw(source)
        return total + lead * self.place


def _times(first: Bounds, second: Bounds) -> Bounds:
    """Enclose a product of two numbers in [0, 1], both at the tables' precision."""
    return first[0] * second[0] >> _BITS, (first[1] * second[1] >> _BITS) + 1


def _power(numerator: int, denominator: int, span: int, index: int, bits: int) -> Bounds:
    """Enclose ``e^(-kx)``, ``x = numerator/denominator``; from ``span`` on all are one sum."""
    weight = exp_neg(index * numerator, denominator, bits)
    if index != span:
        return weight
    return _tail(weight, exp_neg(numerator, denominator, bits), bits)


class Gaussian:
    """The law ``P(k) proportional to e^(-k^2 / 2v)`` on the whole numbers, ``v`` rational.

    Magnitudes are cut into blocks of ``block`` numbers. A block is drawn by the weight of its
    smallest member, a member uniformly, and it is kept with the ratio of the two weights, which is
    an exponential coin; the least such ratio in the block settles most of these coins without
    computing an exponential. Past the table the blocks are drawn geometrically, by the tangent of
    the parabola (``proof.md`` 6).
    """

    __slots__ = ("block", "count", "keep", "numerator", "reach", "step", "table", "twice", "width")

    def __init__(
        self,
        numerator: int,
        denominator: int,
        width: int = WIDTH,
        fineness: int = 2,
        reach: int = _REACH,
    ) -> None:
        # The weight of k is exp(-k^2 * self.numerator / self.twice).
        self.numerator, self.twice, self.width = denominator, 2 * numerator, width
        self.reach = reach
        deviation = isqrt(numerator // denominator)
        self.block = block = 1 << max(0, (deviation // fineness).bit_length() - 1)
        self.step = step = denominator * block * block
        self.count = isqrt(reach * self.twice // step) + 1
        low, high, self.keep = self._weights()
        self.table = Table(low, high, _BITS, self._refine, width)

    def _weights(self) -> tuple[list[int], list[int], list[int]]:
        """Enclose the weights of all blocks, and bound from below the ratio of each to the next.

        With ``x = step/twice`` the weights are ``e^(-i^2 x)``, the ratios ``e^(-(2i+1) x)``.
        """
        base = exp_neg(self.step, self.twice, _BITS)
        square, ratio = _times(base, base), base
        weight = 1 << _BITS, 1 << _BITS
        low, high, keep = [], [], []
        for _ in range(self.count):
            low.append(weight[0])
            high.append(weight[1])
            keep.append(ratio[0] >> (_BITS - self.width))
            weight = _times(weight, ratio)
            ratio = _times(ratio, square)
        slope = exp_neg(2 * self.count * self.step, self.twice, _BITS)
        least, most = _tail(weight, slope, _BITS)
        return [*low, least], [*high, most], keep

    def _refine(self, index: int, bits: int) -> Bounds:
        weight = exp_neg(index * index * self.step, self.twice, bits)
        if index != self.count:
            return weight
        return _tail(weight, exp_neg(2 * self.count * self.step, self.twice, bits), bits)

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
        """Toss the coin of ratio weight(value) / weight(start), its first word being known.

        The ratio ``e^-x`` lies between ``1 - x + x^2/2 - x^3/6`` and ``1 - x + x^2/2``; for the few
        words in between alone the exponential is computed.
        """
        excess, width = (value * value - start * start) * self.numerator, self.width
        least = (excess << width) // self.twice  # in units of a word; x is less than one unit more
        most = least + 1
        if word > (1 << width) - least + (most * most >> (width + 1)):
            return False
        cube = most**3 // 6 >> (2 * width)
        if word < (1 << width) - most + (least * least >> (width + 1)) - cube - 1:
            return True
        return undercuts(source, partial(exp_neg, excess, self.twice), word, width, width)

    def far_magnitude(self, source: Source) -> int | None:
        """Return one magnitude of the blocks past the table, or None."""
        slope = 2 * self.count * self.block * self.block
        exponent = slope * self.numerator, self.twice
        beyond = Geometric(*exponent, self.width, reach=self.reach).draw(source)
        value = (self.count + beyond) * self.block + source.bits(self.block.bit_length() - 1)
        excess = value * value - (self.count * self.block) ** 2 - slope * beyond
        chance = partial(exp_neg, excess * self.numerator, self.twice)
        return value if toss(source, chance, self.width) else None

    def draw(self, source: Source) -> int:
        return two_sided(self.magnitude, source)


class CoreTail:
    """The noise of :func:`core_tail` with ``scale = numerator/denominator`` and ``B = tail``.

    It is the ideal real-valued noise times a scale, rounded to the nearest whole number; bits of
    the ideal noise are drawn until the rounding is certain, so the output is exactly a rounding of
    the ideal mechanism and inherits its guarantee by post-processing. Ties have probability 0.

    All parts work with ``h``, the whole part of twice the magnitude: the rounded magnitude is
    ``(h + 1) // 2``.
    """

    __slots__ = ("corner", "denominator", "law", "numerator", "tail", "width")

    def __init__(self, numerator: int, denominator: int, tail: int, width: int = WIDTH) -> None:
        self.numerator, self.denominator = numerator, denominator
        self.tail, self.width = tail, width
        # Twice a magnitude of scaled exponential noise has a geometric whole part, of this law.
        self.law = Geometric(denominator, 2 * numerator, width)
        self.corner = 2 * numerator * (tail + 1) // denominator

    def tail_mass(self, bits: int) -> Bounds:
        """Enclose the probability ``c e^-c / (B + e^-c)`` of the tail, both sides together."""
        return share(exp_neg(self.tail + 1, 1, bits), self.tail + 1, self.tail, bits)

    def draw(self, source: Source) -> int:
        if undercuts(source, self.tail_mass, width=self.width):
            half = self.tail_half(source)
        else:
            half = self.law.draw(source)
            while half > self.corner or (  # beyond the core: drawn again
                half == self.corner and not undercuts(source, self._corner, width=self.width)
            ):
                half = self.law.draw(source)
        magnitude = (half + 1) // 2
        return -magnitude if source.bits(1) else magnitude

    def _corner(self, bits: int) -> Bounds:
        """Enclose the part of the half-step ``corner`` that lies within the core."""
        whole = 2 * self.numerator
        inside = whole * (self.tail + 1) - self.corner * self.denominator
        low, high = exp_neg(inside, whole, bits)
        least, most = exp_neg(self.denominator, whole, bits)
        one = 1 << bits
        return divide((max(0, one - high), one - low), (max(0, one - most), one - least), bits)

    def tail_half(self, source: Source) -> int:
        """Return the whole part of ``2 scale c U^(-1/B)``, bits of U as needed."""
        upper = (2 * self.numerator * (self.tail + 1)) ** self.tail
        lower = self.denominator**self.tail
        value, bits = 0, 0
        while True:
            value = value << self.width | source.bits(self.width)
            bits += self.width
            if value:
                near = root((upper << bits) // (lower * (value + 1)), self.tail)
                if near == root((upper << bits) // (lower * value), self.tail):
                    return near


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


_geometric = lru_cache(maxsize=256)(Geometric)
_gaussian = lru_cache(maxsize=256)(Gaussian)


def geometric(x: Rational, source: Source | None = None) -> int:
    """Return k = 0, 1, 2, ... with probability ``(1 - e^-x) e^(-xk)``.

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

    Examples
    --------
    >>> from fractions import Fraction
    >>> discrete_laplace(Fraction(1, 1000))
    0
    """
    numerator, denominator = ratio(scale, "discrete_laplace", "scale")
    return two_sided(_geometric(denominator, numerator).draw, source or system_source())


def discrete_gaussian(
    variance: Rational, source: Source | None = None, *, remember: bool = True
) -> int:
    """Return a whole number k with probability proportional to ``e^(-k^2 / (2 variance))``.

    Adding it to a count of sensitivity D is ``D^2 / (2 variance)``-zCDP (Canonne, Kamath and
    Steinke 2020, theorem 4). The law's own variance is never greater than the parameter.

    Tables to ``remember`` are kept for the next draw. Not where the variance is a private fact: a
    quick draw would tell that the same fact was met before.

    Examples
    --------
    >>> from fractions import Fraction
    >>> discrete_gaussian(Fraction(1, 1000))
    0
    """
    pair = ratio(variance, "discrete_gaussian", "variance")
    law = _gaussian(*pair) if remember else Gaussian(*pair)
    return law.draw(source or system_source())


def core_tail(scale: Rational, tail: int, source: Source | None = None) -> int:
    """Return ``scale * Z`` rounded, Z with a Laplace core and a power tail.

    The density of Z is proportional to ``e^-|z|`` for ``|z| <= c`` and to ``e^-c (c/|z|)^c``
    beyond, ``c = 1 + tail``. Added to a number with a ``beta``-smooth sensitivity bound S, with
    ``scale = S/alpha``, it is ``(alpha + tail * beta)``-DP (docs/mechanisms.md 3.3): a greater tail
    is lighter and asks for a smoother bound.

    Examples
    --------
    >>> from fractions import Fraction
    >>> isinstance(core_tail(Fraction(7, 2), 3), int)
    True
    """
    numerator, denominator = ratio(scale, "core_tail", "scale")
    power = positive_whole(tail, "core_tail", "tail")
    return CoreTail(numerator, denominator, power).draw(source or system_source())
