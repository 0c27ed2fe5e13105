"""Counting records by cells, in the same integers wherever the records are.

In memory, or where a warehouse keeps them, whose workers run the same loops on their batches and
send back sums.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from whitecrow.data import Dataset, Records
from whitecrow.data.warehouse import Query, RemoteDataset

__all__ = ["Counting", "Counts", "Matrix", "counted_by", "every_counted_by", "every_text"]

Matrix = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]

_BATCH = 65_536


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

    def __call__(self, batches: Iterator[Matrix]) -> Iterator[Matrix]:
        counts = np.zeros(self.counting.size, dtype=np.int64)
        for rows in batches:
            self.counting.count(rows, counts)
        filled = np.flatnonzero(counts)
        yield np.stack([filled, counts[filled]], axis=1).astype(np.float64)


def counted_by(
    counting: Counting, dataset: Records, names: Sequence[str], *, batch: int = _BATCH
) -> Counts:
    """Count the records that pass the card by some columns, here or where they are."""
    if isinstance(dataset, RemoteDataset):
        return _counted_there(counting, dataset, dataset.relation(names), len(names))
    assert isinstance(dataset, Dataset)
    counts = np.zeros(counting.size, dtype=np.int64)
    for first in range(0, dataset.size, batch):
        places = np.arange(first, min(first + batch, dataset.size))
        counting.count(dataset.rows(names, places), counts)
    return counts


def every_counted_by(
    counting: Counting, dataset: Dataset | RemoteDataset, names: Sequence[str]
) -> Counts:
    """Count all records by columns of numbers or dates; NaN is a missing value."""
    if isinstance(dataset, RemoteDataset):
        return _counted_there(counting, dataset, dataset.every_relation(names), len(names))
    counts = np.zeros(counting.size, dtype=np.int64)
    columns = [dataset.every_value(name) for name in names]
    for first in range(0, len(columns[0]), _BATCH):
        rows = np.stack([values[first : first + _BATCH] for values in columns], axis=1)
        counting.count(rows, counts)
    return counts


def every_text(dataset: Dataset | RemoteDataset, name: str) -> dict[str | None, int]:
    """Count all records by a column of categories or texts; None is a missing value."""
    if isinstance(dataset, RemoteDataset):
        return dataset.every_text(name)
    return dict(Counter(dataset.every_text(name).tolist()))


def _counted_there(
    counting: Counting, dataset: RemoteDataset, relation: str, columns: int
) -> Counts:
    counts = np.zeros(counting.size, dtype=np.int64)
    listed = ", ".join(f"x{place}" for place in range(columns))
    query = Query(f"SELECT {listed} FROM {relation} counted")  # noqa: S608 - names of ours
    for part in dataset.warehouse.work(query, _Work(counting), 2, totals=True):
        cells = part.astype(np.int64)
        np.add.at(counts, cells[:, 0], cells[:, 1])
    return counts
