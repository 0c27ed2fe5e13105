"""What a profile releases of one column: noisy counts, and the quantiles that they give."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from whitecrow.histogram.line import Edges, Line


@dataclass(frozen=True)
class Numbers:
    """What was released of a column of numbers or dates."""

    name: str
    kind: str
    edges: tuple[float, ...]  # where a new cell begins
    counts: tuple[int, ...]  # the noisy count of each cell; there is one cell more than edges
    missing: int  # the noisy count of missing values
    deviation: float  # the standard deviation of the noise of each count

    @property
    def total(self) -> int:
        """How many records the counts add up to."""
        return sum(self.counts) + self.missing

    @property
    def total_deviation(self) -> float:
        """The standard deviation of the total's noise."""
        return self.deviation * math.sqrt(len(self.counts) + 1)


@dataclass(frozen=True)
class Categories:
    """What was released of a column of categories or texts."""

    name: str
    kind: str
    values: tuple[str, ...]  # those of the card, then those that were found
    counts: tuple[int, ...]  # their noisy counts
    missing: int  # the noisy count of missing values
    deviation: float  # the standard deviation of the noise of each count
    listed: int  # how many of the values were on the card
    # The noisy count from which on a value was named that the card does not list.
    threshold: int | None = None
    # The noisy count of values that the card does not list, where none of them is named.
    others: int | None = None

    @property
    def total(self) -> int | None:
        """How many records the counts add up to; unknown where rare values are not counted."""
        if self.others is None:
            return None
        return sum(self.counts) + self.missing + self.others

    @property
    def total_deviation(self) -> float:
        """The standard deviation of the total's noise."""
        return self.deviation * math.sqrt(len(self.counts) + 2)


Floats = npt.NDArray[np.float64]
_DIGITS = 17
_NEAR = 1 / 64


def running(counts: npt.NDArray[np.int64]) -> Floats:
    """Return how many records lie below each border: never falling, as near as can be.

    Examples
    --------
    >>> running(np.array([4, -2, 4])).tolist()
    [0.0, 3.0, 3.0, 6.0]
    """
    from scipy.optimize import isotonic_regression

    sums = np.concatenate([[0.0], np.cumsum(counts, dtype=np.float64)])
    # Both ends are known to be the least and the most; the total is what the counts say it is.
    inner = np.clip(sums, 0.0, max(float(sums[-1]), 0.0))
    return np.asarray(isotonic_regression(inner).x, dtype=np.float64)


def quantile(line: Line, edges: Edges, counts: npt.NDArray[np.int64], rank: float) -> float:
    """Return a value below which about a part ``rank`` of the values lies.

    Within a cell, values are taken to be spread evenly; of values near the place found, the one
    with the fewest digits is returned.
    """
    below = running(counts)
    wanted = rank * below[-1]
    cell = min(int(np.searchsorted(below[1:], wanted, side="left")), len(counts) - 1)
    inside = (wanted - below[cell]) / max(below[cell + 1] - below[cell], 1e-9)
    borders = line.borders(edges)
    lower, upper = float(borders[cell]), float(borders[cell + 1])
    if not math.isfinite(lower) or not math.isfinite(upper):
        ends = [end for end in (lower, upper) if math.isfinite(end)]
        return ends[0] if ends else 0.0
    if line.single(lower, upper):
        return lower
    value = line.within(lower, upper, inside)
    if line.whole:
        return float(min(math.floor(value), math.ceil(upper) - 1))
    return _short(value, (upper - lower) * _NEAR, lower, upper)


def _short(value: float, away: float, lower: float, upper: float) -> float:
    """Return the number with the fewest digits near a value, within its cell."""
    for digits in range(1, _DIGITS):
        found = float(f"{value:.{digits}g}")
        if abs(found - value) <= away and lower <= found < upper:
            return found
    return min(max(value, lower), math.nextafter(upper, -math.inf))


def rank_deviation(deviation: float, below: int, above: int, rank: float) -> float:
    """Return about the standard deviation of the rank of a quantile, in records.

    The quantile balances ``1 - rank`` times the count below with ``rank`` times the count above;
    they are sums of so many noisy cells.
    """
    return deviation * math.sqrt((1.0 - rank) ** 2 * below + rank**2 * above)
