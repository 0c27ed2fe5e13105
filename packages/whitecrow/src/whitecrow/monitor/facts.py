"""What ``monitor`` must know of the data: how many records of each period each cell holds.

At every step the counts of all periods so far are added up with public weights, where the records
are. No exact count is kept between two steps: what is kept is what was released.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whitecrow.data import Card, Records
from whitecrow.histogram.facts import CellFacts, Counting, Counts, Matrix, counted_by
from whitecrow.monitor.question import Monitor
from whitecrow.neighbours import Engine
from whitecrow.publish.periods import Calendar
from whitecrow.question import Progress

_FARTHEST = 1e15


@dataclass(frozen=True)
class Weighted:
    """Counts by cells, each record with the weight of its period; others are left out."""

    counting: Counting
    calendar: Calendar
    weights: tuple[int, ...]  # what the counts of the periods 0, 1, ... are multiplied by

    @property
    def size(self) -> int:
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
class MonitorFacts(CellFacts):
    """The records, behind cells with weights."""

    card: Card  # the dataset's public facts


def gather(
    question: Monitor,
    dataset: Records,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> MonitorFacts:
    """Hold the records behind cells; nothing is counted yet."""
    names = (*question.names(dataset.card), question.time)

    def count(cells: Weighted) -> Counts:
        counts = counted_by(cells, dataset, names)
        if progress is not None:
            progress(len(cells.weights), question.through, "closing periods")
        return counts

    return MonitorFacts(count, dataset.card)
