"""What ``learn`` must know of the data: how many records each cell holds.

Stage 2 is laid out from what stage 1 released, so the facts are the records behind three counting
functions. Each counts the same way wherever the records are: in memory, or where a warehouse keeps
them, whose workers run the same loops on their batches and send back sums.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from whitecrow.data import Card, Records
from whitecrow.detector import on_gpu, scoring
from whitecrow.detector.grid import Grid
from whitecrow.detector.model import Model
from whitecrow.detector.tables import Tables
from whitecrow.histogram.counting import counted_by
from whitecrow.learn.question import Learn
from whitecrow.neighbours import Device, Engine, device_of
from whitecrow.privacy import Facts
from whitecrow.question import Progress

Matrix = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class ByColumn:
    """Counts by the cells of each column's grid, one after the other."""

    grids: tuple[Grid, ...]
    device: Device | None = None

    @property
    def size(self) -> int:
        return sum(grid.cells for grid in self.grids)

    def count(self, rows: Matrix, counts: Counts) -> None:
        if self.device is not None:
            on_gpu.count_codes(self.device, self.grids, rows, counts)
            return
        first = 0
        for place, grid in enumerate(self.grids):
            codes = grid.codes(rows[:, place])
            counts[first : first + grid.cells] += np.bincount(codes, minlength=grid.cells)
            first += grid.cells


@dataclass(frozen=True)
class ByTable:
    """Counts by the cells of tables."""

    columns: tuple[scoring.Encoder, ...]
    tables: Tables
    device: Device | None = None

    @property
    def size(self) -> int:
        return int(self.tables.base[-1])

    def count(self, rows: Matrix, counts: Counts) -> None:
        if self.device is not None:
            on_gpu.count_cells(self.device, self.columns, self.tables, rows, counts)
            return
        scoring.count_cells(self.tables, scoring.coordinates_of(self.columns, rows), counts)


@dataclass(frozen=True)
class _ByScore:
    """Counts by intervals of the score."""

    model: Model
    edges: Counts
    device: Device | None = None

    @property
    def size(self) -> int:
        return len(self.edges) + 1

    def count(self, rows: Matrix, counts: Counts) -> None:
        encoders = scoring.encoders(self.model)
        if self.device is not None:
            scores = on_gpu.raw_scores(self.device, self.model, encoders, rows)
        else:
            scores = scoring.raw_scores(self.model, encoders, rows)
        # The cell of a score is the number of edges below it: alarms are strictly above an edge.
        cells = np.searchsorted(self.edges, scores, side="left")
        counts += np.bincount(cells, minlength=self.size)


_Counting = ByColumn | ByTable | _ByScore


@dataclass(frozen=True, repr=False, eq=False)
class LearnFacts(Facts):
    """The records, behind counting functions.

    Parameters
    ----------
    card : Card
        The dataset's public facts.
    by_column : callable
        Counts by each column's grid.
    by_table : callable
        Counts by the cells of tables.
    by_score : callable
        Counts by intervals of the score: the last holds what is above all edges.
    """

    card: Card
    by_column: Callable[[tuple[Grid, ...]], list[Counts]]
    by_table: Callable[[tuple[scoring.Encoder, ...], Tables], Counts]
    by_score: Callable[[Model, Counts], Counts]


def gather(
    question: Learn,
    dataset: Records,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> LearnFacts:
    """Hold the records behind counting functions; nothing is counted yet."""
    names = question.names(dataset.card)
    device = device_of(engine)

    def counted(counting: _Counting, what: str) -> Counts:
        if device is None:
            counts = counted_by(counting, dataset, names)
        else:
            counts = counted_by(counting, dataset, names, batch=on_gpu.BATCH, alone=True)
        if progress is not None:
            progress(1, 1, what)
        return counts

    def by_column(grids: tuple[Grid, ...]) -> list[Counts]:
        counts = counted(ByColumn(grids, device), "counting by column")
        return np.split(counts, np.cumsum([grid.cells for grid in grids])[:-1])

    def by_table(columns: tuple[scoring.Encoder, ...], tables: Tables) -> Counts:
        return counted(ByTable(columns, tables, device), "counting by table")

    def by_score(model: Model, edges: Counts) -> Counts:
        return counted(_ByScore(model, edges, device), "counting by score")

    return LearnFacts(dataset.card, by_column, by_table, by_score)
