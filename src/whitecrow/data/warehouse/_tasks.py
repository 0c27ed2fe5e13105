"""What runs in Spark's Python workers: reading, packing, and work on partitions."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from whitecrow.data.warehouse._files import Part, Reading
from whitecrow.data.warehouse._protocol import BATCH, Matrix, Work, doubles, gathered

__all__ = [
    "PACKED",
    "Direct",
    "FromFiles",
    "Packing",
    "Reader",
    "Task",
    "as_blocks",
    "as_rows",
    "lengths",
    "passed_on",
    "unpacked",
]

_TOGETHER = 1 << 18
"""Records that are packed together."""

Reader = Callable[[Any], Iterator[Matrix]]
"""Makes matrices of one Arrow batch that Spark hands to a worker."""

PACKED = "place LONG, columns LONG, block BINARY"


def passed_on(batch: Any) -> Iterator[Matrix]:
    """Take records that Spark has read."""
    if batch.num_rows:
        yield doubles(batch)


@dataclass(frozen=True, repr=False)
class FromFiles:
    """Read the parts of files whose numbers Spark hands out."""

    parts: tuple[Part, ...]
    reading: Reading

    def __call__(self, batch: Any) -> Iterator[Matrix]:
        return self.of(batch.column(0).to_pylist())

    def of(self, numbers: Iterable[int]) -> Iterator[Matrix]:
        """Read the parts of these numbers."""
        for number in numbers:
            yield from self.parts[number].read(self.reading)


def unpacked(batch: Any) -> Iterator[Matrix]:
    """Take records that another worker has packed."""
    for columns, block in zip(batch.column(1).to_pylist(), batch.column(2), strict=True):
        yield np.frombuffer(block.as_buffer()).reshape(-1, columns)


@dataclass(frozen=True, repr=False)
class Task:
    """Work as ``mapInArrow`` takes it."""

    read: Reader
    work: Work
    written: Callable[[Matrix], Iterator[Any]]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        _settle()
        for rows in self.work(_read_all(self.read, batches)):
            yield from self.written(rows)
        # A worker that leaves something unread is not used again.
        for _ in batches:
            pass


@dataclass(frozen=True, repr=False)
class Direct:
    """The same as ``mapPartitions`` takes it: at half the price of a query."""

    files: FromFiles
    work: Work

    def __call__(self, numbers: Iterator[int]) -> Iterator[bytes]:
        _settle()
        for rows in self.work(self.files.of(numbers)):
            yield from _packed(rows)
        for _ in numbers:
            pass


@dataclass(frozen=True, repr=False)
class Packing:
    """Packs records by groups: what Spark moves between workers is few rows, and none a record."""

    read: Reader
    groups: Callable[[Matrix], npt.NDArray[np.int64]]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow

        _settle()
        for values in gathered(_read_all(self.read, batches), _TOGETHER):
            groups = self.groups(values)
            order = np.argsort(groups, kind="stable")
            cuts = np.flatnonzero(np.diff(groups[order])) + 1
            runs = [run for run in np.split(order, cuts) if len(run) and groups[run[0]] >= 0]
            yield pyarrow.record_batch(
                [
                    pyarrow.array([groups[run[0]] for run in runs], pyarrow.int64()),
                    pyarrow.array([values.shape[1]] * len(runs), pyarrow.int64()),
                    pyarrow.array([values[run].tobytes() for run in runs], pyarrow.binary()),
                ],
                names=["place", "columns", "block"],
            )


def as_rows(found: Matrix) -> Iterator[Any]:
    """Write places and numbers as rows, which Spark adds up."""
    import pyarrow

    for first in range(0, len(found), BATCH):
        columns = np.ascontiguousarray(found[first : first + BATCH].T)
        yield pyarrow.record_batch([pyarrow.array(c) for c in columns], names=["place", "number"])


def as_blocks(found: Matrix) -> Iterator[Any]:
    """Write a matrix as a few values, which Spark passes on."""
    import pyarrow

    for packed in _packed(found):
        yield pyarrow.record_batch([pyarrow.array([packed], pyarrow.binary())], names=["block"])


def _packed(found: Matrix) -> Iterator[bytes]:
    for first in range(0, len(found), BATCH):
        yield np.ascontiguousarray(found[first : first + BATCH]).tobytes()


def _read_all(read: Reader, batches: Iterator[Any]) -> Iterator[Matrix]:
    for batch in batches:
        yield from read(batch)


@cache
def _settle() -> None:
    """Take what a worker has loaded out of its garbage collector's sight.

    A worker collects garbage after every task; looking through all modules takes 40 ms each time.
    """
    gc.freeze()


def lengths(batches: Iterator[Matrix]) -> Iterator[Matrix]:
    """Count the records of a partition."""
    yield np.array([[float(sum(map(len, batches)))]])
