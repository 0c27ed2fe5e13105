"""Public grids: which cell of its column a value lies in.

A grid is 256 equal cells between public bounds, and half-octaves about zero where those are finer;
where there are no bounds, half-octaves alone. Bounds may be far too wide: the half-octaves see what
then lies in one cell. Sixteen cells are cut into sixteen, and sixteen of the results once more, and
again. Which are cut was decided by noisy counts, so it is public; the edges follow by additions and
divisions of doubles.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from whitecrow.card import Column

Edges = npt.NDArray[np.float64]
Codes = npt.NDArray[np.uint16]

CUTS = 16
_CELLS = CUTS * CUTS
_FIRST, _LAST = -40, 80  # half-octaves: from 2^-20 to 2^40, either sign
_NEAR = 30  # so many below the width of an even cell
_MOST_CATEGORIES = 1024


@dataclass(frozen=True)
class Grid:
    """The cells of one column.

    Parameters
    ----------
    name : str
        The column.
    ordered : bool
        Whether the order of values means anything; categories have none.
    whole : bool
        Whether values are whole numbers (integers, days, codes of categories).
    lower, upper : float or None
        Public bounds; for categories 0 and the last code.
    cuts : tuple of tuples of int
        For each refinement: which cells of the grid before are cut into sixteen.
    absent : float or None
        What stands for a missing value where that is a value of its own: it has the first cell of
        a column with an order, and lies below all values; of categories it is the last.

    Examples
    --------
    >>> grid = Grid("age", True, True, 0.0, 2.0)
    >>> grid.edges.tolist(), grid.codes(np.array([0.0, 2.0, 7.0])).tolist()
    ([0.5, 1.5], [0, 2, 2])
    """

    name: str
    ordered: bool
    whole: bool
    lower: float | None
    upper: float | None
    cuts: tuple[tuple[int, ...], ...] = ()
    absent: float | None = None

    @property
    def apart(self) -> int:
        """How many cells before the others are not of values: that of missing ones, or none."""
        return int(self.ordered and self.absent is not None)

    @cached_property
    def present(self) -> Grid:
        """The grid of values that are not missing."""
        if not self.apart:
            return self
        cuts = tuple(tuple(cell - 1 for cell in chosen if cell > 0) for chosen in self.cuts)
        return replace(self, cuts=cuts, absent=None)

    @cached_property
    def edges(self) -> Edges:
        """Where a new cell begins, in increasing order: there is one cell more than edges."""
        if self.apart:
            assert self.absent is not None
            # Days are whole; of numbers only the least there is stands for a missing one.
            edge = self.absent + 0.5 if self.whole else np.nextafter(self.absent, 0.0)
            return np.concatenate([[max(edge, np.nextafter(self.absent, 0.0))], self.present.edges])
        edges = self._root()
        for chosen in self.cuts:
            edges = self._cut(edges, chosen)
        return edges

    @property
    def cells(self) -> int:
        """The number of cells."""
        return len(self.edges) + 1

    def codes(self, values: npt.NDArray[np.float64]) -> Codes:
        """Return the cell of each value; what lies outside the bounds is in the outermost one."""
        return np.searchsorted(self.edges, values, side="right").astype(np.uint16)

    def refined(self, chosen: tuple[int, ...]) -> Grid:
        """Return the grid with the chosen cells cut into sixteen."""
        return replace(self, cuts=(*self.cuts, chosen))

    def parents(self) -> npt.NDArray[np.int64]:
        """Return for each cell the cell of the grid before the last cut that holds it."""
        before = replace(self, cuts=self.cuts[:-1])
        return before.codes(np.concatenate([[-np.inf], self.edges])).astype(np.int64)

    def borders(self) -> Edges:
        """Return the edges with an end on either side, for means and samples of present values."""
        if self.apart:
            return self.present.borders()
        edges = self.edges
        if self.lower is not None and self.upper is not None:
            half = 0.5 if self.whole else 0.0
            return np.concatenate([[self.lower - half], edges, [self.upper + half]])
        return np.concatenate([[2.0 * edges[0]], edges, [2.0 * edges[-1]]])

    @cached_property
    def unit(self) -> float:
        """What to multiply values by, so that no sum, product or square of them overflows."""
        largest = float(np.abs(self.borders()).max(initial=0.0))
        if largest == 0.0 or 1e-100 < largest < 1e100:
            return 1.0
        return math.ldexp(1.0, min(-math.frexp(largest)[1], 1000))

    def middles(self) -> Edges:
        """Return the middle of each cell of present values, in units of :attr:`unit`."""
        borders = self.borders() * self.unit
        return (borders[:-1] + borders[1:]) / 2.0

    def _root(self) -> Edges:
        if self.lower is None or self.upper is None:
            return self._distinct(_half_octaves(_FIRST, _LAST))
        if self.whole and self.upper - self.lower < (_CELLS if self.ordered else _MOST_CATEGORIES):
            return self.lower + 0.5 + np.arange(self.upper - self.lower)
        # Halved first: between the bounds may lie more than the largest number.
        half = self.upper / 2.0 - self.lower / 2.0
        last = 2 * math.frexp(half / (_CELLS / 2))[1] - 2
        near = _half_octaves(last - _NEAR, last)
        both = np.concatenate([_between(self.lower, self.upper, _CELLS), near])
        # Between bounds that are neighbouring numbers an even edge may fall on one of them, too.
        return self._distinct(both[(both > self.lower) & (both < self.upper)])

    def _cut(self, edges: Edges, chosen: tuple[int, ...]) -> Edges:
        borders = Grid(self.name, self.ordered, self.whole, self.lower, self.upper).borders()
        whole = np.concatenate([borders[:1], edges, borders[-1:]])
        added = [_between(float(whole[cell]), float(whole[cell + 1]), CUTS) for cell in chosen]
        found: Edges = self._distinct(np.concatenate([edges, *added]))
        # Between whole numbers an edge may fall on the bound itself, where it parts nothing.
        inside: Edges = found[(found > whole[0]) & (found < whole[-1])]
        return inside

    def _distinct(self, edges: Edges) -> Edges:
        """Move edges between whole numbers, where only those occur, and drop repeated ones."""
        return np.unique(np.floor(edges) + 0.5 if self.whole else edges)


def _half_octaves(first: int, last: int) -> Edges:
    """Return 1, 1.5, 2, 3, 4, 6, ... between two powers, of either sign; no rounding anywhere."""
    powers = np.array([math.ldexp(1.5 if k % 2 else 1.0, k // 2) for k in range(first, last + 1)])
    return np.concatenate([-powers[::-1], powers])


def _between(lower: float, upper: float, parts: int) -> Edges:
    """Return the inner edges of equal parts."""
    # Halved, the widest bounds are no wider than a number; doubled, the bits are the same.
    step = (upper / 2.0 - lower / 2.0) / parts
    return np.asarray((lower / 2.0 + step * np.arange(1.0, parts)) * 2.0)


def grid_of(column: Column) -> Grid:
    """Return the public grid of a column of the card."""
    if column.type == "category":
        last = len(column.categories or ()) - (column.absent is None)
        return Grid(column.name, False, True, 0.0, float(last), absent=column.absent)
    whole = column.type in ("integer", "date")
    if column.lower is None or column.upper is None:
        return Grid(column.name, True, whole, None, None, absent=column.absent)
    lower, upper = float(column.lower), float(column.upper)
    return Grid(column.name, True, whole, lower, upper, absent=column.absent)
