"""Grubbs' test of one member of a population."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from whitecrow.anomaly.detectors.base import Values, moments
from whitecrow.errors import invalid
from whitecrow.privacy import exact

SIDES = ("both", "high", "low")

_BITS = 24
"""Critical values are rounded to this many binary places: far finer than the test's meaning, far
coarser than the error of any quantile routine, so that every machine has the same table."""


@dataclass(frozen=True)
class Grubbs:
    """An outlier lies too many standard deviations from the mean for its population's size.

    The record is flagged iff ``|v - mean| / sd > (n-1)/sqrt(n) * sqrt(T^2 / (n-2+T^2))`` with
    ``T`` the upper ``level/(2n)`` quantile of Student's t with ``n-2`` degrees of freedom
    (``level/n`` for one side): one single test of this record, not iterated. With ``y`` the
    members' distances from the record, ``S1 = sum y`` and ``S2 = sum y^2``, that is
    ``S1^2 > share * n * S2`` with ``share = (n-1) T^2 / (n-2 + n T^2)``, which whole numbers decide
    exactly. Populations of fewer than three have no outliers.

    Parameters
    ----------
    level : exact number
        The test's level, between 0 and 1.
    sides : {"both", "high", "low"}
        Whether to flag values on both sides of the mean, or only above or below it.

    References
    ----------
    F. E. Grubbs, Procedures for detecting outlying observations in samples, Technometrics 11, 1969.

    Examples
    --------
    >>> import numpy as np
    >>> Grubbs().outlier(np.array([0, 1, 2, 3, 4, 5, 60]), 60)
    True
    """

    level: Fraction = Fraction(1, 20)
    sides: str = "both"
    kind: ClassVar[str] = "grubbs"

    def __post_init__(self) -> None:
        level = exact(self.level, owner="Grubbs", parameter="level")
        if level >= 1:
            raise invalid("Grubbs", "level", "a number above 0 and below 1", self.level)
        object.__setattr__(self, "level", level)
        if self.sides not in SIDES:
            raise invalid("Grubbs", "sides", f"one of {', '.join(SIDES)}", self.sides)

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
        """Return the verdict on a member with value ``own`` among ``values``."""
        total, squares = moments(values, own)
        if (self.sides == "high" and total > 0) or (self.sides == "low" and total < 0):
            return False
        size = len(values)
        share = Fraction(float(self.shares(np.array([size]))[0]))
        return total * total > share * size * squares

    def words(self) -> str:
        """Say when a record is an outlier."""
        side = {"both": "from", "high": "above", "low": "below"}[self.sides]
        return f"it lies too far {side} the mean by Grubbs' test at level {self.level!s}"

    def to_json(self) -> dict[str, Any]:
        """Return a plain JSON object."""
        return {"kind": self.kind, "level": str(self.level), "sides": self.sides}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Build the detector that :meth:`to_json` wrote."""
        return cls(data["level"], data["sides"])
