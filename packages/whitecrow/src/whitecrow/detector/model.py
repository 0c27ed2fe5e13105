"""The model: released counts, and what each cell is worth to a score.

Everything here is computed from released numbers. Worths are whole numbers, so the score of a
record is a sum of integers: the same on every machine, in any order of addition.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from whitecrow.card import Column
from whitecrow.detector.arithmetic import Flags, Floats, Int32s, Int64s, softlog

# Tables: every record adds one to one cell of each.
#
# A table looks at a few columns through whole-number coordinates (``0`` to ``SPAN``) and cuts
# each into bins: ``(coordinate + offset) * pace >> SHIFT``. Integers only, so that a record has
# the same cell on every engine and machine.

UNIT = 1024  # coordinate units in one standard deviation (logarithmic) or a third of the ranks
SPAN = 6 * UNIT
SHIFT = 16


@dataclass(frozen=True, eq=False)
class Tables:
    """The layout of all tables, side by side; public."""

    start: Int32s  # where the axes of each table begin
    # What it cuts: column ``j``'s logarithmic coordinate ``j``, or its rank ``columns + j``.
    axis: Int32s
    offset: Int32s  # how an axis is cut into bins
    pace: Int32s

    def __len__(self) -> int:
        return len(self.start) - 1

    @cached_property
    def bins(self) -> Int32s:
        """How many bins each axis has."""
        return ((SPAN + self.offset) * self.pace >> SHIFT) + 1

    @cached_property
    def stride(self) -> Int32s:
        """What one bin of an axis adds to the cell's number within its table."""
        stride = np.ones(len(self.axis), dtype=np.int32)
        for first, last in zip(self.start[:-1], self.start[1:], strict=True):
            stride[first + 1 : last] = np.cumprod(self.bins[first : last - 1])
        return stride

    @cached_property
    def sizes(self) -> Int64s:
        """How many cells each table has."""
        return np.multiply.reduceat(self.bins.astype(np.int64), self.start[:-1])

    @cached_property
    def base(self) -> Int64s:
        """Where the cells of each table begin; the last entry is the number of all cells."""
        return np.concatenate([[0], np.cumsum(self.sizes)])

    @property
    def layout(self) -> tuple[npt.NDArray[np.integer], ...]:
        """What loops over the tables are given."""
        return self.start, self.axis, self.offset, self.pace, self.stride, self.base

    def members(self, columns: int) -> Flags:
        """Return which tables (rows) look at which columns."""
        members = np.zeros((len(self), columns), dtype=bool)
        table = np.repeat(np.arange(len(self)), np.diff(self.start))
        members[table, self.axis % columns] = True
        return members

    def reaches(self, least: Sequence[int] | Int32s) -> Floats:
        """Return for each cell of each table how far from the middle its farthest axis lies.

        In units of the logarithmic coordinate, on average over the cell. ``least`` says for each
        coordinate where values with a distance begin; beyond ``SPAN`` if none has one.
        """
        parts = []
        for first, last in pairwise(self.start):
            reach = np.zeros(1)
            for place in range(first, last):
                # The first axis of a table runs fastest.
                own = self._reach(place, int(least[self.axis[place]]))
                reach = np.maximum(own[:, None], reach[None, :]).ravel()
            parts.append(reach)
        return np.concatenate(parts) if parts else np.zeros(0)

    def _reach(self, place: int, least: int) -> Floats:
        """Return how far from the middle the bins of one axis lie on average."""
        edges = np.arange(self.bins[place] + 1.0) * (1 << SHIFT) / self.pace[place]
        edges = np.clip(edges - self.offset[place], min(least, SPAN), SPAN)
        low, high = (edges[:-1] - SPAN // 2) / UNIT, (edges[1:] - SPAN // 2) / UNIT
        width = np.maximum(high - low, 1.0 / UNIT)
        across = (low * low + high * high) / (2.0 * width)
        average = np.where((low < 0.0) & (high > 0.0), across, np.abs(low + high) / 2.0)
        return np.where(high > low, average, 0.0)

    def cells(self, table: int, coordinates: Int32s) -> Int64s:
        """Return the cell of each record (coordinates by records), numbered through all tables."""
        cells = np.full(coordinates.shape[1], self.base[table], dtype=np.int64)
        for place in range(self.start[table], self.start[table + 1]):
            values = coordinates[self.axis[place]] + self.offset[place]
            cells += self.stride[place] * (values * self.pace[place] >> SHIFT)
        return cells


# Public grids: which cell of its column a value lies in.
#
# A grid is 256 equal cells between public bounds, and half-octaves about zero where those are
# finer; where there are no bounds, half-octaves alone. Bounds may be far too wide: the
# half-octaves see what then lies in one cell. Sixteen cells are cut into sixteen, and sixteen of
# the results once more, and again. Which are cut was decided by noisy counts, so it is public; the
# edges follow by additions and divisions of doubles.


CUTS = 16
_CELLS = CUTS * CUTS
_FIRST, _LAST = -40, 80  # half-octaves: from 2^-20 to 2^40, either sign
_NEAR = 30  # so many below the width of an even cell
_MOST_CATEGORIES = 1024


@dataclass(frozen=True)
class Grid:
    """The cells of one column."""

    name: str  # the column
    ordered: bool  # whether the order of values means anything; categories have none
    whole: bool  # whether values are whole numbers (integers, days, codes of categories)
    lower: float | None  # public bounds; for categories 0 and the last code
    upper: float | None
    cuts: tuple[tuple[int, ...], ...] = ()  # of each refinement the cells that are cut into 16
    # What stands for a missing value where that is a value of its own: it has the first cell of a
    # column with an order, and lies below all values; of categories it is the last.
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
    def edges(self) -> Floats:
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
        return len(self.edges) + 1

    def codes(self, values: Floats) -> npt.NDArray[np.uint16]:
        """Return the cell of each value; what lies outside the bounds is in the outermost one."""
        return np.searchsorted(self.edges, values, side="right").astype(np.uint16)

    def refined(self, chosen: tuple[int, ...]) -> Grid:
        """Return the grid with the chosen cells cut into sixteen."""
        return replace(self, cuts=(*self.cuts, chosen))

    def parents(self) -> Int64s:
        """Return for each cell the cell of the grid before the last cut that holds it."""
        before = replace(self, cuts=self.cuts[:-1])
        return before.codes(np.concatenate([[-np.inf], self.edges])).astype(np.int64)

    def borders(self) -> Floats:
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

    def middles(self) -> Floats:
        """Return the middle of each cell of present values, in units of :attr:`unit`."""
        borders = self.borders() * self.unit
        return (borders[:-1] + borders[1:]) / 2.0

    def _root(self) -> Floats:
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

    def _cut(self, edges: Floats, chosen: tuple[int, ...]) -> Floats:
        borders = Grid(self.name, self.ordered, self.whole, self.lower, self.upper).borders()
        whole = np.concatenate([borders[:1], edges, borders[-1:]])
        added = [_between(float(whole[cell]), float(whole[cell + 1]), CUTS) for cell in chosen]
        edges = self._distinct(np.concatenate([edges, *added]))
        # Between whole numbers an edge may fall on the bound itself, where it parts nothing.
        return np.asarray(edges[(edges > whole[0]) & (edges < whole[-1])])

    def _distinct(self, edges: Floats) -> Floats:
        """Move edges between whole numbers, where only those occur, and drop repeated ones."""
        return np.unique(np.floor(edges) + 0.5 if self.whole else edges)


def _half_octaves(first: int, last: int) -> Floats:
    """Return 1, 1.5, 2, 3, 4, 6, ... between two powers, of either sign; no rounding anywhere."""
    powers = np.array([math.ldexp(1.5 if k % 2 else 1.0, k // 2) for k in range(first, last + 1)])
    return np.concatenate([-powers[::-1], powers])


def _between(lower: float, upper: float, parts: int) -> Floats:
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


POINTS = 256  # units of worth in one

PARTS = 1 << 30  # shares are multiples of one over this, so that a file holds them as whole numbers

_LEAST_SPREAD = 0.2
_RARE, _ORDINARY = 256.0, 10.0
_REACH = 16.0
_MOST_WORTH = float(1 << 30)


@dataclass(frozen=True, eq=False)
class Model:
    """What was learned."""

    grids: tuple[Grid, ...]  # the cells of each column
    shares: tuple[Floats, ...]  # the released part of the records in each cell; sums to one
    looks: tuple[Int32s, ...]  # the logarithmic and the rank coordinate of each cell
    tables: Tables  # the layout
    counts: Int32s  # the noisy counts of all cells of all tables
    records: float  # the released (noisy) number of records
    noise: float  # the standard deviation of a count's noise
    marginal_noise: float  # about that of a noisy cumulative count of one column
    peak: float  # how much more than its share a very strange cell counts
    # How much stranger a cell is for each unit of the logarithmic coordinate that it lies from the
    # middle, and from which distance on: 0 in detectors of version 0.2.
    far: float = 0.0
    near: float = 0.0
    # The weight of the columns' tails beside the tables, where noise hides hundreds of columns; in
    # detectors of version 0.2 everywhere.
    tail: float = 0.0
    ranks: float = 1.0  # of those alone: the weight of tables that see columns by their ranks
    # What is usual in a table is said by cells that are clear of the noise: one that is so by this
    # many deviations counts by half of its records, nearer ones by less; 0 in older detectors.
    clear: float = 0.0
    # How much of what a cell's columns say each by itself is taken off what it is worth; 0 in older
    # detectors.
    together: float = 0.0

    @property
    def fits(self) -> bool:
        """Whether numbers between bounds were taken to be normal, as noise hides them."""
        return bool(self.tail and self.near)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(grid.name for grid in self.grids)

    @cached_property
    def surprises(self) -> Floats:
        """For each cell of each table how much stranger it is than usual, in deviations.

        Below one record in 256 cells hardly differ: outliers that come in clusters are as strange
        as single ones (an Isolation Forest learns from so many records a tree).
        """
        return self._standardised(self._bare)

    @cached_property
    def _floor(self) -> float:
        return max(self.noise, 1.0, self.records / _RARE)

    @cached_property
    def _bare(self) -> Floats:
        """For each cell of each table how strange it is."""
        # Where values with a distance begin: after the missing ones. Ranks, categories have none.
        begins = [grid.apart * UNIT if grid.ordered else SPAN for grid in self.grids]
        begins += len(begins) * [SPAN]
        beyond = np.maximum(self.tables.reaches(begins) - self.near, 0.0)
        return np.asarray(self.far * beyond - softlog(self.counts, self._floor))

    def _standardised(self, bare: Floats) -> Floats:
        surprise = bare.copy()
        weight = np.maximum(self.counts - self.noise, 0.0)
        # What noise alone may have made is squared away; without ``clear`` this is a factor of one.
        sure = weight + self.clear * self.noise
        weight *= np.divide(weight, sure, out=np.zeros_like(weight), where=weight > 0.0)
        base = self.tables.base
        for first, last in pairwise(base):
            surprise[first:last] = _standard(surprise[first:last], weight[first:last])
        return surprise

    @cached_property
    def joined(self) -> Floats:
        """The surprises where how rare each column's value is counts for less, down to a tenth."""
        if not self.together:
            return self.surprises
        floor = max(self._floor, self.marginal_noise, self.records / _ORDINARY)
        expected = softlog(self._beside, floor)
        return self._standardised(self._bare + self.together * self._crossed(expected, np.add))

    @property
    def dependence(self) -> float:
        """How far counts are from those of columns that know nothing of each other.

        Over all cells, the square of what noise does not explain, by the square of the latter.
        """
        several = np.repeat(~self.singles, self.tables.sizes)
        parts = self._beside / max(self.records, 1.0)
        apart = (self._crossed(parts, np.multiply) * self.records)[several]
        square = float(np.square(self.counts[several] - apart).sum()) - apart.size * self.noise**2
        return max(square, 0.0) / max(float(np.square(apart).sum()), 1e-9)

    @cached_property
    def _beside(self) -> Floats:
        """How many records lie in each bin of each axis, by the columns' distributions."""
        parts, width = [], len(self.grids)
        for axis, offset, pace, bins in zip(
            *self.tables.layout[1:4], self.tables.bins.tolist(), strict=True
        ):
            look = self.looks[axis % width][axis // width].astype(np.int64)
            share = self.shares[axis % width]
            parts.append(np.bincount((look + offset) * pace >> SHIFT, share, bins))
        return np.asarray(np.concatenate(parts) * self.records, dtype=np.float64)

    def _crossed(self, parts: Floats, join: np.ufunc) -> Floats:
        """Return for each cell of each table what joins the parts of its bins."""
        crossed, bins = [], np.split(parts, np.cumsum(self.tables.bins)[:-1])
        for first, last in pairwise(self.tables.start):
            whole = bins[first]
            for own in bins[first + 1 : last]:
                # The first axis of a table runs fastest.
                whole = join.outer(own, whole).ravel()
            crossed.append(whole)
        return np.concatenate(crossed)

    @cached_property
    def tails(self) -> tuple[Floats, ...]:
        """For each cell of each column how far out it lies, in deviations.

        A tail's share says nothing where it is below the noise; the distance from the middle, in
        the logarithmic coordinate, keeps far values in their order. A distribution that was fitted
        has no noise.
        """
        records = max(self.records, 1.0)
        noisy = max(self.marginal_noise, 1.0) / records
        tails = []
        for grid, share, look in zip(self.grids, self.shares, self.looks, strict=True):
            bounded = grid.ordered and grid.lower is not None and not grid.apart
            floor = 1.0 / records if self.fits and bounded else noisy
            if grid.ordered:
                part, first = share[grid.apart :], grid.apart
                below = np.cumsum(part)
                distance = np.abs(look[0, first:] - SPAN // 2) / UNIT
                away = distance - softlog(np.minimum(below, below[-1] - below + part), floor)
                # Being missing is as strange as it is rare.
                away = np.concatenate([-softlog(share[:first], floor), away])
            else:
                away = -softlog(share, floor)
            tails.append(_standard(away, share))
        return tuple(tails)

    @cached_property
    def worths(self) -> Int32s:
        """What each cell of each table adds to a score."""
        by_rank = self.tables.axis[self.tables.start[:-1]] >= len(self.grids)
        weights = np.where(by_rank, self.ranks, 1.0)
        weights = np.repeat(weights, self.tables.sizes)
        return self._worth(self.joined, self.surprises, weights)

    @cached_property
    def alone(self) -> tuple[Int32s, ...]:
        """What each cell of each column adds by itself: its tail, and tables of it alone."""
        # So the tables of one column cost nothing when records are scored.
        weight = self.tail * len(self.tables) / len(self.grids)
        worths = [self._worth(tail, tail, weight) for tail in self.tails]
        for table in np.flatnonzero(self.singles):
            axis = self.tables.axis[self.tables.start[table]]
            column, row = axis % len(self.grids), axis // len(self.grids)
            coordinates = np.zeros((2 * len(self.grids), self.grids[column].cells), dtype=np.int32)
            coordinates[axis] = self.looks[column][row]
            worths[column] += self.worths[self.tables.cells(int(table), coordinates)]
        return tuple(worths)

    @cached_property
    def singles(self) -> Flags:
        """Which tables look at one column."""
        return np.asarray(np.diff(self.tables.start) == 1)

    @cached_property
    def joint(self) -> tuple[Tables, Int32s]:
        """The tables of several columns, and the worths of their cells."""
        tables, kept = self.tables, ~self.singles
        axes, cells = np.repeat(kept, np.diff(tables.start)), np.repeat(kept, tables.sizes)
        lengths = np.diff(tables.start)[kept]
        return (
            Tables(
                np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32),
                tables.axis[axes],
                tables.offset[axes],
                tables.pace[axes],
            ),
            self.worths[cells],
        )

    def drawn(self, size: int, source: np.random.Generator) -> Floats:
        """Draw synthetic records from the released distributions, each column by itself."""
        rows = np.empty((size, len(self.grids)))
        for place, (grid, share) in enumerate(zip(self.grids, self.shares, strict=True)):
            cells = np.searchsorted(np.cumsum(share), source.random(size), side="right")
            cells = np.minimum(cells, grid.cells - 1) - grid.apart
            borders = grid.borders()
            low, high = borders[cells], borders[cells + 1]
            # Halved, the widest cell is no wider than a number; doubled, the bits are the same.
            values = (low / 2.0 + (high / 2.0 - low / 2.0) * source.random(size)) * 2.0
            rows[:, place] = np.ceil(values - 0.5) if grid.whole else values
            if grid.lower is not None:
                rows[:, place] = np.clip(rows[:, place], grid.lower, grid.upper)
            if grid.apart:
                rows[cells < 0, place] = grid.absent
        return rows

    def _worth(self, deviations: Floats, strange: Floats, weight: float | Floats) -> Int32s:
        high = np.maximum(strange, 0.0)
        worth = deviations + self.peak * (high * high)
        points = np.rint(worth * (POINTS * weight))
        return np.clip(points, -_MOST_WORTH, _MOST_WORTH).astype(np.int32)


def _standard(surprise: Floats, weight: Floats) -> Floats:
    """Return surprises less their mean, over their deviation, as records of the data have them."""
    total = math.fsum(weight)
    if total <= 0.0:
        return np.zeros_like(surprise)
    mean = math.fsum(weight * surprise) / total
    away = surprise - mean
    spread = math.sqrt(math.fsum(weight * (away * away)) / total)
    return np.clip(away / max(spread, _LEAST_SPREAD), -_REACH, _REACH)


@dataclass(frozen=True)
class Threshold:
    """A score above which a wanted part of the data lay."""

    rate: Fraction  # the wanted rate of false alarms
    score: float | None  # None where the data are too few for the rate
    rough: float | None = None  # bought from too few: it may flag twice the rate, or nothing

    def to_json(self) -> dict[str, object]:
        rough = {} if self.rough is None else {"rough": self.rough}
        return {"rate": str(self.rate), "score": self.score, **rough}
