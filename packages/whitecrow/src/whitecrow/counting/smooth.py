"""The smooth sensitivity of the number of outliers.

With ``mu`` admissible (:mod:`~whitecrow.counting.ball_cover`), ``k = beta``, c one of k, k - 1, and

    P[i, j] = the records with i to j other records within the radius,

one change can move the count, t changes away from the data, by at most (`count/proof.md` 3)::

    replace_one   U_t = max over c of mu(P[c - t, c + t]) + t + 1
    add_remove    U_t = max(1, max over c and a + b = t of mu(P[c - a, c + b]) + a)
    S = max over t >= 0 of w_t min(cap, U_t),    w_t = decay^t, decay = e^-smoothing,

with the cap of :func:`whitecrow.counting.kissing.global_sensitivity` and weights rounded up so that
they stay short (:func:`weights`). The second line is sharper
than the coarser form in docs/mechanisms.md 3.1, which has ``a = b = t``: a additions raise degrees
by at most a, b removals lower them by at most b, and only additions bring new records into a ball.

S is at least the local sensitivity and changes by a factor of at most 1/decay from a database to
its neighbour. The exhaustive check is `whitecrow verify count`.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from whitecrow._arrays import Floats, Ints
from whitecrow.counting.ball_cover import METRICS, as_points, cover, crowding
from whitecrow.counting.kissing import global_sensitivity
from whitecrow.errors import invalid
from whitecrow.neighbours import count_all
from whitecrow.neighbours.plans import count_plain
from whitecrow.neighbours.relation import lower

RELATIONS = ("add_remove", "replace_one")

_FEW = 1000


def smooth_sensitivity(
    points: ArrayLike,
    *,
    beta: int,
    radius: float,
    smoothing: float | Fraction,
    relation: str = "add_remove",
    metric: str = "euclidean",
    exactly: bool = True,
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
    exactly : bool
        Whether distances between records of the domain are free of rounding, as between whole
        numbers. If not, the bound in the plane is 6 beta instead of 5 beta; see
        :mod:`whitecrow.counting.kissing`.

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
        beta,
        records.shape[1],
        relation,
        metric=metric,
        radius=radius,
        exactly=exactly,
        size=len(records),
    )
    decay = Fraction(math.exp(-smoothing))
    if len(records) == 0:
        return float(least_bound(cap, decay, relation))
    last = horizon(cap, decay, relation, len(records))
    degrees = _degrees(records, radius, metric, degrees_needed(beta, last))
    return float(
        smooth_bound(
            records, degrees, beta=beta, radius=radius, metric=metric, relation=relation,
            cap=cap, decay=decay,
        )
    )  # fmt: skip


def _degrees(records: Floats, radius: float, metric: str, most: int) -> Ints:
    """Count neighbours; few records without the compiled kernels, which take a while to load."""
    if len(records) > _FEW:
        return count_all(records, radius, metric, most)
    return count_plain(records, lower(metric, radius, (), records.shape[1]), records, most)


def smooth_bound(
    points: Floats,
    degrees: Ints,
    *,
    beta: int,
    radius: float,
    metric: str,
    relation: str,
    cap: int,
    decay: Fraction,
    size: float | None = None,
) -> Fraction:
    """Return S exactly, from how many records are within the radius of each record, itself
    included.

    Records with ``degrees_needed(beta, horizon(...))`` or more may be left out or given as that;
    ``size`` then bounds the number of records of the whole database. The cap is the global
    sensitivity, and the decay ``e^-smoothing``, a rational number below 1.
    """
    last = horizon(cap, decay, relation, len(points) if size is None else size)
    near = np.flatnonzero(degrees < degrees_needed(beta, last))
    least, falling = least_bound(cap, decay, relation), list(weights(decay, last))
    search = _Maximum(points[near], degrees[near] - 1, radius, metric, cap, falling, least)
    if relation == "replace_one":
        search.replacements(beta)
    else:
        # Of c = k - 1 the terms without removals; its other ones are below those with c = k.
        search.additions(beta - 1, 0)
        for removals in range(last + 1):
            if not search.additions(beta, removals):
                break
    return search.best


@dataclass(repr=False, eq=False)
class _Maximum:
    """The largest ``weights[t] min(cap, mu(P[low, high]) + extra)`` so far.

    Only a value of more than ``best / weights[t]`` matters, and none above the cap does; mu is
    asked for between these two, which saves most of the work and leaves the maximum what it is.
    Doubles say which terms cannot matter, with a margin for their rounding; what remains is
    computed exactly, the most promising first.
    """

    points: Floats
    others: Ints  # how many others are near each
    radius: float
    metric: str
    cap: int
    weights: list[Fraction]
    best: Fraction

    def __post_init__(self) -> None:
        self._rough = np.array([float(weight) for weight in self.weights])
        self._extras = np.arange(len(self.weights), dtype=np.float64)
        self._crowding = crowding(self.points, self.radius, self.metric)
        self._floors: list[tuple[int, int]] = []

    def raise_to(self, best: Fraction) -> None:
        self.best = max(self.best, best)

    def term(self, t: int, extra: int, low: int, high: int, most: int | None = None) -> None:
        """Take one term into the maximum; ``most`` bounds its mu from above, if known."""
        ceiling = self.cap - extra if most is None else min(self.cap - extra, most)
        floor = max(0, math.floor(self.best / self.weights[t]) - extra)
        size = self._mu(low, high, floor, ceiling)
        if size > floor:
            self.raise_to(self.weights[t] * (size + extra))

    def replacements(self, beta: int) -> None:
        """Take in the terms of replace_one; mu is at most the number of points in any of them."""
        most = np.minimum(float(min(self.cap, _FAR)), len(self.points) + self._extras + 1)
        values = self._rough * most
        for t in map(int, np.argsort(-values, kind="stable")):
            if values[t] < self._low():
                return
            for centre in (beta, beta - 1):
                self.term(t, t + 1, centre - t, centre + t)

    def additions(self, centre: int, removals: int) -> bool:
        """Take in the terms with one number of removals and any of additions.

        Their sets are parts of P[0, c + b]: if its mu is too small for all of them, they are all
        done; otherwise it bounds each, and is the mu of those that reach down to 0. The mu that
        would matter grows with the removals: once it is more than there are points, this returns
        False, and no further removals need be looked at.
        """
        high = centre + removals
        weights = self._rough[removals:]
        extras = self._extras[: len(weights)]
        enough = float((self._low() / weights - extras).min())
        least = max(0, min(math.floor(enough), len(self.points)))
        # mu grows with the set: what that of fewer removals has is a floor.
        floor = max([least, *(mu for below, mu in self._floors if below <= high)])
        most = self._mu(0, high, floor, self.cap)
        if most > floor:
            self._floors.append((high, most))
        if most <= least:
            return len(self.points) > least
        values = weights * np.minimum(float(min(self.cap, _FAR)), most + extras)
        for index in np.argsort(-values, kind="stable"):
            if values[index] < self._low():
                break
            extra = int(index)
            t = removals + extra
            if extra < centre:
                self.term(t, extra, centre - extra, high, most)
            else:
                self.raise_to(self.weights[t] * min(most + extra, self.cap))
        return True

    def _low(self) -> float:
        """A double below the maximum so far."""
        return float(self.best) * _MARGIN

    def _mu(self, low: int, high: int, floor: int, ceiling: int) -> int:
        """Return mu(P[low, high]), cut to ``floor .. ceiling``."""
        if floor >= ceiling:
            return floor
        chosen = (low <= self.others) & (self.others <= high)
        if self._crowding is not None:
            chosen &= self._crowding > floor
        return cover(self.points[chosen], self.radius, self.metric, floor, ceiling)


_MARGIN = 1 - 2.0**-40  # for a handful of roundings of doubles

_FAR = 1 << 62  # more than any number of records: a cap beyond it is none


def weights(decay: Fraction, last: int) -> Iterator[Fraction]:
    """Yield w_0 = 1, w_1, ..., w_last with ``w_(t+1) >= decay w_t``, equal but for rounding up.

    Smoothness asks for that inequality alone, so the weights may be rounded up to 64 binary
    digits: powers of the decay would grow by some digits at each step.

    Examples
    --------
    >>> [float(w) for w in weights(Fraction(1, 2), 3)]
    [1.0, 0.5, 0.25, 0.125]
    """
    yield Fraction(1)
    above, below = decay.numerator, decay.denominator
    weight, places = 1 << 64, 64  # the weight is this whole number over 2^places
    for _ in range(last):
        weight = -(-weight * above // below)
        short = max(0, 65 - weight.bit_length())
        # Doubling is exact, so that the next rounding is as fine as the last.
        weight, places = weight << short, places + short
        yield Fraction(weight, 1 << places)


def horizon(cap: int, decay: Fraction, relation: str, size: float) -> int:
    """Return a t beyond which no term of any database of at most this size can matter.

    U_t is at least t + 1 (replace_one) or t (add_remove), so from t = cap - 1, respectively
    t = cap, on every term is the cap's and later ones are smaller. And U_t is at most size + t + 1,
    while S has a least value: terms that fall below that are done.
    """
    least = float(least_bound(cap, decay, relation)) * (1 - 1e-9)
    rate = math.log(decay.denominator) - math.log(decay.numerator)
    end = cap - 1 if relation == "replace_one" else cap

    def settled(t: int) -> bool:
        """Whether all terms after t are below the least value: they rise to a peak, then fall."""
        after = max(t + 1, math.ceil(1 / rate))
        return math.log(min(cap, size + after + 1)) - rate * (t + 1) <= math.log(least)

    far = 1
    while far < end and not settled(far):
        far *= 2
    return bisect_left(range(min(far, end)), True, key=settled)


@lru_cache(maxsize=256)
def least_bound(cap: int, decay: Fraction, relation: str) -> Fraction:
    """Return the least value S takes on any data: that of an empty database."""
    own = 1 if relation == "replace_one" else 0
    # t decay^t rises up to t = 1 / ln(1/decay) and falls afterwards.
    rate = math.log(decay.denominator) - math.log(decay.numerator)
    last = min(cap, math.ceil(1 / rate) + 1)
    return max(weight * min(cap, max(1, t + own)) for t, weight in enumerate(weights(decay, last)))


def degrees_needed(beta: int, last: int) -> int:
    """Return the number of records, itself included, beyond which degrees need not be known."""
    return beta + last + 2
