"""Exact coins: rational, exponential and logistic probabilities.

Each decides ``U < p`` for a uniform real ``U`` of which only as many bits are drawn as the decision
needs. The parameter of these coins is often a private fact, so nothing here is cached: a warm cache
would tell that the same fact was met before.
"""

from __future__ import annotations

from whitecrow.noise._check import Rational, ratio, refuse
from whitecrow.noise._enclose import Bounds, divide, exp_neg
from whitecrow.noise._source import Source, system_source
from whitecrow.noise._table import undercuts

__all__ = [
    "COIN_WIDTH",
    "bernoulli",
    "bernoulli_exp",
    "bernoulli_logistic",
    "exp_coin",
    "logistic",
    "logistic_coin",
]

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


def exp_coin(source: Source, numerator: int, denominator: int, width: int = COIN_WIDTH) -> bool:
    """Return True with probability ``exp(-numerator/denominator)``; the arguments are trusted."""
    return undercuts(
        source, lambda bits: exp_neg(numerator, denominator, bits), source.bits(width), width, width
    )


def bernoulli_exp(x: Rational, source: Source | None = None) -> bool:
    """Return True with probability exactly ``exp(-x)``, for ``x >= 0``.

    The law is that of algorithm 1 of Canonne, Kamath and Steinke (2020); the draw is a comparison
    of a lazily drawn uniform number with certified bounds of ``exp(-x)`` (``proof.md`` 3).

    Examples
    --------
    >>> bernoulli_exp(0), bernoulli_exp(10**6)
    (True, False)
    """
    numerator, denominator = ratio(x, "bernoulli_exp", "x", zero=True)
    return exp_coin(source or system_source(), numerator, denominator)


def logistic(numerator: int, denominator: int, bits: int) -> Bounds:
    """Enclose ``e^-x / (1 + e^-x)`` for the rational ``x = numerator/denominator >= 0``."""
    low, high = exp_neg(numerator, denominator, bits)
    one = 1 << bits
    # y / (1 + y) grows with y, so each end comes from one end of the enclosure.
    return divide((low, low), (one + low, one + low), bits)[0], divide(
        (high, high), (one + high, one + high), bits
    )[1]


def logistic_coin(
    source: Source, numerator: int, denominator: int, width: int = COIN_WIDTH
) -> bool:
    """Return True with probability ``e^-x / (1 + e^-x)``; the arguments are trusted."""
    return undercuts(
        source,
        lambda bits: logistic(numerator, denominator, bits),
        source.bits(width),
        width,
        width,
    )


def bernoulli_logistic(x: Rational, source: Source | None = None) -> bool:
    """Return True with probability exactly ``e^-x / (1 + e^-x)``, for ``x >= 0``.

    This is the coin of Construction 1 of sensitive privacy (docs/mechanisms.md 7): the error
    probability at the boundary is ``1 / (1 + e^epsilon)``.

    Examples
    --------
    >>> bernoulli_logistic(10**6)
    False
    """
    numerator, denominator = ratio(x, "bernoulli_logistic", "x", zero=True)
    return logistic_coin(source or system_source(), numerator, denominator)
