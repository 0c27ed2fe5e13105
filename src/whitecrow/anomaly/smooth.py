"""The smooth sensitivity of the number of outliers.

With ``mu`` admissible (:mod:`whitecrow.anomaly.ball_cover`), ``k = beta`` and

    P_t^c = the records whose number of other records within the radius is c, give or take t,

`mechanisms.md` 3.1 bounds how far one change can move the count t changes away from the data::

    replace_one   U_t = max(mu(P_t^k), mu(P_t^(k-1))) + t + 1
    add_remove    U_t = max(1, max(mu(P_t^k), mu(P_t^(k-1))) + t)
    S = max over t >= 0 of decay^t min(cap, U_t),    decay = e^-smoothing,

with the cap of :func:`whitecrow.anomaly.kissing.global_sensitivity`. S is at least the local
sensitivity and changes by a factor of at most 1/decay from a database to its neighbour. The proof
is in `count/proof.md`, the exhaustive check in `whitecrow verify count`.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from whitecrow.anomaly.ball_cover import METRICS, Points, as_points, cover
from whitecrow.anomaly.kissing import global_sensitivity
from whitecrow.errors import invalid
from whitecrow.neighbours import count_all

__all__ = ["RELATIONS", "degrees_needed", "horizon", "least_bound", "smooth_bound",
           "smooth_sensitivity"]  # fmt: skip

RELATIONS = ("add_remove", "replace_one")


def smooth_sensitivity(
    points: ArrayLike,
    *,
    beta: int,
    radius: float,
    smoothing: float | Fraction,
    relation: str = "add_remove",
    metric: str = "euclidean",
) -> float:
    """Return a smooth upper bound of the local sensitivity of the number of outliers.

    .. warning:: The value is an exact private fact. Release it only through a mechanism.

    Parameters
    ----------
    points : array of shape (n, d) or (n,)
        The records; an outlier has at most ``beta`` of them, itself included, within ``radius``.
    beta : int
        At least 1; the paper's k.
    radius : float
        Of the closed ball.
    smoothing : float
        The paper's beta: S grows by a factor of at most ``e^smoothing`` from one database to a
        neighbouring one.
    relation : {"add_remove", "replace_one"}
        What neighbouring means.
    metric : {"euclidean", "manhattan", "chebyshev"}

    Examples
    --------
    >>> round(smooth_sensitivity([3, 4, 4], beta=1, radius=1, smoothing=0.3), 4)
    1.4816
    """
    owner = "smooth_sensitivity"
    records = as_points(points, owner)
    if isinstance(beta, bool) or not isinstance(beta, int) or beta < 1:
        raise invalid(owner, "beta", "a whole number of at least 1", beta)
    if not (isinstance(smoothing, int | float | Fraction) and 0 < smoothing < math.inf):
        raise invalid(owner, "smoothing", "a number above 0", smoothing)
    if relation not in RELATIONS:
        raise invalid(owner, "relation", f"one of {', '.join(RELATIONS)}", relation)
    if metric not in METRICS:
        raise invalid(owner, "metric", f"one of {', '.join(METRICS)}", metric)
    cap = global_sensitivity(
        beta, records.shape[1], relation, metric=metric, radius=radius, size=len(records)
    )
    decay = Fraction(math.exp(-smoothing))
    if len(records) == 0:
        return float(least_bound(cap, decay, relation))
    most = degrees_needed(beta, horizon(cap, decay, relation))
    degrees = count_all(records, radius, metric, most)
    return float(
        smooth_bound(
            records, degrees, beta=beta, radius=radius, metric=metric, relation=relation,
            cap=cap, decay=decay,
        )
    )  # fmt: skip


def smooth_bound(
    points: Points,
    degrees: NDArray[np.int64],
    *,
    beta: int,
    radius: float,
    metric: str,
    relation: str,
    cap: int,
    decay: Fraction,
) -> Fraction:
    """Return S exactly, from the numbers of records within the radius of each record.

    Parameters
    ----------
    points, degrees
        The records, and how many records are within the radius of each, itself included, exact
        up to ``degrees_needed(beta, horizon(cap, decay, relation))``.
    cap : int
        The global sensitivity.
    decay : Fraction
        ``e^-smoothing``, a rational number below 1.
    """
    last = horizon(cap, decay, relation)
    near = np.flatnonzero(degrees < degrees_needed(beta, last))
    points, others = points[near], degrees[near] - 1
    best = least_bound(cap, decay, relation)
    weight = Fraction(1)
    for t in range(last + 1):
        # Later terms are at most weight * cap: once that is no more than the best, it stays so.
        if weight * cap <= best:
            break
        own = 1 if relation == "replace_one" else 0
        value = max(1, t + own)
        # Only a value of more than best / weight matters; mu is asked for above that and up to
        # the cap, which cuts the search short and leaves the maximum what it is.
        floor = max(value, math.floor(best / weight)) - t - own
        for centre in (beta, beta - 1):
            if t >= beta and centre < beta:
                continue  # P_t^(k-1) is part of P_t^k: both reach down to no neighbour at all
            chosen = points[np.abs(others - centre) <= t]
            floor = cover(chosen, radius, metric, max(floor, 0), cap - t - own)
            value = max(value, floor + t + own)
        best = max(best, weight * min(cap, value))
        weight *= decay
    return best


@lru_cache(maxsize=256)
def horizon(cap: int, decay: Fraction, relation: str) -> int:
    """Return the last t that can matter, whatever the data.

    U_t is at least t + 1 (replace_one) or t (add_remove), so from t = cap - 1, respectively
    t = cap, on every term is the cap's and later ones are smaller; and no term beyond the
    horizon exceeds the least value that S can have.
    """
    least = least_bound(cap, decay, relation)
    last = cap - 1 if relation == "replace_one" else cap
    # The first t with decay^(t+1) cap <= least, found in floating point and then made exact.
    ratio = math.log(cap) - _log(least)
    t = max(0, min(last, math.ceil(ratio / -_log(decay)) - 2))
    while t < last and decay ** (t + 1) * cap > least:
        t += 1
    return t


@lru_cache(maxsize=256)
def least_bound(cap: int, decay: Fraction, relation: str) -> Fraction:
    """Return the least value S takes on any data: that of an empty database."""
    own = 1 if relation == "replace_one" else 0
    best = Fraction(1)
    weight = Fraction(1)
    # t decay^t rises up to t = 1 / ln(1/decay) and falls afterwards.
    for t in range(1, min(cap, math.ceil(-1 / _log(decay)) + 1) + 1):
        weight *= decay
        best = max(best, weight * min(cap, t + own))
    return min(best, Fraction(cap)) if cap > 0 else Fraction(0)


def degrees_needed(beta: int, last: int) -> int:
    """Return the number of records, itself included, beyond which degrees need not be known."""
    return beta + last + 2


def _log(number: Fraction) -> float:
    """Return the logarithm of a rational whose terms may be too large for a double."""
    return math.log(number.numerator) - math.log(number.denominator)
