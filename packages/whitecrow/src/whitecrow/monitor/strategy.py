"""Which sums are released at each step, so that running sums and windows follow from them.

Step ``t`` releases ``sum_s M[t, s] x_s`` with noise, for the counts ``x_s`` of the periods so far
and a public matrix of whole numbers ``M``. Every estimate is a linear function of the releases.
Privacy needs the columns of ``M`` only (``proof.md`` 2), whole numbers that are added up exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate
from math import isqrt

import numpy as np
import numpy.typing as npt

_FINE = 1024
"""Entries are multiples of one over this, before they are made whole."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Strategy:
    """A lower triangular matrix of whole numbers, and what follows from it.

    Examples
    --------
    >>> year = strategy("gaussian", 12)
    >>> round(float(year.deviation(0, 12)), 2), round(float(year.deviation(11, 12)), 2)
    (1.61, 1.13)
    """

    # {"laplace", "gaussian"}: Of the noise: whether the l1 or the l2 norm of a column counts.
    law: str
    # ``rows[t]`` has the weights of the periods ``0..t`` in the release of step ``t``.
    rows: tuple[tuple[int, ...], ...]

    @property
    def horizon(self) -> int:
        return len(self.rows)

    def reach(self, *, user: bool) -> int:
        """Return the most that one record moves all releases by: the l1 or the squared l2 norm.

        A record keeps its period, so that its effects are (a part of) one column. The records of a
        *user* may be others at every step: each row counts with its largest entry.
        """
        sizes = [[self._size(entry) for entry in row] for row in self.rows]
        if user:
            return sum(max(row) for row in sizes)
        return max(sum(row[period] for row in sizes[period:]) for period in range(self.horizon))

    def _size(self, entry: int) -> int:
        return entry if self.law == "laplace" else entry * entry

    @cached_property
    def inverse(self) -> Floats:
        """Row ``s``: how the count of period ``s`` is read off the releases, without bias."""
        matrix = np.zeros((self.horizon, self.horizon))
        for step, row in enumerate(self.rows):
            matrix[step, : len(row)] = row
        return np.asarray(np.linalg.inv(matrix))

    @cached_property
    def _sums(self) -> Floats:
        return np.concatenate([np.zeros((1, self.horizon)), np.cumsum(self.inverse, axis=0)])

    def weights(self, first: int, last: int) -> Floats:
        """Return the weights of the releases in an estimate of the periods ``first..last - 1``."""
        found: Floats = self._sums[last, :last] - self._sums[first, :last]
        return found

    def deviation(self, first: int, last: int, *, user: bool = False) -> float:
        """Return the noise of that estimate over that of a release of one period at this price."""
        spread = float(np.linalg.norm(self.weights(first, last)))
        reach = self.reach(user=user)
        return spread * (reach if self.law == "laplace" else float(np.sqrt(reach)))


@lru_cache(maxsize=16)
def strategy(law: str, horizon: int) -> Strategy:
    """Return the strategy for a horizon.

    Gaussian noise: the normalised square-root factorisation (docs/mechanisms.md 5.4), each entry
    rounded down to a whole number of 1024ths. Laplace noise: every period by itself, which has the
    least error for horizons like these.
    """
    if law == "laplace":
        return Strategy(law, tuple((*(0,) * step, 1) for step in range(horizon)))
    falling = [Fraction(1)]
    for lag in range(1, horizon):
        falling.append(falling[-1] * Fraction(2 * lag - 1, 2 * lag))
    squares = list(accumulate(value * value for value in falling))

    def entry(step: int, period: int) -> int:
        part = falling[step - period] ** 2 / squares[horizon - 1 - period]
        return isqrt(_FINE * _FINE * part.numerator // part.denominator)

    rows = tuple(tuple(entry(step, s) for s in range(step + 1)) for step in range(horizon))
    return Strategy(law, rows)
