"""Tables: every record adds one to one cell of each.

A table looks at a few columns through whole-number coordinates (``0`` to ``SPAN``) and cuts each
into bins: ``(coordinate + offset) * pace >> SHIFT``. Integers only, so that a record has the same
cell on every engine and machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

UNIT = 1024
"""Coordinate units in one standard deviation (logarithmic) or a third of the ranks."""
SPAN = 6 * UNIT
SHIFT = 16

Ints = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Tables:
    """The layout of all tables, side by side; public.

    Parameters
    ----------
    start : int32 array, one longer than there are tables
        Where the axes of each table begin.
    axis : int32 array
        Which coordinate an axis cuts: column ``j``'s logarithmic one is ``j``, its rank
        ``columns + j``.
    offset, pace : int32 arrays
        How an axis is cut into bins.
    """

    start: Ints
    axis: Ints
    offset: Ints
    pace: Ints

    def __len__(self) -> int:
        return len(self.start) - 1

    @cached_property
    def bins(self) -> Ints:
        """How many bins each axis has."""
        return ((SPAN + self.offset) * self.pace >> SHIFT) + 1

    @cached_property
    def stride(self) -> Ints:
        """What one bin of an axis adds to the cell's number within its table."""
        stride = np.ones(len(self.axis), dtype=np.int32)
        for first, last in zip(self.start[:-1], self.start[1:], strict=True):
            stride[first + 1 : last] = np.cumprod(self.bins[first : last - 1])
        return stride

    @cached_property
    def sizes(self) -> npt.NDArray[np.int64]:
        """How many cells each table has."""
        return np.multiply.reduceat(self.bins.astype(np.int64), self.start[:-1])

    @cached_property
    def base(self) -> npt.NDArray[np.int64]:
        """Where the cells of each table begin; the last entry is the number of all cells."""
        return np.concatenate([[0], np.cumsum(self.sizes)])

    def members(self, columns: int) -> npt.NDArray[np.bool_]:
        """Return which tables (rows) look at which columns."""
        found = np.zeros((len(self), columns), dtype=bool)
        table = np.repeat(np.arange(len(self)), np.diff(self.start))
        found[table, self.axis % columns] = True
        return found

    def reaches(self, least: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
        """Return for each cell of each table how far from the middle its farthest axis lies.

        In units of the logarithmic coordinate, on average over the cell.

        Parameters
        ----------
        least : int32 array
            For each coordinate where values with a distance begin; beyond ``SPAN`` if none has one.
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

    def _reach(self, place: int, least: int) -> npt.NDArray[np.float64]:
        """Return how far from the middle the bins of one axis lie on average."""
        edges = np.arange(self.bins[place] + 1.0) * (1 << SHIFT) / self.pace[place]
        edges = np.clip(edges - self.offset[place], min(least, SPAN), SPAN)
        low, high = (edges[:-1] - SPAN // 2) / UNIT, (edges[1:] - SPAN // 2) / UNIT
        width = np.maximum(high - low, 1.0 / UNIT)
        across = (low * low + high * high) / (2.0 * width)
        found = np.where((low < 0.0) & (high > 0.0), across, np.abs(low + high) / 2.0)
        return np.where(high > low, found, 0.0)

    def cells(self, table: int, coordinates: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
        """Return the cell of each record, numbered through all tables.

        Parameters
        ----------
        table : int
        coordinates : int32 array (coordinates, records)
        """
        found = np.full(coordinates.shape[1], self.base[table], dtype=np.int64)
        for place in range(self.start[table], self.start[table + 1]):
            values = coordinates[self.axis[place]] + self.offset[place]
            found += self.stride[place] * (values * self.pace[place] >> SHIFT)
        return found
