"""Facts that are counted by cells: they answer with noise, and with nothing else.

Which cells are counted next is read off what was released of those before, so the records are
counted while a release is made. The exact counts stay in here: what comes out has its noise.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from whitecrow._arrays import Array
from whitecrow.data import Dataset, Records
from whitecrow.data.warehouse import Asked, RemoteDataset
from whitecrow.histogram.noise_budget import Noise, NoiseBudget
from whitecrow.neighbours.parallel import side_by_side
from whitecrow.noise import Source
from whitecrow.privacy import Facts

# Counting records by cells, in the same integers wherever the records are: in memory, or where a
# warehouse keeps them, whose workers run the same loops on their batches and send back sums.

Matrix = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]

_BATCH = 65_536
_TOGETHER = 16
"""How many batches are counted at a time: what their sums take stays below a question's limits."""


class Counting(Protocol):
    """Which cells a record is in: one of each histogram; picklable."""

    @property
    def size(self) -> int:
        """The number of cells of all histograms together."""

    def count(self, rows: Matrix, counts: Counts) -> None:
        """Add the records of a batch to their cells."""


@dataclass(frozen=True)
class _Work:
    """A counting as a warehouse's workers take it: yields cells and their counts."""

    counting: Counting
    alone: bool  # whether other cores have work of their own

    def __call__(self, batches: Iterator[Matrix]) -> Iterator[Matrix]:
        counts = _added_up(self.counting, batches, alone=self.alone)
        filled = np.flatnonzero(counts)
        yield np.stack([filled, counts[filled]], axis=1).astype(np.float64)


def _added_up(counting: Counting, batches: Iterable[Matrix], *, alone: bool) -> Counts:
    """Count batches, on several cores unless told otherwise: the loops release Python's lock."""
    sums: deque[Counts] = deque()  # each batch adds to sums that nobody else adds to meanwhile

    def count(rows: Matrix) -> None:
        try:
            own = sums.pop()
        except IndexError:
            own = np.zeros(counting.size, dtype=np.int64)
        counting.count(rows, own)
        sums.append(own)

    if alone:
        for rows in batches:
            count(rows)
    else:
        side_by_side(count, batches, _TOGETHER)
    return sum(sums, np.zeros(counting.size, dtype=np.int64))


def counted_rows(rows: Matrix, counting: Counting) -> Counts:
    """Count records that are given as rows."""
    return _added_up(counting, [rows], alone=True)


def counted_by(
    counting: Counting,
    dataset: Records,
    names: Sequence[str],
    *,
    batch: int = _BATCH,
    alone: bool = False,
) -> Counts:
    """Count the records that pass the card by these columns, here or where they are."""
    if isinstance(dataset, RemoteDataset):
        return _counted_there(counting, dataset, dataset.records(names))
    assert isinstance(dataset, Dataset)
    size = dataset.count(names)
    places = (np.arange(first, min(first + batch, size)) for first in range(0, size, batch))
    return _added_up(counting, (dataset.rows(names, each) for each in places), alone=alone)


def every_counted_by(
    counting: Counting, dataset: Dataset | RemoteDataset, names: Sequence[str]
) -> Counts:
    """Count all records by columns of numbers or dates; NaN is a missing value."""
    if isinstance(dataset, RemoteDataset):
        return _counted_there(counting, dataset, dataset.every_record(names))
    columns = [dataset.every_value(name) for name in names]
    batches = (
        np.stack([values[first : first + _BATCH] for values in columns], axis=1)
        for first in range(0, len(columns[0]), _BATCH)
    )
    return _added_up(counting, batches, alone=False)


def every_text(dataset: Dataset | RemoteDataset, name: str) -> dict[str | None, int]:
    """Count all records by a column of categories or texts; None is a missing value."""
    if isinstance(dataset, RemoteDataset):
        return dataset.every_text(name)
    return dict(Counter(dataset.every_text(name).tolist()))


def _counted_there(counting: Counting, dataset: RemoteDataset, asked: Asked) -> Counts:
    work = _Work(counting, alone=dataset.warehouse.spread)
    return dataset.totals(asked, work, counting.size)


@dataclass(frozen=True, repr=False, eq=False)
class CellFacts(Facts):
    """The records, behind cells."""

    _count: Callable[[Any], Counts]  # counts all records exactly; only this object calls it
    _counted: list[Any] = field(default_factory=list, init=False)

    def noisy_counts(
        self,
        cells: Counting,
        noise: Noise,
        source: Source | None = None,
        groups: Counts | None = None,
    ) -> Counts:
        """Return how many records the cells hold, each number with its own draw of the noise.

        ``groups`` says for each cell the larger one that it is a part of; -1 for cells that are
        left out.
        """
        counts = self._exact(cells)
        if groups is not None:
            counted = groups >= 0
            merged = np.zeros(int(groups.max(initial=-1)) + 1, dtype=np.int64)
            np.add.at(merged, groups[counted], counts[counted])
            counts = merged
        return noise.added(counts, source)

    def _exact(self, cells: Counting) -> Counts:
        """Count once what is asked for several times in a row."""
        if not self._counted or self._counted[0] != cells:
            self._counted[:] = cells, self._count(cells)
        return np.asarray(self._counted[1])


class Answers(Protocol):
    """Noisy counts, each for a part of a price: drawn now, or read again."""

    @property
    def budget(self) -> NoiseBudget:
        """What all of it is paid with."""

    def counts(
        self, cells: Counting, share: Fraction, tables: int, groups: Counts | None = None
    ) -> tuple[Array, float]:
        """Return the noisy counts of ``tables`` histograms that share a part, and the deviation."""


@dataclass(frozen=True)
class Bought:
    """Noisy counts of some facts, drawn when they are asked for."""

    facts: CellFacts
    budget: NoiseBudget  # what is paid with
    source: Source | None = None  # of the noise; the operating system's unless given

    def counts(
        self, cells: Counting, share: Fraction, tables: int, groups: Counts | None = None
    ) -> tuple[Counts, float]:
        noise = self.budget.histograms(share, tables)
        return self.facts.noisy_counts(cells, noise, self.source, groups), noise.deviation
