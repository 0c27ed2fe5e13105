"""What runs in Spark's Python workers: decoding, moving, and work on partitions.

A worker that is handed rows by Spark waits for them: each value is decoded, written to a stream and
read again, at fifteen times the cost of decoding the file where it is needed. So where the records
are Parquet files, Spark says which worker reads which part of them, and no more.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain, islice
from typing import Any

import numpy as np

from whitecrow._arrays import Ints, Matrix
from whitecrow.card import Card
from whitecrow.data.columns import Decoded
from whitecrow.data.fingerprints import RowFingerprint
from whitecrow.data.opened import File
from whitecrow.data.reading import Loader
from whitecrow.data.warehouse._protocol import (
    BATCH,
    Asked,
    Rows,
    Stored,
    Work,
    blocks,
    divided,
    from_octets,
    gathered,
    to_octets,
)

_LEAST, _MOST = 1 << 19, 1 << 22
"""Records of a task: like parts for all cores, between these as far as the files' groups go."""
_PEEKED = 8  # groups of rows that a sample comes from, at most


@dataclass(frozen=True)
class Part:
    """Groups of rows of some files, for one task."""

    files: tuple[tuple[File, tuple[int, ...]], ...]

    def decoded(self, card: Card, together: int = BATCH) -> Iterator[Decoded]:
        """Read and check them, on one core: others work beside."""
        return (Decoded(batch, card) for batch in self.batches(card.names, together))

    def batches(self, columns: Sequence[str], together: int = BATCH) -> Iterator[Any]:
        """Read some columns as they are stored."""
        for file, groups in self.files:
            yield from file.batches(columns, list(groups), together=together, threads=False)


