"""The laws of the samplers enclosed between fractions, by integer arithmetic alone.

Each function returns ``(low, high)`` with ``low <= probability <= high``, some 190 bits apart. The
enumeration tests compare the samplers' decision trees with these.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import isqrt

from whitecrow.noise._exact import exp_neg
from whitecrow.noise._source import Rational, ratio

Interval = tuple[Fraction, Fraction]

_BITS = 192


def bernoulli_exp(x: Rational, bits: int = _BITS) -> Interval:
    """Enclose ``e^-x``, for ``x >= 0``.

    Examples
    --------
    >>> low, high = bernoulli_exp(1, bits=16)
    >>> str(low), str(high), low <= Fraction(36788, 100000) <= high
    ('24109/65536', '12055/32768', True)
    """
    low, high = exp_neg(*ratio(x, "bounds.bernoulli_exp", "x", zero=True), bits)
    return Fraction(low, 1 << bits), Fraction(high, 1 << bits)


def bernoulli_logistic(x: Rational) -> Interval:
    """Enclose ``e^-x / (1 + e^-x)``, for ``x >= 0``."""
    low, high = bernoulli_exp(x)
    return low / (1 + low), high / (1 + high)


def geometric(k: int, x: Rational) -> Interval:
    """Enclose ``(1 - e^-x) e^(-xk)``, for ``k >= 0``."""
    low, high = bernoulli_exp(x)
    least, most = bernoulli_exp(k * Fraction(x))
    return (1 - high) * least, (1 - low) * most


def discrete_laplace(k: int, scale: Rational) -> Interval:
    """Enclose ``(1 - a) / (1 + a) * a^|k|`` with ``a = e^(-1/scale)``."""
    low, high = bernoulli_exp(1 / Fraction(scale))
    least, most = bernoulli_exp(abs(k) / Fraction(scale))
    return (1 - high) / (1 + high) * least, (1 - low) / (1 + low) * most


def discrete_gaussian(k: int, variance: Rational) -> Interval:
    """Enclose ``e^(-k^2 / 2v)`` over its sum; time grows with the deviation.

    The terms from ``last`` on, where the exponent passes 140, are below
    ``e^(-last^2 / 2v) / (1 - e^(-last / v))`` on each side.
    """
    v = Fraction(variance)
    last = isqrt(280 * v.numerator // v.denominator) + 2
    terms = [bernoulli_exp(j * j / (2 * v)) for j in range(1, last)]
    rest = bernoulli_exp(last * last / (2 * v))[1] / (1 - bernoulli_exp(last / v)[1])
    total_low = 1 + 2 * sum(low for low, _ in terms)
    total_high = 1 + 2 * (sum(high for _, high in terms) + rest)
    least, most = bernoulli_exp(k * k / (2 * v))
    return least / total_high, most / total_low


def exponential_levels(
    levels: Sequence[Rational], counts: Sequence[int], eta: Rational
) -> list[Interval]:
    """Enclose for each level its share of the weights ``counts[l] e^(eta levels[l])``.

    Examples
    --------
    >>> [str(low) for low, high in exponential_levels([5, 5], [3, 1], 1)]
    ['3/4', '1/4']
    """
    best = max(levels)
    weights = []
    for level, count in zip(levels, counts, strict=True):
        low, high = bernoulli_exp(eta * (best - level))
        weights.append((count * low, count * high))
    total_low = sum(low for low, _ in weights)
    total_high = sum(high for _, high in weights)
    return [(low / total_high, high / total_low) for low, high in weights]


def _core_tail_survival(z: Fraction, tail: int) -> Interval:
    """Enclose ``P(|Z| > z)`` (:func:`whitecrow.noise.laws.core_tail_survival`)."""
    c = tail + 1
    low, high = bernoulli_exp(c)
    if z <= c:
        least, most = bernoulli_exp(z)
        return (least + low / tail) / (1 + high / tail), (most + high / tail) / (1 + low / tail)
    power = Fraction(c, tail) * (c / z) ** tail
    return low * power / (1 + high / tail), high * power / (1 + low / tail)


def core_tail(k: int, scale: Rational, tail: int) -> Interval:
    """Enclose the probability that :func:`whitecrow.noise.core_tail` gives ``k``."""
    s = Fraction(scale)
    low, high = _core_tail_survival((abs(k) + Fraction(1, 2)) / s, tail)
    if k == 0:
        return 1 - high, 1 - low
    least, most = _core_tail_survival((abs(k) - Fraction(1, 2)) / s, tail)
    return (least - high) / 2, (most - low) / 2
