"""What a detector is, and four of them in exact arithmetic: Grubbs, LOF, histogram, distance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from math import isqrt
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from whitecrow.anomaly.weights import DistanceAnomaly
from whitecrow.declaration import whole
from whitecrow.errors import invalid
from whitecrow.privacy import exact

Values = NDArray[np.int64]
"""A population's metric in whole steps of a public resolution, ascending; the record included."""


@runtime_checkable
class Detector(Protocol):
    """Says of one record of a population whether its metric is an outlier there.

    The verdict is a function of the *multiset* of values and of the record's own value, computed
    in exact arithmetic: no order of records, no other route of evaluation and no rounding can
    change it. Privacy proofs rest on this (docs/mechanisms.md 4.2).
    """

    kind: ClassVar[str]

    def outlier(self, values: Values, own: int) -> bool:
        """Return the verdict on a member with value ``own`` among ascending ``values``."""

    def words(self) -> str:
        """Say when a record is an outlier."""

    def to_json(self) -> dict[str, Any]:
        """Return a plain JSON object with the detector's ``kind``."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Detector:
        """Build the detector that :meth:`to_json` wrote."""


def plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters as JSON: rationals as text."""
    return {name: str(v) if isinstance(v, Fraction) else v for name, v in values.items()}


@dataclass(frozen=True)
class _Parametrised:
    """Detectors whose JSON is their kind and their parameters."""

    kind: ClassVar[str]

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, **plain(vars(self))}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        return cls(**{parameter.name: data[parameter.name] for parameter in fields(cls)})


_SIDES = {"both": "from", "high": "above", "low": "below"}
"""What may be flagged, and where of the mean that lies."""

_BITS = 24
"""Critical values are rounded to this many binary places: far finer than the test's meaning, far
coarser than the error of any quantile routine, so that every machine has the same table."""


