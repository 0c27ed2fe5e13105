"""When a record is an anomaly, how far the other answer is, and how often an answer is flipped.

Everything here is a function of two numbers taken around the record ``i`` that is asked about:
``copies`` (the paper's ``x_i``) and ``neighbours``, which is ``B_x(i, r)`` where records near it
are counted, and what they weigh together, copies included, where they are weighed. The proofs are
in ``identify/proof.md``, ``screen/proof.md`` and ``anomaly/proof.md``; ``verify`` checks them on
every edge of small universes.

References
----------
Asif, Vaidya, Papakonstantinou, "Identifying Anomalies while Preserving Privacy", Section 8:
equations (4) and (5), Theorem 5, Construction 1.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from whitecrow.errors import invalid
from whitecrow.noise import Source, bernoulli_exp, bernoulli_logistic
from whitecrow.privacy import exact


def is_anomaly(copies: int, neighbours: int, *, beta: int) -> bool:
    """Say whether a record is *present* and has at most ``beta`` neighbours (Definition 1)."""
    return copies >= 1 and neighbours <= beta


def discrepancy(
    copies: int,
    neighbours: int,
    *,
    beta: int,
    k: int,
    radius_is_zero: bool = False,
    tight: bool = False,
    own: int = 1,
) -> int | None:
    """Return the bound λ on the number of steps to a database with the other answer.

    Construction 1 answers wrongly with probability ``exp(-ε(λ-1)) / (1+exp(ε))``; it is
    (ε, k)-sensitively private because λ is at least 1, changes by at most 1 along every edge of
    the sensitive neighbourhood graph and is 1 at both ends of an edge that changes the answer.

    Parameters
    ----------
    copies : int
        How many records equal the one asked about.
    neighbours : int
        How many records lie within the radius, or what they weigh; the copies included.
    beta : int
        Most neighbours an anomaly may have; at least 1.
    k : int
        How many insertions or removals away a record may be from normal and still be protected.
        With ``k >= beta`` the bound is equation (4), the exact distance under differential privacy.
    radius_is_zero : bool
        The neighbours are the copies; the bound is then the exact distance.
    tight : bool
        Use λ*, the largest valid bound that depends on the two counts alone. It differs from
        equation (5) only for two or more copies and ``k >= 3``.
    own : int
        What a copy weighs, and at least what any record does; 1 where records are counted.

    Returns
    -------
    int or None
        None where no database with the other answer can be reached: the answer is then exact.

    Examples
    --------
    >>> discrepancy(1, 1, beta=18, k=2)
    17
    >>> discrepancy(2, 2, beta=4, k=3), discrepancy(2, 2, beta=4, k=3, tight=True)
    (2, 3)
    >>> discrepancy(1, 1, beta=20, k=2, radius_is_zero=True) is None
    True
    >>> discrepancy(1, 3, beta=54, k=2, own=3)
    17
    """
    _check(copies, neighbours, beta=beta, k=k, own=own)
    if radius_is_zero:
        if own * copies != neighbours:
            must = "equal to 'copies' at radius 0"
            raise invalid("discrepancy", "neighbours", must, (copies, neighbours))
        most = beta // own  # so many copies weigh no more than beta
        if k < most:  # the exact distance: a path of counts from most - k up
            if copies < most - k:
                return None
            return most + 1 - copies if copies <= most else copies - most
    tau = beta + 1 - k * own
    if copies == 0:
        too_much, too_little = neighbours + own - beta, tau - own - neighbours
        return 1 + _steps(too_much if too_much > 0 else too_little, own)
    if neighbours > beta:
        return _steps(neighbours - beta, own)
    missing = tau - own - (neighbours - own * copies) if tight else tau - neighbours
    return min(_steps(beta + 1 - neighbours, own), copies + _steps(missing, own))


def _steps(weight: int, own: int) -> int:
    """How many records it takes to add or remove a weight; none for what is not there."""
    return max(0, -(-weight // own))


def novelty_discrepancy(neighbours: int, *, beta: int, own: int = 1) -> int:
    """Return the exact distance, under differential privacy, of the question ``screen``.

    The answer "it would be an anomaly" holds for ``neighbours + own <= beta`` and depends on the
    data through ``neighbours`` alone (docs/mechanisms.md 10.1).
    """
    above = neighbours + own - beta
    return _steps(above if above > 0 else 1 - above, own)


def _check(copies: int, neighbours: int, *, beta: int, k: int, own: int) -> None:
    for name, value, least in (
        ("own", own, 1),
        ("copies", copies, 0),
        ("neighbours", neighbours, own * copies),
        ("beta", beta, own),
        ("k", k, 1),
    ):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
            raise invalid("discrepancy", name, f"a whole number of at least {least}", value)


def error_cap(epsilon: Fraction, floor: Fraction) -> int:
    """Return the smallest useful cap ``c`` on λ: beyond it errors are rarer than ``floor``.

    ``min(λ, c)`` is as private as λ (a constant keeps every property the proof uses), and
    neighbours need to be counted only up to ``beta + c``.
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
    """Draw whether an answer at this distance is flipped.

    The probability is a product of two that are drawn exactly from rationals, so nothing
    underflows: the wrong answer keeps its exact probability however small it is.
    """
    if bound is None:
        return False
    return bernoulli_exp(step * (bound - 1), source) and bernoulli_logistic(step, source)
