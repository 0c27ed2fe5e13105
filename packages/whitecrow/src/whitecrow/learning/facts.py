"""What ``learn`` must know of the data: how many records cells hold, and which edge has a rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from whitecrow.data import Card, Records
from whitecrow.detector import on_gpu, scoring
from whitecrow.detector.model import Grid, Model, Tables
from whitecrow.histogram.facts import CellFacts, Counts, Matrix, counted_by
from whitecrow.learning import threshold
from whitecrow.learning.question import Learn
from whitecrow.neighbours import Device, Engine, GpuEngine
from whitecrow.noise import Source
from whitecrow.privacy import Unit
from whitecrow.question import Progress

# The cells that a detector is learned from: which one of each histogram a record is in.


@dataclass(frozen=True)
class ByColumn:
    """The cells of each column's grid, one grid after the other."""

    words: ClassVar = "counting by column"
    grids: tuple[Grid, ...]
    device: Device | None = None

    @property
    def size(self) -> int:
        return sum(grid.cells for grid in self.grids)

    def count(self, rows: Matrix, counts: Counts) -> None:
        on_gpu.count_codes(self.device, self.grids, rows, counts)


@dataclass(frozen=True, eq=False)
class ByTable:
    """The cells of tables."""

    words: ClassVar = "counting by table"
    columns: tuple[scoring.Encoder, ...]
    tables: Tables
    device: Device | None = None

    @property
    def size(self) -> int:
        return int(self.tables.base[-1])

    def count(self, rows: Matrix, counts: Counts) -> None:
        on_gpu.count_cells(self.device, self.columns, self.tables, rows, counts)


@dataclass(frozen=True, eq=False)
class ByScore:
    """Intervals of the score: the last holds what is above all edges."""

    words: ClassVar = "counting by score"
    model: Model
    edges: Counts
    device: Device | None = None

    @property
    def size(self) -> int:
        return len(self.edges) + 1

    def count(self, rows: Matrix, counts: Counts) -> None:
        encoders = scoring.encoders(self.model)
        scores = on_gpu.raw_scores(self.device, self.model, encoders, rows)
        # The cell of a score is the number of edges below it: alarms are strictly above an edge.
        cells = np.searchsorted(self.edges, scores, side="left")
        counts += np.bincount(cells, minlength=self.size)


def joined(groups: Sequence[Counts]) -> Counts:
    """Number the groups of several columns' cells through, one column after the other."""
    sizes = [int(group.max()) + 1 for group in groups]
    firsts = np.cumsum([0, *sizes[:-1]])
    return np.concatenate([first + group for first, group in zip(firsts, groups, strict=True)])


@dataclass(frozen=True, repr=False, eq=False)
class LearnFacts(CellFacts):
    """The records, behind cells."""

    card: Card  # the dataset's public facts

    def chosen_edge(
        self,
        cells: ByScore,
        rate: Fraction,
        epsilon: Fraction,
        relation: Unit,
        source: Source | None,
    ) -> int:
        """Return the place of an edge that about this part of the records is above, epsilon-DP."""
        contribution = self.card.contribution
        return threshold.choose(self._exact(cells), rate, epsilon, relation, contribution, source)


def gather(
    question: Learn,
    dataset: Records,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> LearnFacts:
    """Hold the records behind cells; nothing is counted yet."""
    names = question.names(dataset.card)
    device = engine.device if isinstance(engine, GpuEngine) else None

    def count(cells: ByColumn | ByTable | ByScore) -> Counts:
        if device is None:
            counts = counted_by(cells, dataset, names)
        else:
            on_device = replace(cells, device=device)
            counts = counted_by(on_device, dataset, names, batch=on_gpu.BATCH, alone=True)
        if progress is not None:
            progress(1, 1, cells.words)
        return counts

    return LearnFacts(count, dataset.card)
