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
from whitecrow.detector import scoring
from whitecrow.detector.grid import Grid
from whitecrow.detector.model import Model
from whitecrow.detector.tables import Tables
from whitecrow.histogram.counting import counted_by
from whitecrow.learn.question import Learn
from whitecrow.neighbours import Engine
from whitecrow.privacy import Facts
from whitecrow.question import Progress

__all__ = ["LearnFacts", "gather"]

Matrix = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class _ByColumn:
    """Counts by the cells of each column's grid, one after the other."""

    grids: tuple[Grid, ...]

    @property
    def size(self) -> int:
        return sum(grid.cells for grid in self.grids)

    def count(self, rows: Matrix, counts: Counts) -> None:
        first = 0
        for place, grid in enumerate(self.grids):
            codes = grid.codes(rows[:, place])
            counts[first : first + grid.cells] += np.bincount(codes, minlength=grid.cells)
            first += grid.cells


@dataclass(frozen=True)
class _ByTable:
    """Counts by the cells of tables."""

    columns: tuple[scoring.Encoder, ...]
    tables: Tables

    @property
    def size(self) -> int:
        return int(self.tables.base[-1])

    def count(self, rows: Matrix, counts: Counts) -> None:
        scoring.count_cells(self.tables, scoring.coordinates_of(self.columns, rows), counts)


@dataclass(frozen=True)
class _ByScore:
    """Counts by intervals of the score."""

    model: Model
    edges: Counts

    @property
    def size(self) -> int:
        return len(self.edges) + 1

    def count(self, rows: Matrix, counts: Counts) -> None:
        scores = scoring.raw_scores(self.model, scoring.encoders(self.model), rows)
        # The cell of a score is the number of edges below it: alarms are strictly above an edge.
        cells = np.searchsorted(self.edges, scores, side="left")
        counts += np.bincount(cells, minlength=self.size)


_Counting = _ByColumn | _ByTable | _ByScore


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

    def counted(counting: _Counting, what: str) -> Counts:
        counts = counted_by(counting, dataset, names)
        if progress is not None:
            progress(1, 1, what)
        return counts

    def by_column(grids: tuple[Grid, ...]) -> list[Counts]:
        counts = counted(_ByColumn(grids), "counting by column")
        return np.split(counts, np.cumsum([grid.cells for grid in grids])[:-1])

    def by_table(columns: tuple[scoring.Encoder, ...], tables: Tables) -> Counts:
        return counted(_ByTable(columns, tables), "counting by table")

    def by_score(model: Model, edges: Counts) -> Counts:
        return counted(_ByScore(model, edges), "counting by score")

    return LearnFacts(dataset.card, by_column, by_table, by_score)