@dataclass(frozen=True)
class Grubbs(_Parametrised):
    """An outlier lies too many standard deviations from the mean for its population's size.

    The record is flagged iff ``|v - mean| / sd > (n-1)/sqrt(n) * sqrt(T^2 / (n-2+T^2))`` with
    ``T`` the upper ``level/(2n)`` quantile of Student's t with ``n-2`` degrees of freedom
    (``level/n`` for one side): one single test of this record, not iterated. With ``y`` the
    members' distances from the record, ``S1 = sum y`` and ``S2 = sum y^2``, that is
    ``S1^2 > share * n * S2`` with ``share = (n-1) T^2 / (n-2 + n T^2)``, which whole numbers decide
    exactly. Populations of fewer than three have no outliers.

    References
    ----------
    F. E. Grubbs, Procedures for detecting outlying observations in samples, Technometrics 11, 1969.

    Examples
    --------
    >>> import numpy as np
    >>> Grubbs().outlier(np.array([0, 1, 2, 3, 4, 5, 60]), 60)
    True
    """

    level: Fraction = Fraction(1, 20)  # the test's level, between 0 and 1
    # {"both", "high", "low"}: Whether to flag values on both sides of the mean, or only above or
    # below it.
    sides: str = "both"
    kind: ClassVar[str] = "grubbs"

    def __post_init__(self) -> None:
        level = exact(self.level, owner="Grubbs", parameter="level")
        if level >= 1:
            raise invalid("Grubbs", "level", "a number above 0 and below 1", self.level)
        object.__setattr__(self, "level", level)
        if self.sides not in _SIDES:
            raise invalid("Grubbs", "sides", f"one of {', '.join(_SIDES)}", self.sides)

    def shares(self, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the critical share of ``S1^2`` in ``n * S2`` for populations of these sizes.

        The share is a multiple of 2^-24, hence exact in double precision; sizes under 3 get a
        share that is never exceeded.
        """
        from scipy import special  # scipy takes long to import

        n = np.maximum(np.asarray(sizes, dtype=np.float64), 3)
        tails = 2 if self.sides == "both" else 1
        square = special.stdtrit(n - 2, float(self.level) / (tails * n)) ** 2
        share = (n - 1) * square / (n - 2 + n * square)
        rounded = np.rint(share * 2.0**_BITS) / 2.0**_BITS
        return np.where(np.asarray(sizes) < 3, 2.0, rounded)

    def outlier(self, values: Values, own: int) -> bool:
        total, squares = moments(values, own)
        if (self.sides == "high" and total > 0) or (self.sides == "low" and total < 0):
            return False
        size = len(values)
        share = Fraction(float(self.shares(np.array([size]))[0]))
        return total * total > share * size * squares

    def words(self) -> str:
        where = f"{_SIDES[self.sides]} the mean"
        return f"it lies too far {where} by Grubbs' test at level {self.level!s}"


def moments(values: Values, own: int) -> tuple[int, int]:
    """Return the sum of the values relative to the record's own, and that of their squares.

    Exact: in 64 bits where they hold the sum of squares, else in unbounded integers.
    """
    if not len(values):
        return 0, 0
    given = np.asarray(values)
    farthest = max(abs(int(given.min()) - own), abs(int(given.max()) - own))
    if farthest * farthest * len(given) < 1 << 62:
        offsets = np.array(given - own, dtype=np.int64)
        return int(offsets.sum()), int(offsets @ offsets)
    whole = [int(value) - own for value in values]
    return sum(whole), sum(y * y for y in whole)


_MOST_NEIGHBOURS = 10_000


@dataclass(frozen=True)
class LocalOutlierFactor(_Parametrised):
    """An outlier's neighbours are much denser than itself (LOF above a threshold).

    Every member has exactly ``k`` neighbours: the nearest others, *of equally near ones the
    smaller value first*; copies of one value are interchangeable. (All others if there are fewer
    than ``k``.) This makes the factor a function of the multiset of values, and agrees with
    scikit-learn wherever no two distances tie. With ``kd(q)`` the distance of q's k-th neighbour
    and ``R(p)`` the sum over p's neighbours q of ``max(kd(q), |p-q|)``, the factor of v is the
    mean over its neighbours o of ``R(v)/R(o)``. Among copies: ``0/0`` is 1 (a pile is as dense
    as itself), anything else over 0 is infinite (an outlier beside a pile). A population of one
    has no outlier.

    In sorted order a member's neighbours are a window of ranks around it, so the factor depends
    on the ``3k`` members on each side of the record only (``proof.md`` of explain).

    References
    ----------
    M. Breunig et al., LOF: identifying density-based local outliers, SIGMOD 2000.

    Examples
    --------
    >>> import numpy as np
    >>> lof = LocalOutlierFactor(k=2)
    >>> lof.factor(np.array([0, 1, 2, 3, 10]), 10)
    Fraction(5, 1)
    """

    k: int = 20  # neighbours, at least 1
    threshold: Fraction = Fraction(3, 2)  # an outlier's factor is strictly above it; at least 1
    kind: ClassVar[str] = "lof"

    def __post_init__(self) -> None:
        whole(self.k, "LocalOutlierFactor", "k", most=_MOST_NEIGHBOURS)
        threshold = exact(self.threshold, owner="LocalOutlierFactor", parameter="threshold")
        if threshold < 1:
            raise invalid("LocalOutlierFactor", "threshold", "a number of at least 1", threshold)
        object.__setattr__(self, "threshold", threshold)

    def factor(self, values: Values, own: int) -> Fraction | None:
        """Return the exact factor of a member, or None where it is infinite."""
        here, side = int(np.searchsorted(values, own)), 3 * self.k
        start = max(0, here - side)
        centre = here - start
        z = [int(value) for value in values[start : here + side + 1]]
        k = min(self.k, len(z) - 1)
        if k == 0:
            return Fraction(1)
        first, kd = _neighbourhoods(z, k)

        def reach(i: int) -> int:
            members = range(first[i], first[i] + k + 1)
            return sum(max(kd[j], abs(z[j] - z[i])) for j in members) - kd[i]

        mine = reach(centre)
        total = Fraction(0)
        for j in range(first[centre], first[centre] + k + 1):
            other = reach(j)
            if other == 0 < mine:
                return None
            total += Fraction(mine, other) if other else 1
        return (total - 1) / k  # the record itself was counted in its own window, as R(v)/R(v)

    def outlier(self, values: Values, own: int) -> bool:
        factor = self.factor(values, own)
        return factor is None or factor > self.threshold

    def words(self) -> str:
        return f"its local outlier factor ({self.k} neighbours) is above {self.threshold!s}"


def _neighbourhoods(z: list[int], k: int) -> tuple[list[int], list[int]]:
    """Return where each member's window of k+1 ranks begins, and its k-distance.

    The window of the next member never begins further left, and moves right only past a member
    that is strictly nearer than the one it leaves: ties keep the smaller value.
    """
    first, kd, start = [], [], 0
    for here in z:
        while start + k + 1 < len(z) and z[start + k + 1] - here < here - z[start]:
            start += 1
        first.append(start)
        kd.append(max(here - z[start], z[start + k] - here))
    return first, kd


_MOST_BINS = 1_000_000


@dataclass(frozen=True)
class Histogram(_Parametrised):
    """An outlier's bin holds fewer than a given share of the population.

    The bins have equal width and span the population from its smallest to its largest value; bin
    ``j`` of ``b`` holds the values x with ``floor((x - min) * b / (max - min)) = j``, and the
    largest value belongs to the last bin. A population of equal values is one bin.

    Examples
    --------
    >>> import numpy as np
    >>> Histogram(bins=10, frequency="1/4").outlier(np.array([0, 1, 1, 2, 3, 3, 20]), 20)
    True
    """

    # How many bins; ``"sqrt"`` is the square root of the population's size, rounded up.
    bins: int | str = "sqrt"
    # A record is an outlier if its bin, itself included, holds strictly less than this share of the
    # population. Above 0, at most 1.
    frequency: Fraction = Fraction(1, 400)
    kind: ClassVar[str] = "histogram"

    def __post_init__(self) -> None:
        whole = isinstance(self.bins, int) and not isinstance(self.bins, bool)
        if self.bins != "sqrt" and not (whole and 1 <= int(self.bins) <= _MOST_BINS):
            must = f'"sqrt" or a whole number between 1 and {_MOST_BINS}'
            raise invalid("Histogram", "bins", must, self.bins)
        frequency = exact(self.frequency, owner="Histogram", parameter="frequency")
        if frequency > 1:
            raise invalid("Histogram", "frequency", "a share of at most 1", self.frequency)
        if frequency.denominator > _MOST_BINS:
            hint = f"Its denominator may be at most {_MOST_BINS}."
            raise invalid("Histogram", "frequency", "a simple fraction", self.frequency, hint)
        object.__setattr__(self, "frequency", frequency)

    def count(self, size: int) -> int:
        """Return how many bins a population of this size has."""
        return isqrt(size - 1) + 1 if self.bins == "sqrt" else int(self.bins)

    def outlier(self, values: Values, own: int) -> bool:
        size, low = len(values), int(values[0])
        width, bins = int(values[-1]) - low, self.count(len(values))
        if width == 0:
            start, stop = low, low
        else:
            index = min((own - low) * bins // width, bins - 1)
            start = low - (-index * width // bins)
            stop = low + (width if index == bins - 1 else ((index + 1) * width - 1) // bins)
        inside = np.searchsorted(values, stop, "right") - np.searchsorted(values, start, "left")
        return int(inside) * self.frequency.denominator < self.frequency.numerator * size

    def words(self) -> str:
        bins = "the square root of the population" if self.bins == "sqrt" else str(self.bins)
        return f"its bin (of {bins}) holds under {self.frequency!s} of the population"


@dataclass(frozen=True)
class FewWithin(_Parametrised):
    """An outlier has at most ``beta`` records, itself included, within ``reach`` steps.

    This is :class:`~whitecrow.DistanceAnomaly` on one numeric column, with the radius in whole
    steps of the column's resolution.

    Examples
    --------
    >>> import numpy as np
    >>> FewWithin(beta=1, reach=5).outlier(np.array([0, 1, 2, 9]), 9)
    True
    """

    beta: int  # the most records an outlier may have within reach; at least 1
    reach: int  # steps, at least 0
    kind: ClassVar[str] = "distance"

    def __post_init__(self) -> None:
        whole(self.beta, "FewWithin", "beta")
        whole(self.reach, "FewWithin", "reach", least=0)

    @classmethod
    def of(cls, model: DistanceAnomaly, step: Fraction) -> Self:
        """Return the model on a grid: ``|a-b| <= radius`` of grid values, decided exactly."""
        return cls(model.beta, Fraction(model.radius) // step)

    def outlier(self, values: Values, own: int) -> bool:
        below = np.searchsorted(values, own - self.reach, "left")
        return bool(np.searchsorted(values, own + self.reach, "right") - below <= self.beta)

    def words(self) -> str:
        return f"at most {self.beta} records, itself included, lie within {self.reach} steps of it"
