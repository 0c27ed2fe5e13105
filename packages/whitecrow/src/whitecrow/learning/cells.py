"""The cells that a detector is learned from: which one of each histogram a record is in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from whitecrow.detector import on_gpu, scoring
from whitecrow.detector.grid import Grid
from whitecrow.detector.model import Model
from whitecrow.detector.tables import Tables
from whitecrow.histogram.counting import Counts, Matrix
from whitecrow.neighbours import Device


@dataclass(frozen=True)
class ByColumn:
    """The cells of each column's grid, one grid after the other."""

    grids: tuple[Grid, ...]
    device: Device | None = None

    @property
    def size(self) -> int:
        """The number of cells."""
        return sum(grid.cells for grid in self.grids)

    def count(self, rows: Matrix, counts: Counts) -> None:
        """Add the records of a batch to their cells."""
        if self.device is not None:
            on_gpu.count_codes(self.device, self.grids, rows, counts)
            return
        first = 0
        for place, grid in enumerate(self.grids):
            codes = grid.codes(rows[:, place])
            counts[first : first + grid.cells] += np.bincount(codes, minlength=grid.cells)
            first += grid.cells


@dataclass(frozen=True, eq=False)
class ByTable:
    """The cells of tables."""

    columns: tuple[scoring.Encoder, ...]
    tables: Tables
    device: Device | None = None

    @property
    def size(self) -> int:
        """The number of cells."""
        return int(self.tables.base[-1])

    def count(self, rows: Matrix, counts: Counts) -> None:
        """Add the records of a batch to their cells."""
        if self.device is not None:
            on_gpu.count_cells(self.device, self.columns, self.tables, rows, counts)
            return
        scoring.count_cells(self.tables, scoring.coordinates_of(self.columns, rows), counts)


@dataclass(frozen=True, eq=False)
class ByScore:
    """Intervals of the score: the last holds what is above all edges."""

    model: Model
    edges: Counts
    device: Device | None = None

    @property
    def size(self) -> int:
        """The number of cells."""
        return len(self.edges) + 1

    def count(self, rows: Matrix, counts: Counts) -> None:
        """Add the records of a batch to their cells."""
        encoders = scoring.encoders(self.model)
        if self.device is not None:
            scores = on_gpu.raw_scores(self.device, self.model, encoders, rows)
        else:
            scores = scoring.raw_scores(self.model, encoders, rows)
        # The cell of a score is the number of edges below it: alarms are strictly above an edge.
        cells = np.searchsorted(self.edges, scores, side="left")
        counts += np.bincount(cells, minlength=self.size)


Cells = ByColumn | ByTable | ByScore


def joined(groups: Sequence[Counts]) -> Counts:
    """Number the groups of several columns' cells through, one column after the other."""
    sizes = [int(group.max()) + 1 for group in groups]
    firsts = np.cumsum([0, *sizes[:-1]])
    return np.concatenate([first + group for first, group in zip(firsts, groups, strict=True)])
