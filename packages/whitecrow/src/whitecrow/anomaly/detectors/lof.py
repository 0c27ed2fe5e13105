"""The local outlier factor of one member of a one-dimensional population."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from whitecrow.anomaly.detectors.base import Values
from whitecrow.errors import invalid
from whitecrow.privacy import exact

_MOST = 10_000


@dataclass(frozen=True)
class LocalOutlierFactor:
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

    Parameters
    ----------
    k : int
        Neighbours, at least 1.
    threshold : exact number
        An outlier's factor is strictly above it; at least 1.

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

    k: int = 20
    threshold: Fraction = Fraction(3, 2)
    kind: ClassVar[str] = "lof"

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int) or not 1 <= self.k <= _MOST:
            must = f"a whole number between 1 and {_MOST}"
            raise invalid("LocalOutlierFactor", "k", must, self.k)
        threshold = exact(self.threshold, owner="LocalOutlierFactor", parameter="threshold")
        if threshold < 1:
            raise invalid("LocalOutlierFactor", "threshold", "a number of at least 1", threshold)
        object.__setattr__(self, "threshold", threshold)

    def factor(self, values: Values, own: int) -> Fraction | None:
        """Return the exact factor of a member, or None where it is infinite."""
        near, place = window(values, own, 3 * self.k)
        z = [int(value) for value in near]
        k = min(self.k, len(z) - 1)
        if k == 0:
            return Fraction(1)
        first, kd = _neighbourhoods(z, k)

        def reach(i: int) -> int:
            members = range(first[i], first[i] + k + 1)
            return sum(max(kd[j], abs(z[j] - z[i])) for j in members) - kd[i]

        mine = reach(place)
        total = Fraction(0)
        for j in range(first[place], first[place] + k + 1):
            other = reach(j)
            if other == 0 < mine:
                return None
            total += Fraction(mine, other) if other else 1
        return (total - 1) / k  # the record itself was counted in its own window, as R(v)/R(v)

    def outlier(self, values: Values, own: int) -> bool:
        """Return the verdict on a member with value ``own`` among ``values``."""
        factor = self.factor(values, own)
        return factor is None or factor > self.threshold

    def words(self) -> str:
        """Say when a record is an outlier."""
        return f"its local outlier factor ({self.k} neighbours) is above {self.threshold!s}"

    def to_json(self) -> dict[str, Any]:
        """Return a plain JSON object."""
        return {"kind": self.kind, "k": self.k, "threshold": str(self.threshold)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Build the detector that :meth:`to_json` wrote."""
        return cls(data["k"], data["threshold"])


def window(values: Values, own: int, reach: int) -> tuple[Values, int]:
    """Return up to ``reach`` values on each side of one copy of ``own``, and its place there."""
    place = int(np.searchsorted(values, own))
    start = max(0, place - reach)
    return values[start : place + reach + 1], place - start


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