def parts_of(files: Sequence[File], cores: int) -> tuple[Part, ...]:
    """Divide the groups of rows of files among tasks, into parts of like size."""
    total = sum(sum(file.groups) for file in files)
    needed = -(-total // _MOST)
    wanted = -(-max(1, needed) // cores) * cores
    tasks = max(1, needed, min(wanted, -(-total // _LEAST)))
    parts: list[dict[int, list[int]]] = [{} for _ in range(tasks)]
    before = 0
    for number, file in enumerate(files):
        for group, size in enumerate(file.groups):
            task = min(tasks - 1, (2 * before + size) * tasks // (2 * max(1, total)))
            if size:
                parts[task].setdefault(number, []).append(group)
            before += size
    # A worker starts in a folder of its own.
    absolute = [replace(file, path=file.path.resolve()) for file in files]
    return tuple(
        Part(tuple((absolute[number], tuple(groups)) for number, groups in part.items()))
        for part in parts
        if part
    )


def peeked(parts: Sequence[Part], card: Card, asked: Asked, number: int) -> Matrix | None:
    """Read the first records of some groups of rows here, and draw about so many of them.

    None where they hold none. A sample decides how work is split, and never a count: it need not
    be of all groups.
    """
    source = np.random.default_rng()
    groups = [(file, group) for part in parts for file, groups in part.files for group in groups]
    samples = [np.empty((0, len(asked.columns)))]
    for index in source.permutation(len(groups))[:_PEEKED]:
        file, group = groups[index]
        first = islice(Part(((file, (group,)),)).decoded(card, 2 * number), 1)
        samples += asked.of(first)
    values = np.concatenate(samples)
    drawn = source.choice(len(values), min(number, len(values)), replace=False)
    return values[drawn] if len(values) else None


_TOGETHER = 1 << 18  # records that are packed together
_BUCKETS = 256  # people are divided into so many; of each, all records are held at once

Reader = Callable[[Any], Iterator[Matrix]]
"""Makes matrices of what Spark hands to a worker: an Arrow batch, or the number of a part."""

PACKED = "place LONG, columns LONG, block BINARY"
DIVIDED = "place LONG, block BINARY"


# Functions that Spark's workers are handed take what they need first: partial() is pickled with it.


@dataclass(frozen=True, repr=False)
class FromFiles:
    """Reads the parts of files whose numbers Spark hands out."""

    parts: tuple[Part, ...]
    card: Card

    def __call__(self, batch: Any) -> Iterator[Rows]:
        return chain.from_iterable(map(self.part, batch.column(0).to_pylist()))

    def part(self, number: int) -> Iterator[Rows]:
        """Read the part of this number."""
        return self.parts[number].decoded(self.card)

    def stored(self, batch: Any) -> Iterator[Any]:
        """Read them as they are stored."""
        for number in batch.column(0).to_pylist():
            yield from self.parts[number].batches(self.card.names)


def handed_over(batch: Any) -> Iterator[Any]:
    """Take rows that Spark has read, as they are stored."""
    yield batch


def canonical(card: Card, batches: Iterator[Any]) -> Iterator[Any]:
    """Decode rows where a record counts by itself; see :func:`canonical_columns`."""
    loader = Loader(card)
    for batch in batches:
        loader.add(batch)
        yield from _canonical(loader)


def divide(
    card: Card, read: Callable[[Any], Iterator[Any]], batches: Iterator[Any]
) -> Iterator[Any]:
    """Bring all records of a person into one bucket, before which of them count is decided."""
    import pyarrow

    for batch in chain.from_iterable(map(read, batches)):
        parts = dict(divided(batch, card, _BUCKETS))
        packed = [to_octets(part) for part in parts.values()]
        buckets = pyarrow.array(list(parts), pyarrow.int64())
        blocks = pyarrow.array(packed, pyarrow.binary())
        yield pyarrow.record_batch([buckets, blocks], names=["place", "block"])


def select(card: Card, batches: Iterator[Any]) -> Iterator[Any]:
    """Decode rows that come bucket by bucket, and keep what counts of each person."""
    loader, current = Loader(card), None
    for batch in batches:
        for bucket, block in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            if bucket != current:
                yield from _canonical(loader)
                current = bucket
            loader.add(from_octets(block))
    yield from _canonical(loader)


def canonical_columns(card: Card) -> str:
    """Return the columns of blocks of canonical columns: a row of Spark's is a block of records."""
    columns = ", ".join(f"c{index} BINARY" for index in range(len(card.columns)))
    return f"kept BOOLEAN, size LONG, {columns}"


def _canonical(loader: Loader) -> Iterator[Any]:
    import pyarrow

    if not loader.waiting:
        return
    names = ["kept", "size", *(f"c{index}" for index in range(len(loader.card.columns)))]
    for kept, size, columns in blocks(loader.card, *loader.take()):
        arrays = [pyarrow.array([kept]), pyarrow.array([size], pyarrow.int64())]
        arrays += [pyarrow.array([octets], pyarrow.binary()) for octets in columns]
        yield pyarrow.record_batch(arrays, names=names)


def from_blocks(card: Card, columns: tuple[str, ...], batch: Any) -> Iterator[Rows]:
    """Take some canonical columns, which follow ``kept`` and ``size`` in the card's order."""
    places = {card.names.index(name): n + 2 for n, name in enumerate(columns)}
    kinds = zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True)
    for row, (kept, size) in enumerate(kinds):

        def octets(column: int, row: int = row) -> bytes:
            return bytes(batch.column(places[column])[row].as_py())

        yield Stored(card, kept, size, octets)


def matrices(read: Callable[[Any], Iterator[Rows]], asked: Asked, given: Any) -> Iterator[Matrix]:
    """Make of what a worker reads what a work is to be given."""
    return asked.of(read(given))


def unpacked(batch: Any) -> Iterator[Matrix]:
    """Take records that another worker has packed."""
    for columns, block in zip(batch.column(1).to_pylist(), batch.column(2), strict=True):
        yield np.frombuffer(block.as_buffer()).reshape(-1, columns)


def worked(
    read: Reader, work: Work, write: Callable[[Matrix], Iterator[Any]], batches: Iterator[Any]
) -> Iterator[Any]:
    """Do work as ``mapInArrow`` takes it, or ``mapPartitions``: at half the price of a query."""
    _spare_the_collector()
    for rows in work(chain.from_iterable(map(read, batches))):
        yield from write(rows)
    # A worker that leaves something unread is not used again.
    for _ in batches:
        pass


def pack(read: Reader, groups: Callable[[Matrix], Ints], batches: Iterator[Any]) -> Iterator[Any]:
    """Pack records by groups: what Spark moves between workers is few rows, and none a record."""
    import pyarrow

    _spare_the_collector()
    for values in gathered(chain.from_iterable(map(read, batches)), _TOGETHER):
        numbers = groups(values)
        order = np.argsort(numbers, kind="stable")
        cuts = np.flatnonzero(np.diff(numbers[order])) + 1
        runs = [run for run in np.split(order, cuts) if len(run) and numbers[run[0]] >= 0]
        yield pyarrow.record_batch(
            [
                pyarrow.array([numbers[run[0]] for run in runs], pyarrow.int64()),
                pyarrow.array([values.shape[1]] * len(runs), pyarrow.int64()),
                pyarrow.array([values[run].tobytes() for run in runs], pyarrow.binary()),
            ],
            names=["place", "columns", "block"],
        )


def count_texts(
    read: Callable[[Any], Iterator[Rows]], column: str, batches: Iterator[Any]
) -> Iterator[Any]:
    """Count the texts of a column: rows of a text and a number."""
    import pyarrow

    counts: Counter[str | None] = Counter()
    for rows in chain.from_iterable(map(read, batches)):
        counts.update(rows.every_text(column))
    texts = pyarrow.array(list(counts), pyarrow.string())
    numbers = pyarrow.array(list(counts.values()), pyarrow.int64())
    yield pyarrow.record_batch([texts, numbers], names=["text", "number"])


def row_fingerprints(batches: Iterator[Any]) -> Iterator[Any]:
    """Recognise the rows of a partition, in whichever order they come."""
    import pyarrow

    fingerprint = RowFingerprint()
    for batch in batches:
        fingerprint.add(batch)
    yield pyarrow.record_batch([pyarrow.array([fingerprint.text()])], names=["fingerprint"])


def as_rows(values: Matrix) -> Iterator[Any]:
    """Write places and numbers as rows, which Spark adds up."""
    import pyarrow

    for first in range(0, len(values), BATCH):
        columns = np.ascontiguousarray(values[first : first + BATCH].T)
        yield pyarrow.record_batch([pyarrow.array(c) for c in columns], names=["place", "number"])


def as_blocks(values: Matrix) -> Iterator[Any]:
    """Write a matrix as a few values, which Spark passes on."""
    import pyarrow

    for block in in_blocks(values):
        yield pyarrow.record_batch([pyarrow.array([block], pyarrow.binary())], names=["block"])


def in_blocks(values: Matrix) -> Iterator[bytes]:
    for first in range(0, len(values), BATCH):
        yield np.ascontiguousarray(values[first : first + BATCH]).tobytes()


@cache
def _spare_the_collector() -> None:
    """Take what a worker has loaded out of its garbage collector's sight.

    A worker collects garbage after every task; looking through all modules takes 40 ms each time.
    """
    gc.freeze()
