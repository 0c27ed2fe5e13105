"""Pure-DP noise for smooth sensitivity: Laplace core with power tail.

It is the ideal real-valued noise times a scale, rounded to the nearest whole number; bits of the
ideal noise are drawn until the rounding is certain, so the output is exactly a rounding of the
ideal mechanism and inherits its guarantee by post-processing. Ties have probability 0 (half away
from zero, as written).

The scale is a private fact here (a smooth sensitivity), so nothing is cached.
"""

from __future__ import annotations

from whitecrow.noise._exact import WIDTH, Bounds, divide, exp_neg, root, undercuts
from whitecrow.noise._integers import Geometric
from whitecrow.noise._source import Rational, Source, positive_whole, ratio, system_source


class CoreTail:
    """The noise of :func:`core_tail` with ``scale = numerator/denominator`` and ``B = tail``.

    All parts work with ``h``, the whole part of twice the magnitude: the rounded magnitude is
    ``(h + 1) // 2``.
    """

    __slots__ = ("corner", "denominator", "law", "numerator", "tail", "width")

    def __init__(self, numerator: int, denominator: int, tail: int, width: int = WIDTH) -> None:
        self.numerator, self.denominator, self.tail, self.width = (
            numerator,
            denominator,
            tail,
            width,
        )
        # Twice a magnitude of scaled exponential noise has a geometric whole part, of this law.
        self.law = Geometric(denominator, 2 * numerator, width)
        self.corner = 2 * numerator * (tail + 1) // denominator

    def tail_mass(self, bits: int) -> Bounds:
        """Enclose the probability ``c e^-c / (B + e^-c)`` of the tail, both sides together."""
        low, high = exp_neg(self.tail + 1, 1, bits)
        base = self.tail << bits
        least = divide(((self.tail + 1) * low,) * 2, (base + low,) * 2, bits)[0]
        return least, divide(((self.tail + 1) * high,) * 2, (base + high,) * 2, bits)[1]

    def draw(self, source: Source) -> int:
        tail = undercuts(source, self.tail_mass, 0, 0, self.width)
        half = self.tail_half(source) if tail else self.core_half(source, self.law.draw(source))
        magnitude = (half + 1) // 2
        return -magnitude if source.bits(1) else magnitude

    def core_half(self, source: Source, half: int) -> int:
        """Return a half-step count within the core, from a first draw that may lie beyond."""
        while half > self.corner or (
            half == self.corner and not undercuts(source, self._corner, 0, 0, self.width)
        ):
            half = self.law.draw(source)
        return half

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
