"""What runs in Spark's Python workers: decoding, moving, and work on partitions."""

from __future__ import annotations

import gc
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from whitecrow.card import Card
from whitecrow.data.fingerprints import RowMark
from whitecrow.data.reading import Loader
from whitecrow.data.warehouse._protocol import BATCH, Asked, Matrix, Rows, Work, gathered
from whitecrow.data.warehouse._stored import Stored, blocks, divided, from_octets, to_octets
from whitecrow.data.warehouse.files import Part

_TOGETHER = 1 << 18
"""Records that are packed together."""
_BUCKETS = 256
"""People are divided into so many; of each, all records are held at once."""

Reader = Callable[[Any], Iterator[Matrix]]
"""Makes matrices of one Arrow batch that Spark hands to a worker."""

PACKED = "place LONG, columns LONG, block BINARY"
DIVIDED = "place LONG, block BINARY"


@dataclass(frozen=True, repr=False)
class FromFiles:
    """Reads the parts of files whose numbers Spark hands out."""

    parts: tuple[Part, ...]
    card: Card

    def __call__(self, batch: Any) -> Iterator[Rows]:
        return self.of(batch.column(0).to_pylist())

    def of(self, numbers: Iterable[int]) -> Iterator[Rows]:
        """Read the parts of these numbers."""
        for number in numbers:
            yield from self.parts[number].decoded(self.card)

    def stored(self, batch: Any) -> Iterator[Any]:
        """Read them as they are stored."""
        for number in batch.column(0).to_pylist():
            yield from self.parts[number].batches(self.card.names)


def handed_over(batch: Any) -> Iterator[Any]:
    """Take rows that Spark has read, as they are stored."""
    yield batch


@dataclass(frozen=True, repr=False)
class Canonical:
    """Decodes rows where a record counts by itself; see :func:`canonical_columns`."""

    card: Card

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        loader = Loader(self.card)
        for batch in batches:
            loader.add(batch)
            yield from _canonical(loader)


@dataclass(frozen=True, repr=False)
class Divided:
    """Brings all records of a person into one bucket, before which of them count is decided."""

    card: Card
    read: Callable[[Any], Iterator[Any]]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow

        for batch in itertools.chain.from_iterable(map(self.read, batches)):
            parts = dict(divided(batch, self.card, _BUCKETS))
            packed = [to_octets(part) for part in parts.values()]
            yield pyarrow.record_batch(
                [
                    pyarrow.array(list(parts), pyarrow.int64()),
                    pyarrow.array(packed, pyarrow.binary()),
                ],
                names=["place", "block"],
            )


@dataclass(frozen=True, repr=False)
class Selected:
    """Decodes rows that come bucket by bucket, and keeps what counts of each person."""

    card: Card

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        loader, current = Loader(self.card), None
        for batch in batches:
            for place, block in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                if place != current:
                    yield from _canonical(loader)
                    current = place
                loader.add(from_octets(block))
        yield from _canonical(loader)


def canonical_columns(card: Card) -> str:
    """Return the columns of blocks of canonical columns: a row of Spark's is a block of records."""
    columns = ", ".join(f"c{place} BINARY" for place in range(len(card.columns)))
    return f"kept BOOLEAN, size LONG, {columns}"


def _canonical(loader: Loader) -> Iterator[Any]:
    import pyarrow

    if not loader.waiting:
        return
    names = ["kept", "size", *(f"c{place}" for place in range(len(loader.card.columns)))]
    for kept, size, columns in blocks(loader.card, *loader.take()):
        arrays = [pyarrow.array([kept]), pyarrow.array([size], pyarrow.int64())]
        arrays += [pyarrow.array([octets], pyarrow.binary()) for octets in columns]
        yield pyarrow.record_batch(arrays, names=names)


@dataclass(frozen=True, repr=False)
class FromBlocks:
    """Takes some canonical columns, which follow ``kept`` and ``size`` in the card's order."""

    card: Card
    columns: tuple[str, ...]

    def __call__(self, batch: Any) -> Iterator[Rows]:
        places = {self.card.names.index(name): n + 2 for n, name in enumerate(self.columns)}
        kinds = zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True)
        for row, (kept, size) in enumerate(kinds):

            def octets(place: int, row: int = row) -> bytes:
                return bytes(batch.column(places[place])[row].as_py())

            yield Stored(self.card, kept, size, octets)


@dataclass(frozen=True, repr=False)
class Matrices:
    """Makes of what a worker reads what a work is to be given."""

    read: Callable[[Any], Iterator[Rows]]
    asked: Asked

    def __call__(self, batch: Any) -> Iterator[Matrix]:
        return self.asked.of(self.read(batch))


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
        _spare_the_collector()
        for rows in self.work(itertools.chain.from_iterable(map(self.read, batches))):
            yield from self.written(rows)
        # A worker that leaves something unread is not used again.
        for _ in batches:
            pass


@dataclass(frozen=True, repr=False)
class Direct:
    """The same as ``mapPartitions`` takes it: at half the price of a query."""

    files: FromFiles
    asked: Asked
    work: Work

    def __call__(self, numbers: Iterator[int]) -> Iterator[bytes]:
        _spare_the_collector()
        for rows in self.work(self.asked.of(self.files.of(numbers))):
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

        _spare_the_collector()
        for values in gathered(itertools.chain.from_iterable(map(self.read, batches)), _TOGETHER):
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


@dataclass(frozen=True, repr=False)
class Texts:
    """Counts the texts of a column: rows of a text and a number."""

    read: Callable[[Any], Iterator[Rows]]
    column: str

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow

        counts: Counter[str | None] = Counter()
        for rows in itertools.chain.from_iterable(map(self.read, batches)):
            counts.update(rows.every_text(self.column))
        yield pyarrow.record_batch(
            [
                pyarrow.array(list(counts), pyarrow.string()),
                pyarrow.array(list(counts.values()), pyarrow.int64()),
            ],
            names=["text", "number"],
        )


def row_marks(batches: Iterator[Any]) -> Iterator[Any]:
    """Recognise the rows of a partition, in whichever order they come."""
    import pyarrow

    mark = RowMark()
    for batch in batches:
        mark.add(batch)
    yield pyarrow.record_batch([pyarrow.array([mark.text()])], names=["mark"])


def as_rows(values: Matrix) -> Iterator[Any]:
    """Write places and numbers as rows, which Spark adds up."""
    import pyarrow

    for first in range(0, len(values), BATCH):
        columns = np.ascontiguousarray(values[first : first + BATCH].T)
        yield pyarrow.record_batch([pyarrow.array(c) for c in columns], names=["place", "number"])


def as_blocks(values: Matrix) -> Iterator[Any]:
    """Write a matrix as a few values, which Spark passes on."""
    import pyarrow

    for packed in _packed(values):
        yield pyarrow.record_batch([pyarrow.array([packed], pyarrow.binary())], names=["block"])


def _packed(values: Matrix) -> Iterator[bytes]:
    for first in range(0, len(values), BATCH):
        yield np.ascontiguousarray(values[first : first + BATCH]).tobytes()


@cache
def _spare_the_collector() -> None:
    """Take what a worker has loaded out of its garbage collector's sight.

    A worker collects garbage after every task; looking through all modules takes 40 ms each time.
    """
    gc.freeze()
