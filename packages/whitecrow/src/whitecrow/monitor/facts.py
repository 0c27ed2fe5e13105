"""What ``monitor`` must know of the data: how many records of each period each cell holds.

At every step the counts of all periods so far are added up with public weights, where the records
are. No exact count is kept between two steps: what is kept is what was released.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from whitecrow.data import Card, Records
from whitecrow.detector.grid import Grid
from whitecrow.detector.scoring import Encoder
from whitecrow.detector.tables import Tables
from whitecrow.histogram.counting import Counting, Counts, Matrix, counted_by
from whitecrow.learn.facts import ByColumn, ByTable
from whitecrow.monitor.question import Monitor
from whitecrow.neighbours import Engine
from whitecrow.privacy import Facts
from whitecrow.publish.periods import Calendar
from whitecrow.question import Progress

Weights = tuple[int, ...]
"""By which the counts of the periods 0, 1, ... are multiplied before they are added up."""

_FARTHEST = 1e15


@dataclass(frozen=True)
class Weighted:
    """Counts by cells, each record with the weight of its period; others are left out."""

    counting: Counting
    calendar: Calendar
    weights: Weights

    @property
    def size(self) -> int:
        """The number of cells."""
        return self.counting.size

    def count(self, rows: Matrix, counts: Counts) -> None:
        """Add the records of a batch; the last column is their time."""
        # What stands for a missing time lies before every period.
        periods = self.calendar.index(np.clip(rows[:, -1], -_FARTHEST, _FARTHEST))
        for period, weight in enumerate(self.weights):
            inside = np.ascontiguousarray(rows[periods == period, :-1])
            if weight and len(inside):
                part = np.zeros_like(counts)
                self.counting.count(inside, part)
                counts += weight * part


@dataclass(frozen=True, repr=False, eq=False)
class MonitorFacts(Facts):
    """The records, behind counting functions.

    Parameters
    ----------
    card : Card
        The dataset's public facts.
    by_column : callable
        Weighted counts by each column's grid.
    by_table : callable
        Weighted counts by the cells of tables.
    """

    card: Card
    by_column: Callable[[Weights, tuple[Grid, ...]], list[Counts]]
    by_table: Callable[[Weights, tuple[Encoder, ...], Tables], Counts]


def gather(
    question: Monitor,
    dataset: Records,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> MonitorFacts:
    """Hold the records behind counting functions; nothing is counted yet."""
    names = (*question.names(dataset.card), question.time)
    calendar = question.calendar

    def counted(counting: Counting, weights: Weights) -> Counts:
        counts = counted_by(Weighted(counting, calendar, weights), dataset, names)
        if progress is not None:
            progress(len(weights), question.through, "closing periods")
        return counts

    def by_column(weights: Weights, grids: tuple[Grid, ...]) -> list[Counts]:
        counts = counted(ByColumn(grids), weights)
        return np.split(counts, np.cumsum([grid.cells for grid in grids])[:-1])

    def by_table(weights: Weights, columns: tuple[Encoder, ...], tables: Tables) -> Counts:
        return counted(ByTable(columns, tables), weights)

    return MonitorFacts(dataset.card, by_column, by_table)
