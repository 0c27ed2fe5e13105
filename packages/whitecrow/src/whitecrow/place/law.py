"""How often a yes/no answer about one record is turned over: Construction 1, drawn exactly.

References
----------
Asif, Vaidya, Papakonstantinou, "Identifying Anomalies while Preserving Privacy", Section 8:
Construction 1; the distance λ is in :mod:`whitecrow.anomaly.law`.
"""

from __future__ import annotations

import math
from fractions import Fraction

from whitecrow.anomaly.law import discrepancy, is_anomaly, novelty_discrepancy
from whitecrow.errors import invalid
from whitecrow.noise import Source, bernoulli_exp, bernoulli_logistic
from whitecrow.privacy import exact

__all__ = [
    "capped",
    "discrepancy",
    "error_cap",
    "flip",
    "flip_probability",
    "is_anomaly",
    "novelty_discrepancy",
]


def error_cap(epsilon: Fraction, floor: Fraction) -> int:
    """Return the smallest useful cap ``c`` on λ: beyond it errors are rarer than ``floor``.

    ``min(λ, c)`` is as private as λ (a constant keeps every property the proof uses), and
    neighbours need to be counted only up to ``beta + c``.

    Examples
    --------
    >>> error_cap(Fraction(1, 10), Fraction(1, 10**9))
    209
    """
    steps = Fraction(math.log(floor.denominator) - math.log(floor.numerator)) / epsilon
    return 1 + math.ceil(steps)


def capped(bound: int | None, cap: int) -> int | None:
    """Return ``min(bound, cap)``; an exact answer stays exact."""
    return None if bound is None else min(bound, cap)


def flip_probability(discrepancy: int | None, epsilon: object) -> float:
    """Return the probability of a wrong answer, ``exp(-ε(λ-1)) / (1+exp(ε))``, as a float.

    For people and plots only: answers are drawn exactly, without this number, because a
    probability that underflows to 0 on one side of an edge would break the guarantee.

    Examples
    --------
    >>> round(flip_probability(1, Fraction(1, 10)), 6)
    0.475021
    >>> flip_probability(None, 1)
    0.0
    """
    if discrepancy is None:
        return 0.0
    if discrepancy < 1:
        raise invalid("flip_probability", "discrepancy", "at least 1, or None", discrepancy)
    rate = exact(epsilon, owner="flip_probability")
    return math.exp(-float(rate * discrepancy)) / (1.0 + math.exp(-float(rate)))


def flip(bound: int | None, step: Fraction, source: Source | None) -> bool:
    """Draw whether an answer at this distance is turned over.

    The probability is a product of two that are drawn exactly from rationals, so nothing
    underflows: the wrong answer keeps its exact probability however small it is.
    """
    if bound is None:
        return False
    return bernoulli_exp(step * (bound - 1), source) and bernoulli_logistic(step, source)
