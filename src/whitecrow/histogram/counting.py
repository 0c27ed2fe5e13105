"""Counting records by cells, in the same integers wherever the records are.

In memory, or where a warehouse keeps them, whose workers run the same loops on their batches and
send back sums.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from whitecrow.data import Dataset, Records
from whitecrow.data.warehouse import Query, RemoteDataset

__all__ = ["Counting", "Counts", "Matrix", "counted_by"]

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


def counted_by(counting: Counting, dataset: Records, names: Sequence[str]) -> Counts:
    """Count all records by some columns, here or where they are."""
    counts = np.zeros(counting.size, dtype=np.int64)
    if isinstance(dataset, RemoteDataset):
        listed = ", ".join(f"x{place}" for place in range(len(names)))
        relation = dataset.relation(names)
        query = Query(f"SELECT {listed} FROM {relation} counted")  # noqa: S608 - names of ours
        for part in dataset.warehouse.work(query, _Work(counting), 2, totals=True):
            cells = part.astype(np.int64)
            np.add.at(counts, cells[:, 0], cells[:, 1])
        return counts
    assert isinstance(dataset, Dataset)
    for first in range(0, dataset.size, _BATCH):
        places = np.arange(first, min(first + _BATCH, dataset.size))
        counting.count(dataset.rows(names, places), counts)
    return counts
