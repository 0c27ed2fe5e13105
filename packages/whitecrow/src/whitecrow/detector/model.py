"""The model: released counts, and what each cell is worth to a score.

Everything here is computed from released numbers. Worths are whole numbers, so the score of a
record is a sum of integers: the same on every machine, in any order of addition.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from whitecrow.detector.arithmetic import softlog
from whitecrow.detector.grid import Grid
from whitecrow.detector.tables import SPAN, UNIT, Tables

POINTS = 256
"""Units of worth in one."""

PARTS = 1 << 30
"""Shares are multiples of one over this, so that a file holds them as whole numbers."""

_LEAST_SPREAD = 0.2
_RARE = 256.0
_REACH = 16.0
_MOST_WORTH = float(1 << 30)

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Model:
    """What was learned.

    Parameters
    ----------
    grids : tuple of Grid
        The cells of each column.
    shares : tuple of float64 arrays
        For each column the released part of the records in each of its cells; sums to one.
    looks : tuple of int32 arrays (2, cells)
        The logarithmic and the rank coordinate of each cell.
    tables : Tables
        The layout.
    counts : int32 array
        The noisy counts of all cells of all tables.
    records : float
        The released (noisy) number of records.
    noise : float
        The standard deviation of a count's noise.
    marginal_noise : float
        About that of a noisy cumulative count of one column.
    peak : float
        How much more than its share a very strange cell counts.
    tail : float
        The weight of the columns' tails beside the tables.
    far : float
        How much stranger a cell is for each unit of the logarithmic coordinate that it lies from
        the middle.
    ranks : float
        The weight of tables that see columns by their ranks beside the others.
    """

    grids: tuple[Grid, ...]
    shares: tuple[Floats, ...]
    looks: tuple[npt.NDArray[np.int32], ...]
    tables: Tables
    counts: npt.NDArray[np.int32]
    records: float
    noise: float
    marginal_noise: float
    peak: float
    tail: float
    far: float
    ranks: float

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return tuple(grid.name for grid in self.grids)

    @cached_property
    def surprises(self) -> Floats:
        """For each cell of each table how much stranger it is than usual, in deviations.

        Below one record in 256 cells hardly differ: outliers that come in clusters are as strange
        as single ones (an Isolation Forest learns from so many records a tree). Cells are even in
        the logarithm of a distance, so those far out are wide: the same count is a thinner density.
        """
        floor = max(self.noise, 1.0, self.records / _RARE)
        surprise = -softlog(self.counts, floor) + self.far * self.tables.reaches(self._begins)
        weight = np.maximum(self.counts - self.noise, 0.0)
        base = self.tables.base
        for first, last in pairwise(base):
            surprise[first:last] = _standard(surprise[first:last], weight[first:last])
        return surprise

    @cached_property
    def _begins(self) -> npt.NDArray[np.int32]:
        """For each coordinate where values with a distance begin: after the missing ones.

        Ranks and categories have no distances.
        """
        begins = [grid.apart * UNIT if grid.ordered else SPAN for grid in self.grids]
        return np.array([*begins, *len(begins) * [SPAN]], dtype=np.int32)

    @cached_property
    def tails(self) -> tuple[Floats, ...]:
        """For each cell of each column how far out it lies, in deviations.

        A tail's share says nothing where it is below the noise; the distance from the middle, in
        the logarithmic coordinate, keeps far values in their order.
        """
        floor = max(self.marginal_noise, 1.0) / max(self.records, 1.0)
        found = []
        for grid, share, look in zip(self.grids, self.shares, self.looks, strict=True):
            if grid.ordered:
                part, first = share[grid.apart :], grid.apart
                below = np.cumsum(part)
                distance = np.abs(look[0, first:] - SPAN // 2) / UNIT
                away = distance - softlog(np.minimum(below, below[-1] - below + part), floor)
                # Being missing is as strange as it is rare.
                away = np.concatenate([-softlog(share[:first], floor), away])
            else:
                away = -softlog(share, floor)
            found.append(_standard(away, share))
        return tuple(found)

    @cached_property
    def worths(self) -> npt.NDArray[np.int32]:
        """What each cell of each table adds to a score."""
        weights = np.where(self.by_rank, self.ranks, 1.0)
        return self._worth(self.surprises, np.repeat(weights, self.tables.sizes))

    @cached_property
    def alone(self) -> tuple[npt.NDArray[np.int32], ...]:
        """What each cell of each column adds by itself: its tail, and tables of that column alone.

        So the tables of one column cost nothing when records are scored.
        """
        weight = self.tail * len(self.tables) / len(self.grids)
        found = [self._worth(tail, weight) for tail in self.tails]
        for table in np.flatnonzero(self.singles):
            axis = self.tables.axis[self.tables.start[table]]
            column, row = axis % len(self.grids), axis // len(self.grids)
            coordinates = np.zeros((2 * len(self.grids), self.grids[column].cells), dtype=np.int32)
            coordinates[axis] = self.looks[column][row]
            found[column] += self.worths[self.tables.cells(int(table), coordinates)]
        return tuple(found)

    @cached_property
    def singles(self) -> npt.NDArray[np.bool_]:
        """Which tables look at one column."""
        found: npt.NDArray[np.bool_] = np.diff(self.tables.start) == 1
        return found

    @property
    def by_rank(self) -> npt.NDArray[np.bool_]:
        """Which tables see columns by their ranks."""
        found: npt.NDArray[np.bool_] = self.tables.axis[self.tables.start[:-1]] >= len(self.grids)
        return found

    @cached_property
    def joint(self) -> tuple[Tables, npt.NDArray[np.int32]]:
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

    def _worth(self, deviations: Floats, weight: float | Floats) -> npt.NDArray[np.int32]:
        high = np.maximum(deviations, 0.0)
        worth = deviations + self.peak * (high * high)
        return np.clip(np.rint(worth * (POINTS * weight)), -_MOST_WORTH, _MOST_WORTH).astype(
            np.int32
        )


def _standard(surprise: Floats, weight: Floats) -> Floats:
    """Return surprises less their mean, over their deviation, as records of the data have them."""
    total = math.fsum(weight)
    if total <= 0.0:
        return np.zeros_like(surprise)
    mean = math.fsum(weight * surprise) / total
    away = surprise - mean
    spread = math.sqrt(math.fsum(weight * (away * away)) / total)
    return np.clip(away / max(spread, _LEAST_SPREAD), -_REACH, _REACH)
