"""How often a yes/no answer about one record is turned over, and why that is enough.

Everything here is a function of two counts taken around the record ``i`` that is asked about:
``copies`` (the paper's ``x_i``) and ``neighbours`` (``B_x(i, r)``, copies included). The proofs
are in ``identify/proof.md`` and ``screen/proof.md``; ``verify`` checks them on every edge of small
universes.

References
----------
Asif, Vaidya, Papakonstantinou, "Identifying Anomalies while Preserving Privacy", Section 8:
Construction 1, equations (4) and (5), Theorem 5.
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
        How many records lie within the radius, the copies included.
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
    """
    _check_counts(copies, neighbours, beta=beta, k=k)
    if radius_is_zero:
        if copies != neighbours:
            raise invalid(
                "discrepancy", "neighbours", "equal to 'copies' at radius 0", (copies, neighbours)
            )
        if k < beta:
            return _distance_between_copies(copies, beta=beta, k=k)
    tau = beta + 1 - k
    if copies == 0:
        return 2 + neighbours - beta if neighbours >= beta else max(1, tau - neighbours)
    if neighbours > beta:
        return neighbours - beta
    missing = tau - 1 - (neighbours - copies) if tight else tau - neighbours
    return min(beta + 1 - neighbours, copies + max(0, missing))


def _distance_between_copies(copies: int, *, beta: int, k: int) -> int | None:
    """Return the exact distance at radius 0 for ``k < beta``: a path of counts from beta-k up."""
    if copies < beta - k:
        return None
    return beta + 1 - copies if copies <= beta else copies - beta


def novelty_discrepancy(neighbours: int, *, beta: int) -> int:
    """Return the exact distance, under differential privacy, of the question ``screen``.

    The answer "it would be an anomaly" holds for ``neighbours + 1 <= beta`` and depends on the
    data through ``neighbours`` alone (docs/mechanisms.md 10.1).

    Examples
    --------
    >>> [novelty_discrepancy(n, beta=3) for n in range(6)]
    [3, 2, 1, 1, 2, 3]
    """
    return beta - neighbours if neighbours < beta else neighbours - beta + 1


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


def _check_counts(copies: int, neighbours: int, *, beta: int, k: int) -> None:
    for name, value, least in (
        ("copies", copies, 0),
        ("neighbours", neighbours, copies),
        ("beta", beta, 1),
        ("k", k, 1),
    ):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
            raise invalid("discrepancy", name, f"a whole number of at least {least}", value)
